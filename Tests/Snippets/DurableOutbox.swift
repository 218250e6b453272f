import Foundation
import GRDB
import Resilience
import ResilienceHTTP
import ResilienceSync

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct Rename: Codable {
    let title: String
}

struct API: Sendable {
    func create(_ notes: [Mutation]) async throws -> [SyncHandler.ItemResult] { notes.map { _ in .success(()) } }
    func rename(_ rename: Rename, key: String) async throws {}
    func send(_ mutation: Mutation) async throws {}
    func post(_ mutation: Mutation) async throws -> Reply { Reply() }
    func ping() async throws {}
    func everything() async throws -> SyncPage<[Note]> { SyncPage([], cursor: 7) }
    func changes(since cursor: Int64) async throws -> SyncPage<[Note]> { SyncPage([], cursor: cursor + 1) }
}

struct Reply: Sendable {
    let headers: [String: String] = [:]

    func check() throws {}
}

struct Note: Sendable {
    let id: String
}

struct Model: Sendable {
    func ids() async -> [String] { [] }
    func remove(_ ids: [String]) async {}
    func apply(_ notes: [Note]) async {}
}

let api = API()
let model = Model()
let path = ""
let payload = Data()
let handlers = [SyncHandler.others { try await api.send($0) }]
let database: DatabaseQueue = { fatalError("only compiled") }()

func show(pending: Int, until: MonotonicInstant?, left: Duration?) {}
