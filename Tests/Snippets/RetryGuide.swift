import Resilience

struct Unauthorized: Error {}

struct Client: Sendable {
    func activities() async throws -> String { "" }
    func rename() async throws {}
}

struct Tokens: Sendable {
    func refresh() {}
}

let client = Client()
let tokens = Tokens()

func log(_ line: String) {}

func show(_ page: String) {}
