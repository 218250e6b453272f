import Resilience

struct Answer: Sendable {
    let status: Int
}

struct Client: Sendable {
    func page() async throws -> String { "" }
    func user(_ id: Int) async throws -> String { "" }
    func answer() async throws -> Answer { Answer(status: 200) }
}

struct File {
    let limit = 16
}

let (client, file) = (Client(), File())
