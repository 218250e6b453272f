import Resilience

struct Client: Sendable {
    func report() async throws -> String { "" }
    func cleanUp() async throws {}
}

let client = Client()
