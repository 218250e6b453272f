import Resilience

enum ClientError: Error { case notFound }

struct Upload { let isDone: Bool }

struct Client: Sendable {
    func activities() async throws -> String { "" }
    func export() async throws {}
    func head(attempt: Int) async throws -> Int { 200 }
    func beginUpload() -> Upload { Upload(isDone: true) }
    func convert() async throws -> Bool { true }
}

let client = Client()
let breaker = CircuitBreaker()
let bulkhead = Bulkhead(limit: 1)
let log = EventCounter()
