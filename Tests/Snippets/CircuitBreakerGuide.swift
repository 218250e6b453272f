import Foundation
import Resilience

struct Client: Sendable {
    func activities() async throws -> String { "" }
    func ping() async throws {}
}

let client = Client()
