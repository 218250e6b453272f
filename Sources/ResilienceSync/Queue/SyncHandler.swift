#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import Resilience

/// Sends the mutations of a kind.
///
/// A mutation without a handler becomes dead.
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
    /// The result of one mutation of a batch.
    public typealias ItemResult = Result<Void, any Error>

    /// The kind; nil for every kind without its own handler.
    let kind: String?
    let batchLimit: BatchLimit
    let send: @Sendable ([Mutation]) async throws -> [ItemResult]

    /// Creates a handler that sends mutations one at a time.
    ///
    /// - Parameters:
    ///   - kind: The kind of the mutations.
    ///   - send: Sends one mutation. It returns when the other side has acknowledged it, and throws otherwise.
    /// - Returns: The handler.
    public static func each(
        _ kind: String, _ send: @escaping @Sendable (Mutation) async throws -> Void
    ) -> SyncHandler {
        single(kind, send)
    }

    /// Creates a handler that sends mutations one at a time, each decoded from JSON.
    ///
    /// A mutation whose payload can't be decoded becomes dead.
    ///
    /// - Parameters:
    ///   - kind: The kind of the mutations.
    ///   - type: The type to decode payloads as.
    ///   - send: Sends one mutation. It returns when the other side has acknowledged it, and throws otherwise.
    /// - Returns: The handler.
    public static func each<Payload: Decodable & Sendable>(
        _ kind: String, as type: Payload.Type,
        _ send: @escaping @Sendable (_ payload: Payload, _ mutation: Mutation) async throws -> Void
    ) -> SyncHandler {
        single(kind) { mutation in try await send(mutation.decoded(as: type), mutation) }
    }

    /// Creates a handler that sends several mutations in one request, each of a different entity.
    ///
    /// If `send` throws, each mutation in the request has failed. From then on they are sent alone, so one bad mutation
    /// can't hold up the others for ever.
    ///
    /// For the pipeline's policies a batch is one call. The call is throttled if a mutation was throttled and no later
    /// mutation got through. If all mutations failed with a transient or uncertain verdict, the call has the first
    /// mutation's verdict. Otherwise it is a success.
    ///
    /// - Parameters:
    ///   - kind: The kind of the mutations.
    ///   - limit: The most mutations in a request; 1 or more.
    ///   - bytes: The most bytes of their payloads together, 1 or more; a larger mutation is sent alone. nil, the
    ///     default, for no limit.
    ///   - send: Sends the mutations, and returns the result of each, in the order given.
    /// - Returns: The handler.
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

    /// Creates a handler that sends mutations of all kinds without their own handler, one at a time.
    ///
    /// - Parameter send: Sends one mutation. It returns when the other side has acknowledged it, and throws otherwise.
    /// - Returns: The handler.
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

/// The limits of one request.
struct BatchLimit: Sendable, Hashable {
    static let single = BatchLimit(count: 1)

    var count: Int
    var bytes: Int?

    /// Returns the heads to send in one request, in this order: at least the first.
    func filled(with heads: some Sequence<LaneHead>) -> [LaneHead] {
        var taken = (count: 0, bytes: 0)
        return heads.filter { takes($0, &taken) }
    }

    /// Whether this head fits into the request with the taken heads.
    func takes(_ head: LaneHead, _ taken: inout (count: Int, bytes: Int)) -> Bool {
        let total = taken.bytes.saturatingAdding(head.bytes)
        guard taken.count == 0 || taken.count < count && total <= bytes ?? .max else { return false }
        taken = (taken.count + 1, total)
        return true
    }
}

extension Mutation {
    /// Creates a mutation that carries a value as JSON.
    ///
    /// - Parameters:
    ///   - id: An id that is unique in its queue; a new UUID of version 7 by default.
    ///   - entity: The entity that it changes.
    ///   - kind: The sort of change, which chooses the handler that sends it.
    ///   - operation: Its effect on its entity, for ``Coalescing``; nil, the default, keeps it apart from all others.
    ///   - value: The value to send.
    ///   - idempotencyKey: 1 to 255 characters, checked when the mutation is enqueued; a new UUID by default.
    ///   - createdAt: When it was made, by the wall clock; now by default.
    ///   - notBefore: The date before which it is not sent; nil, the default, for none.
    ///   - isUrgent: Whether it precedes mutations that are not urgent; false by default.
    /// - Throws: The encoder's error.
    public init(
        id: String = Mutation.newID(), entity: String, kind: String, operation: Operation? = nil,
        encoding value: some Encodable, idempotencyKey: String = UUID().uuidString, createdAt: Date = Date(),
        notBefore: Date? = nil, isUrgent: Bool = false
    ) throws {
        self.init(
            id: id, entity: entity, kind: kind, operation: operation, payload: try JSONEncoder().encode(value),
            idempotencyKey: idempotencyKey, createdAt: createdAt, notBefore: notBefore,
            isUrgent: isUrgent)
    }

    /// Decodes the value that the mutation carries as JSON.
    ///
    /// - Parameter type: The type of the value.
    /// - Returns: The value.
    /// - Throws: ``UndecodablePayload`` if the payload is not such a value.
    public func decoded<Payload: Decodable>(as type: Payload.Type) throws -> Payload {
        do {
            return try JSONDecoder().decode(type, from: payload)
        } catch {
            throw UndecodablePayload(id: id, kind: kind, reason: "\(error)")
        }
    }
}
