import Resilience
import ResilienceTraffic

struct Client: Sendable {
    func report() async throws -> String { "" }
}

let client = Client()
