import Resilience
import ResilienceTraffic

struct Client: Sendable {
    func search(replica: Int = 0) async throws -> String { "" }
}

let client = Client()
