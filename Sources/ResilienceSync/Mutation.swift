#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A change that must reach the other side, sooner or later, once.
public struct Mutation: Sendable, Hashable, Codable {
    /// The caller's own name for it, unique in its queue.
    public let id: String
    /// What it changes. Mutations of one entity are sent in the order they were enqueued.
    public let entity: String
    /// What sort of change it is, for whoever sends it.
    public let kind: String
    /// What is sent. The queue does not look into it.
    public let payload: Data
    /// Goes with every attempt, over retries and restarts, so that the other side can tell a repetition from a new one.
    public let idempotencyKey: String
    /// When it was made, by the wall clock.
    public let createdAt: Date

    /// - Parameters:
    ///   - id: unique in its queue; a fresh UUID by default.
    ///   - idempotencyKey: 1 to 255 characters; a fresh UUID by default.
    public init(
        id: String = UUID().uuidString, entity: String, kind: String, payload: Data,
        idempotencyKey: String = UUID().uuidString, createdAt: Date = Date()
    ) {
        self.id = id
        self.entity = entity
        self.kind = kind
        self.payload = payload
        self.idempotencyKey = idempotencyKey
        self.createdAt = createdAt
    }
}

/// A mutation in a store, and how it has fared.
public struct StoredMutation: Sendable, Hashable {
    /// Its place in the queue: higher is later. Never given twice, not even after a removal.
    public let position: Int64
    public let mutation: Mutation
    /// Attempts that failed by the mutation's own fault; being throttled or offline is not.
    public let failures: Int
    /// What the last such failure said.
    public let lastError: String?

    public init(position: Int64, mutation: Mutation, failures: Int, lastError: String?) {
        self.position = position
        self.mutation = mutation
        self.failures = failures
        self.lastError = lastError
    }
}
