#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import Resilience

/// Sends mutations of a kind; what has no handler is set aside.
///
/// ```swift
/// SyncQueue(store: store, pipeline: pipeline, handlers: [
///     .batch("create", upTo: 50) { try await client.create($0) },
///     .each("rename", as: Rename.self) { rename, mutation in
///         try await client.rename(rename, key: mutation.idempotencyKey)
///     },
/// ])
/// ```
public struct SyncHandler: Sendable {
    /// How one mutation of a batch fared.
    public typealias ItemResult = Result<Void, any Error>

    /// nil for every kind that has no handler of its own.
    let kind: String?
    let batchLimit: BatchLimit
    let send: @Sendable ([Mutation]) async throws -> [ItemResult]

    /// Sends them one at a time. Returns when the other side has acknowledged the mutation.
    public static func each(
        _ kind: String, _ send: @escaping @Sendable (Mutation) async throws -> Void
    ) -> SyncHandler {
        single(kind, send)
    }

    /// Sends them one at a time, each with its payload decoded from JSON. A payload that can't be decoded sets its mutation
    /// aside.
    public static func each<Payload: Decodable & Sendable>(
        _ kind: String, as type: Payload.Type,
        _ send: @escaping @Sendable (_ payload: Payload, _ mutation: Mutation) async throws -> Void
    ) -> SyncHandler {
        single(kind) { mutation in try await send(mutation.decoded(as: type), mutation) }
    }

    /// Sends several in one request; none of them share an entity.
    ///
    /// An error means that the request failed as a whole: it is a failure of each, and they are sent alone from then on,
    /// so that one bad mutation can't hold up the others for ever.
    ///
    /// To the pipeline's policies a batch is one call: throttled if any of it was throttled; failed if all of it failed in ways
    /// that may pass, as the first did; and otherwise a success.
    /// - Parameters:
    ///   - limit: mutations in a request, at most; 1 or more.
    ///   - bytes: of their payloads together, at most; a single one that has more is sent alone. nil for no limit.
    ///   - send: returns how each fared, in the order given.
    public static func batch(
        _ kind: String, upTo limit: Int, bytes: Int? = nil,
        _ send: @escaping @Sendable ([Mutation]) async throws -> [ItemResult]
    ) -> SyncHandler {
        let checks = SettingChecks("SyncHandler")
        let limit = BatchLimit(
            count: checks.atLeast(1, limit, "the batch limit of \"\(kind)\""),
            bytes: bytes.map { checks.atLeast(1, $0, "the bytes of a batch of \"\(kind)\"") })
        return SyncHandler(kind: kind, batchLimit: limit, send: send)
    }

    /// Sends whatever has no handler of its own, one at a time.
    public static func others(_ send: @escaping @Sendable (Mutation) async throws -> Void) -> SyncHandler {
        single(nil, send)
    }

    private static func single(
        _ kind: String?, _ send: @escaping @Sendable (Mutation) async throws -> Void
    ) -> SyncHandler {
        SyncHandler(kind: kind, batchLimit: .single) { mutations in
            for mutation in mutations { try await send(mutation) }
            return mutations.map { _ in .success(()) }
        }
    }
}

/// How much goes in one request.
struct BatchLimit: Sendable, Hashable {
    static let single = BatchLimit(count: 1)

    var count: Int
    var bytes: Int?

    /// What goes in one request of these, in this order: at least the first.
    func filled(with heads: some Sequence<LaneHead>) -> [LaneHead] {
        var taken = (count: 0, bytes: 0)
        return heads.filter { takes($0, &taken) }
    }

    /// Whether one more goes with those that were taken.
    func takes(_ head: LaneHead, _ taken: inout (count: Int, bytes: Int)) -> Bool {
        let total = taken.bytes.saturatingAdding(head.bytes)
        guard taken.count == 0 || taken.count < count && total <= bytes ?? .max else { return false }
        taken = (taken.count + 1, total)
        return true
    }
}

extension Mutation {
    /// One that carries a value as JSON.
    public init(
        id: String = UUID().uuidString, entity: String, kind: String, operation: Operation? = nil,
        encoding value: some Encodable, idempotencyKey: String = UUID().uuidString, createdAt: Date = Date()
    ) throws {
        self.init(
            id: id, entity: entity, kind: kind, operation: operation, payload: try JSONEncoder().encode(value),
            idempotencyKey: idempotencyKey, createdAt: createdAt)
    }

    /// The value that it carries as JSON.
    /// - Throws: ``UndecodablePayload``.
    public func decoded<Payload: Decodable>(as type: Payload.Type) throws -> Payload {
        do {
            return try JSONDecoder().decode(type, from: payload)
        } catch {
            throw UndecodablePayload(id: id, kind: kind, reason: "\(error)")
        }
    }
}
