import Resilience
import ResilienceTraffic

struct User: Sendable {
    typealias ID = Int
}

struct Profile: Sendable {}

struct Page: Sendable {
    let body: String
    let maxAge: Duration?
}

struct Client: Sendable {
    func profile(of id: User.ID) async throws -> Profile { Profile() }
    func rename(_ id: User.ID, to name: String) async throws {}
}

let client = Client()
let id = 1
let pipeline = Pipeline {}
