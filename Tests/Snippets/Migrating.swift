import Foundation
import Resilience
import ResilienceSync

struct NotFound: Error {}

struct Unavailable: Error {}

struct Client: Sendable {
    func activities() async throws -> [String] { [] }
    func post(_ payload: Data, key: String) async throws {}
}

struct Row: Sendable {
    let id: String
    let entity: String
    let kind: String
    let payload: Data
    let key: String
    let attempts: Int
}

let client = Client()
let store = MemoryStore()
let rows: [Row] = []
