import Resilience

struct Client: Sendable {
    func activities() async throws -> String { "" }
    func export() async throws {}
}

let client = Client()
