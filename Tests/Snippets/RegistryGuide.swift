import Resilience

struct Client: Sendable {
    func streams() async throws -> [Int] { [] }
    func upload() async throws {}
}

let client = Client()

func log(_ line: String) {}
