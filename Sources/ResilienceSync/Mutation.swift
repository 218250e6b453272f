#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A change that must reach the other side once, eventually.
public struct Mutation: Sendable, Hashable, Codable {
    /// A mutation's effect on its entity.
    public enum Operation: String, Sendable, Hashable, Codable, CaseIterable {
        /// The entity is created, changed or deleted.
        case create, update, delete
    }

    /// The mutation's id, chosen by the caller and unique in its queue.
    public let id: String
    /// The entity that it changes.
    ///
    /// Mutations of one entity are sent in the order in which they were enqueued.
    public let entity: String
    /// The sort of change, which chooses the handler that sends it.
    public let kind: String
    /// Its effect on its entity, for ``Coalescing``; nil keeps it apart from all others.
    public let operation: Operation?
    /// The content to send.
    ///
    /// The queue does not inspect it.
    public let payload: Data
    /// The key sent with every attempt, over retries and restarts, so that the other side can recognize a repetition.
    public let idempotencyKey: String
    /// When the mutation was made, by the wall clock.
    public let createdAt: Date
    /// The date before which the mutation is not sent, by the wall clock, or by the store's clock if it has one.
    ///
    /// nil if the mutation was never delayed, if the queue has noticed that the date has come, or if the mutation is
    /// dead.
    ///
    /// Later mutations of its entity wait as well.
    public package(set) var notBefore: Date?
    /// Whether the mutation, and earlier mutations of its lane, are sent before mutations that are not urgent.
    public package(set) var isUrgent: Bool
    /// How many attempts to send it failed before it was enqueued, for example in another queue; 0 once it is stored,
    /// since ``StoredMutation/failures`` then includes them.
    public private(set) var earlierFailures: Int

    /// Creates a mutation.
    ///
    /// - Parameters:
    ///   - id: An id that is unique in its queue; a new UUID of version 7 by default, which begins with the time, so
    ///     that a store's index grows at its end.
    ///   - entity: The entity that it changes.
    ///   - kind: The sort of change, which chooses the handler that sends it.
    ///   - operation: Its effect on its entity, for ``Coalescing``; nil, the default, keeps it apart from all others.
    ///   - payload: The content to send; empty by default, as for a delete.
    ///   - idempotencyKey: 1 to 255 characters, checked when the mutation is enqueued; a new UUID by default.
    ///   - createdAt: When it was made, by the wall clock; now by default.
    ///   - notBefore: The date before which it is not sent; nil, the default, or a past date, for no delay. The
    ///     mutation's age counts from this date. Later mutations of its entity also wait, since mutations of one entity
    ///     keep their order.
    ///   - isUrgent: Whether it is sent before mutations that are not urgent; false by default. Mutations of one entity
    ///     keep their order, so earlier ones are sent as if they were also urgent.
    ///   - earlierFailures: How many attempts to send it failed in its earlier queue; 0 or more, checked when the
    ///     mutation is enqueued; 0 by default. They count towards ``SyncQueueConfiguration/maxFailures``; at least one
    ///     more attempt is made. If above 0, the other side may have seen the mutation: nothing is coalesced with it.
    ///     Pass the `idempotencyKey` of these attempts.
    public init(
        id: String = Mutation.newID(), entity: String, kind: String, operation: Operation? = nil,
        payload: Data = Data(),
        idempotencyKey: String = UUID().uuidString, createdAt: Date = Date(), notBefore: Date? = nil,
        isUrgent: Bool = false, earlierFailures: Int = 0
    ) {
        self.id = id
        self.entity = entity
        self.kind = kind
        self.operation = operation
        self.payload = payload
        self.idempotencyKey = idempotencyKey
        self.createdAt = createdAt
        self.notBefore = notBefore
        self.isUrgent = isUrgent
        self.earlierFailures = earlierFailures
    }

    @usableFromInline
    static func newID() -> String {
        let milliseconds = UInt64(max(0, Date().timeIntervalSince1970 * 1_000))
        var uuid = UUID().uuid
        withUnsafeMutableBytes(of: &uuid) { bytes in
            for index in 0..<6 { bytes[index] = UInt8(truncatingIfNeeded: milliseconds >> (40 - 8 * index)) }
            bytes[6] = bytes[6] & 0x0F | 0x70
        }
        return UUID(uuid: uuid).uuidString
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(String.self, forKey: .id)
        entity = try container.decode(String.self, forKey: .entity)
        kind = try container.decode(String.self, forKey: .kind)
        operation = try container.decodeIfPresent(Operation.self, forKey: .operation)
        payload = try container.decode(Data.self, forKey: .payload)
        idempotencyKey = try container.decode(String.self, forKey: .idempotencyKey)
        createdAt = try container.decode(Date.self, forKey: .createdAt)
        // Absent in data written before this property existed.
        notBefore = try container.decodeIfPresent(Date.self, forKey: .notBefore)
        isUrgent = try container.decodeIfPresent(Bool.self, forKey: .isUrgent) ?? false
        earlierFailures = try container.decodeIfPresent(Int.self, forKey: .earlierFailures) ?? 0
    }

