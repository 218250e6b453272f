import Resilience

struct Page: Sendable {
    static let degraded = Page()
}

struct Client: Sendable {
    func activities() async throws -> Page { Page() }
    func streams() async throws -> Page { Page() }
}

let client = Client()
let mirror = Client()
let pipeline = Pipeline {}
