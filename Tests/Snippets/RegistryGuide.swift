import Foundation
import Resilience

struct Loaded: Sendable {
    let failures = 5
    let limits = ["a": 8]
}

let loaded = Loaded()

struct Client: Sendable {
    func streams() async throws -> [Int] { [] }
    func upload() async throws {}
}

let client = Client()

func log(_ line: String) {}