    /// The mutation as a store keeps it.
    var asStored: Mutation {
        var mutation = self
        mutation.earlierFailures = 0
        return mutation
    }

    /// The mutation, without its ``notBefore`` if that date has come or is not a number.
    package func waiting(at date: Date) -> Mutation {
        var mutation = self
        mutation.notBefore = notBefore.flatMap { $0 > date ? $0 : nil }
        return mutation
    }
}

/// A mutation in a store, with its history.
public struct StoredMutation: Sendable, Hashable {
    /// The mutation's place in the queue: higher is later.
    ///
    /// A position is never given twice, not even after a removal.
    public package(set) var position: Int64
    /// The mutation itself, as it is after any coalescing.
    public var mutation: Mutation
    /// When it entered the queue in its present form, by the wall clock, or its ``Mutation/notBefore`` if that was
    /// later.
    ///
    /// The age limit counts from here.
    public var queuedAt: Date
    /// Whether it may have been sent before.
    ///
    /// If so, nothing is coalesced into it.
    public var isAttempted: Bool
    /// The number of attempts that failed by the mutation's own fault.
    ///
    /// Being throttled or offline does not count.
    public var failures: Int
    /// The error of the last failure that counts in ``failures``, or why the mutation died.
    ///
    /// The stores keep at most 1 000 Unicode scalars: the first 999 of a longer text, and "…".
    public var lastError: String?
    /// When the mutation died, by the wall clock; nil while it is pending.
    ///
    /// If the clock is later set back to before that time, this becomes the time when the store noticed it.
    public var diedAt: Date?
    /// Whether the other side has received, or may have received, a later mutation of its entity since this one died.
    ///
    /// It may have received a mutation that is pending and attempted. Sending this one now could overwrite newer state
    /// with older.
    public var isOvertaken: Bool
    /// The number of claims since its last answer.
    ///
    /// While it is not in flight, this is how often the process ended, or lost the store, before it stored an answer.
    public var claims: Int

    /// Creates a stored mutation.
    ///
    /// - Parameters:
    ///   - position: Its place in the queue.
    ///   - mutation: The mutation itself.
    ///   - queuedAt: When it entered the queue, by the wall clock.
    ///   - isAttempted: Whether it may have been sent before.
    ///   - failures: The number of attempts that failed by its own fault.
    ///   - lastError: The last such failure, or why it died.
    ///   - diedAt: When it died; nil if it is pending.
    ///   - isOvertaken: Whether the other side has received a later mutation of its entity, or may have.
    ///   - claims: The number of claims since its last answer.
    public init(
        position: Int64, mutation: Mutation, queuedAt: Date, isAttempted: Bool = false, failures: Int = 0,
        lastError: String? = nil, diedAt: Date? = nil, isOvertaken: Bool = false, claims: Int = 0
    ) {
        self.position = position
        self.mutation = mutation
        self.queuedAt = queuedAt
        self.isAttempted = isAttempted
        self.failures = failures
        self.lastError = lastError
        self.diedAt = diedAt
        self.isOvertaken = isOvertaken
        self.claims = claims
    }

    /// Called when its date has come: it may be sent from now on.
    package mutating func becomeDue() {
        queuedAt = max(queuedAt, mutation.notBefore ?? queuedAt)
        mutation.notBefore = nil
    }

    /// A mutation that is new in a store.
    package init(new mutation: Mutation, position: Int64, queuedAt: Date) {
        self.init(
            position: position, mutation: mutation.asStored, queuedAt: queuedAt,
            isAttempted: mutation.earlierFailures > 0, failures: mutation.earlierFailures)
    }

    /// The part of an error's text to store: a server's answer may be megabytes long.
    static func bounded(_ error: String) -> String {
        let limit = 1_000
        let scalars = error.unicodeScalars
        guard scalars.index(scalars.startIndex, offsetBy: limit + 1, limitedBy: scalars.endIndex) != nil else {
            return error
        }
        return String(scalars.prefix(limit - 1)) + "…"
    }
}
