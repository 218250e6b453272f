import Foundation
import Resilience
import ResilienceHTTP
import ResilienceTesting
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct Client: Sendable {
    func activities() async throws -> [String] { [] }
    func streams() async throws -> [Int] { [] }
    func get(_ url: URL) async throws -> HTTPURLResponse { throw CancellationError() }
    func post(_ payload: Data, idempotencyKey: String) async throws {}
}

struct Unavailable: Error {}

let client = Client()
let url = URL(filePath: "/")
let path = ""
let data = Data()
