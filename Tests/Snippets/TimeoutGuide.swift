import Resilience

struct Client: Sendable {
    func activities() async throws -> String { "" }
    func listing(timeout: Duration) async throws -> String { "" }
    func export() async throws -> String { "" }
}

let client = Client()
