#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A change that must reach the other side, sooner or later, once.
public struct Mutation: Sendable, Hashable, Codable {
    /// What a mutation does to its entity.
    public enum Operation: String, Sendable, Hashable, Codable, CaseIterable {
        case create, update, delete
    }

    /// The caller's own name for it, unique in its queue.
    public let id: String
    /// What it changes. Mutations of one entity are sent in the order they were enqueued.
    public let entity: String
    /// What sort of change it is; it chooses the handler that sends it.
    public let kind: String
    /// What it does to its entity, for ``Coalescing``; nil keeps it apart from all others.
    public let operation: Operation?
    /// What is sent. The queue does not look into it.
    public let payload: Data
    /// Goes with every attempt, over retries and restarts, so that the other side can tell a repetition from a new one.
    public let idempotencyKey: String
    /// When it was made, by the wall clock.
    public let createdAt: Date

    /// - Parameters:
    ///   - id: unique in its queue; a fresh UUID by default.
    ///   - payload: what the handler sends; empty by default, as for a delete.
    ///   - idempotencyKey: 1 to 255 characters; a fresh UUID by default.
    public init(
        id: String = UUID().uuidString, entity: String, kind: String, operation: Operation? = nil,
        payload: Data = Data(),
        idempotencyKey: String = UUID().uuidString, createdAt: Date = Date()
    ) {
        self.id = id
        self.entity = entity
        self.kind = kind
        self.operation = operation
        self.payload = payload
        self.idempotencyKey = idempotencyKey
        self.createdAt = createdAt
    }
}

/// A mutation in a store, and how it has fared.
public struct StoredMutation: Sendable, Hashable {
    /// Its place in the queue: higher is later. Never given twice, not even after a removal.
    public let position: Int64
    public var mutation: Mutation
    /// Since when it is in the queue, by the wall clock; for the age limit.
    public var queuedAt: Date
    /// Whether it may have been sent before; then nothing is coalesced into it.
    public var isAttempted: Bool
    /// Attempts that failed by the mutation's own fault; being throttled or offline is not.
    public var failures: Int
    /// What the last such failure said, or why it was set aside. The stores keep 1 000 Unicode scalars of it at most: of a
    /// longer text the first 999, and "…".
    public var lastError: String?
    /// When it was set aside, by the wall clock; nil while it is pending. If the clock was set back before that time, when that
    /// was noticed.
    public var diedAt: Date?
    /// Whether the other side has got a later mutation of its entity since it was set aside, or may have: one that is pending
    /// and attempted. To send this one now could put what is old over what is new.
    public var isOvertaken: Bool

    public init(
        position: Int64, mutation: Mutation, queuedAt: Date, isAttempted: Bool = false, failures: Int = 0,
        lastError: String? = nil, diedAt: Date? = nil, isOvertaken: Bool = false
    ) {
        self.position = position
        self.mutation = mutation
        self.queuedAt = queuedAt
        self.isAttempted = isAttempted
        self.failures = failures
        self.lastError = lastError
        self.diedAt = diedAt
        self.isOvertaken = isOvertaken
    }

    /// What a store keeps of an error: a server's answer may be megabytes long.
    static func bounded(_ error: String) -> String {
        let limit = 1_000
        let scalars = error.unicodeScalars
        guard scalars.index(scalars.startIndex, offsetBy: limit + 1, limitedBy: scalars.endIndex) != nil else {
            return error
        }
        return String(scalars.prefix(limit - 1)) + "…"
    }
}
