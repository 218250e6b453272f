import Resilience
import ResilienceTraffic

struct Client: Sendable {
    func search() async throws -> String { "" }
    func status() async throws -> Int { 200 }
}

let client = Client()
