import Resilience

struct Client: Sendable {
    func activities() async throws -> [String] { [] }
}

let client = Client()
let loaded = (limit: 16, queue: 64)
