import Resilience

struct Client: Sendable {
    func activities() async throws -> [String] { [] }
}

let client = Client()
