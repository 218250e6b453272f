import Resilience
import ResilienceTraffic

struct Client: Sendable {
    func search() async throws -> String { "" }
}

let client = Client()
