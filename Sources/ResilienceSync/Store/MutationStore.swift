#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import Resilience

/// The place where a ``SyncQueue`` keeps unacknowledged mutations.
///
/// The changes of a method are durable when it returns.
///
/// Mutations of one entity form its *lane*. A mutation is either pending or dead; a dead one is not sent again until it
/// is retried. A lane is blocked while it holds a dead mutation that died with ``LaneRule/block``. The *head* of a lane
/// that is not blocked is its first pending mutation, if that mutation has no ``Mutation/notBefore``, or has lost it.
///
/// Several queues may share a store, in one process or in several; the one that has the sending lock sends. Every
/// method may be called on any task, concurrently, and takes effect completely or not at all. Texts are compared by
/// their code units: ids or entities that look alike but are encoded differently are different. `StoreContract` in
/// ResilienceSyncTesting checks a store for all of this.
public protocol MutationStore: Sendable {
    /// Adds new mutations at the end, in order: all of them, or none.
    ///
    /// A mutation is skipped if its id is taken by a pending or dead mutation, or by an earlier one in `mutations`.
    /// Each of the others is first coalesced, by the rules, with the last pending mutation of its lane, unless that one
    /// is attempted or sealed, or the new one has ``Mutation/earlierFailures``. Earlier failures become
    /// ``StoredMutation/failures``, and a mutation that has any is attempted from the start. An append that makes the
    /// queue hold no more than before is never rejected for the limits.
    ///
    /// - Parameters:
    ///   - mutations: The mutations to add.
    ///   - rules: The limits and the coalescing.
    ///   - date: Now, by the wall clock.
    /// - Returns: The result of each.
    /// - Throws: ``SyncQueueError/full(count:bytes:)`` if the limits don't allow them.
    func append(_ mutations: [Mutation], under rules: AppendRules, at date: Date) async throws -> AppendResult

    /// Returns the next heads of lanes after a position, in order, the first heads of urgent lanes, and the next due
    /// date.
    ///
    /// A lane is urgent at least while it has an urgent pending mutation. It may stay urgent until its present pending
    /// mutations are gone.
    ///
    /// First, ``Mutation/notBefore`` is removed from each mutation whose date has come. If that date is later than the
    /// mutation's ``StoredMutation/queuedAt``, the date replaces it. If very many are due at once, some may be left for
    /// the next call.
    ///
    /// - Parameters:
    ///   - position: Only heads at higher positions are returned; `Int64.min` for the first page.
    ///   - limit: The most heads to return in order, and the most heads of urgent lanes to return.
    ///   - date: Now, by the wall clock.
    /// - Returns: The heads.
    /// - Throws: The store's error, such as ``SyncQueueError/storeFailed(path:reason:)``.
    func heads(after position: Int64, limit: Int, at date: Date) async throws -> LaneHeads

    /// Returns the entities that have pending mutations.
    ///
    /// - Parameter entities: The entities to ask about.
    /// - Returns: The entities that have pending mutations, in the order asked for.
    /// - Throws: The store's error, such as ``SyncQueueError/storeFailed(path:reason:)``.
    func pendingEntities(among entities: [String]) async throws -> [String]

    /// Makes changes, in order, drops dead mutations beyond the limits, and then claims mutations to send: all of it or
    /// nothing.
    ///
    /// A change to a mutation that is no longer pending does nothing. If very many dead mutations are beyond the
    /// limits, some may be left for the next call.
    ///
    /// - Parameters:
    ///   - changes: The changes of pending mutations.
    ///   - positions: The mutations to claim. A mutation that is not a head is not claimed, for example because an
    ///     older mutation was revived before it.
    ///   - limits: How many dead mutations to keep.
    ///   - date: Now, by the wall clock. A later ``StoredMutation/diedAt`` is set to this date: the clock was set back.
    /// - Returns: The claimed mutations, as they are now, in the order asked for, and the dropped ones. A claimed
    ///   mutation is attempted from now on, and has one more of ``StoredMutation/claims``.
    /// - Throws: The store's error, such as ``SyncQueueError/storeFailed(path:reason:)``.
    func apply(
        _ changes: [MutationChange], claiming positions: [Int64], keeping limits: DeadLimits, at date: Date
    ) async throws -> ApplyResult

    /// Returns the next pending mutations after a position, in order.
    ///
    /// - Parameters:
    ///   - position: Only mutations at higher positions are returned; `Int64.min` for the first page.
    ///   - limit: The most mutations to return. Large payloads may make a page shorter, but it has at least one
    ///     mutation if there is one.
    /// - Returns: The mutations.
    /// - Throws: The store's error, such as ``SyncQueueError/storeFailed(path:reason:)``.
    func pending(after position: Int64, limit: Int) async throws -> [StoredMutation]

    /// Returns the next dead mutations after a position, in order.
    ///
    /// - Parameters:
    ///   - position: Only mutations at higher positions are returned; `Int64.min` for the first page.
    ///   - limit: The most mutations to return. Pages may be shorter, as in ``pending(after:limit:)``.
    /// - Returns: The mutations.
    /// - Throws: The store's error, such as ``SyncQueueError/storeFailed(path:reason:)``.
    func dead(after position: Int64, limit: Int) async throws -> [StoredMutation]

    /// Returns the positions of all mutations that are pending at one moment.
    ///
    /// By default it reads pages of ``pending(after:limit:)``.
    ///
    /// The positions of one entity are in order. A queue changes 1 000 mutations at a time, in this order, so an
    /// entity's adjacent mutations usually change together.
    ///
    /// - Returns: The positions.
    /// - Throws: The store's error, such as ``SyncQueueError/storeFailed(path:reason:)``.
    func pendingPositions() async throws -> [Int64]

    /// Returns the positions of all mutations that are dead at one moment, like ``pendingPositions()``.
    ///
    /// By default it reads pages of ``dead(after:limit:)``.
    ///
    /// - Returns: The positions.
    /// - Throws: The store's error, such as ``SyncQueueError/storeFailed(path:reason:)``.
    func deadPositions() async throws -> [Int64]

    /// Returns a mutation by its id, and removes it if requested.
    ///
    /// If a removed mutation was attempted, the other side may have it: earlier dead mutations of its lane are
    /// overtaken.
    ///
    /// - Parameters:
    ///   - id: The mutation's id.
    ///   - cancelling: Whether to remove it. Then only a pending mutation is returned, as it was; a dead one stays.
    /// - Returns: The mutation; nil if there is none.
    /// - Throws: The store's error, such as ``SyncQueueError/storeFailed(path:reason:)``.
    func mutation(_ id: String, cancelling: Bool) async throws -> StoredMutation?

    /// Makes dead mutations pending again, at their old place, with no failures, no claims, no error and a new
    /// ``StoredMutation/queuedAt``.
    ///
    /// They stay attempted if they were.
    ///
    /// - Parameters:
    ///   - positions: The mutations to revive; a queue passes at most 1 000. Positions that are not dead are skipped.
    ///   - evenOvertaken: Whether to revive even mutations that are ``StoredMutation/isOvertaken`` before this call
    ///     revives any.
    ///   - date: Now, by the wall clock.
    /// - Returns: The number revived.
    /// - Throws: The store's error, such as ``SyncQueueError/storeFailed(path:reason:)``.
    func revive(_ positions: [Int64], evenOvertaken: Bool, at date: Date) async throws -> Int

    /// Removes dead mutations.
    ///
    /// - Parameter positions: The mutations to remove; a queue passes at most 1 000. Positions that are not dead are
    ///   skipped.
    /// - Returns: The number removed.
    /// - Throws: The store's error, such as ``SyncQueueError/storeFailed(path:reason:)``.
    func discard(_ positions: [Int64]) async throws -> Int

    /// Seals the pending mutations: nothing is coalesced into them from now on.
    ///
    /// - Returns: The highest sealed position. All mutations in the store are at or below it; mutations added later are
    ///   above it.
    /// - Throws: The store's error, such as ``SyncQueueError/storeFailed(path:reason:)``.
    func seal() async throws -> Int64

    /// Removes pending mutations.
    ///
    /// If a removed mutation was attempted, the other side may have it: earlier dead mutations of its lane are
    /// overtaken.
    ///
    /// - Parameter positions: The mutations to remove; a queue passes at most 1 000. Positions that are not pending
    ///   are skipped.
    /// - Returns: The number removed.
    /// - Throws: The store's error, such as ``SyncQueueError/storeFailed(path:reason:)``.
    func removePending(_ positions: [Int64]) async throws -> Int

    /// Returns the number and the size of the stored mutations.
    ///
    /// - Returns: Counts and sizes.
    /// - Throws: The store's error, such as ``SyncQueueError/storeFailed(path:reason:)``.
    func totals() async throws -> QueueTotals

    /// Takes the sending lock.
    ///
    /// One queue has it at a time, among all queues on this storage, in any process. It stays taken until
    /// ``unlock(for:)`` or the end of the process. A store on a server can't see a process end. If it has not heard
    /// from a queue for a while, it may give the lock to another queue, and then rejects the first queue's claims and
    /// failures. With ``isShared``, any number of queues may have the lock.
    ///
    /// - Parameter queue: The id of the queue; every queue has its own.
    /// - Returns: Whether the queue has the lock, and whether another queue may have had it in between.
    /// - Throws: The store's error, such as ``SyncQueueError/storeFailed(path:reason:)``.
    func lock(for queue: UUID) async throws -> SendingLock

    /// Gives the sending lock back, if this queue has it.
    ///
    /// - Parameter queue: The id that was passed to ``lock(for:)``.
    func unlock(for queue: UUID) async

    /// Returns a value that is stored with the mutations.
    ///
    /// - Parameter name: The name of the value.
    /// - Returns: The value; nil if there is none.
    /// - Throws: The store's error, such as ``SyncQueueError/storeFailed(path:reason:)``.
    func setting(_ name: String) async throws -> String?

    /// Stores a value with the mutations.
    ///
    /// - Parameters:
    ///   - name: The name of the value.
    ///   - value: The value; nil removes it.
    /// - Throws: The store's error, such as ``SyncQueueError/storeFailed(path:reason:)``.
    func set(_ name: String, to value: String?) async throws

    /// Whether several queues may send from the store concurrently, each from its own lanes; false by default.
    ///
    /// If true, ``heads(after:limit:at:)`` returns only lanes that no other queue has, and reserves them. While a pause
    /// is stored that this queue does not know, ``apply(_:claiming:keeping:at:)`` claims nothing, and reports this; a
    /// store that is not shared may do the same. ``lock(for:)`` denies only a second queue on the same value of the
    /// store.
    var isShared: Bool { get }

    /// Returns whether other queues have lanes with heads, once a shared store has nothing left for this queue.
    ///
    /// False by default.
    ///
    /// - Returns: Whether other queues have such lanes.
    /// - Throws: The store's error, such as ``SyncQueueError/storeFailed(path:reason:)``.
    func othersHaveHeads() async throws -> Bool

    /// Returns whether a queue may still send its claimed mutations: false once another queue may have its lanes.
    ///
    /// The queue calls it right before each request. True by default.
    ///
    /// - Parameter queue: The id that was passed to ``lock(for:)``.
    /// - Returns: Whether the request may be sent.
    func maySend(for queue: UUID) -> Bool

    /// Now, by a clock that all queues on the store share, such as a server's; nil, the default, if there is none.
    ///
    /// Without one, each queue's wall clock determines ages and the ends of pauses.
    var now: Date? { get }

    /// Returns a stream with an element whenever another user may have added mutations, or stored or ended a pause;
    /// nil, the default, if the store can't report that.
    ///
    /// - Returns: The stream, which lasts until its reader ends.
    func changes() -> AsyncStream<Void>?
}

extension MutationStore {
    public var isShared: Bool { false }

    public func othersHaveHeads() async throws -> Bool { false }

    public func maySend(for queue: UUID) -> Bool { true }

    public var now: Date? { nil }

    public func changes() -> AsyncStream<Void>? { nil }

    public func pendingPositions() async throws -> [Int64] {
        try await Self.positions { try await pending(after: $0, limit: $1) }
    }

    public func deadPositions() async throws -> [Int64] {
        try await Self.positions { try await dead(after: $0, limit: $1) }
    }

    private static func positions(
        _ page: (_ after: Int64, _ limit: Int) async throws -> [StoredMutation]
    ) async throws -> [Int64] {
        var positions: [Int64] = []
        var last = Int64.min
        while case let next = try await page(last, 1_000).map(\.position), let end = next.last, end > last {
            positions += next
            last = end
        }
        return positions
    }
}

extension MutationStore {
    /// Removes all pending mutations, in one transaction.
    package func removePending() async throws -> Int { try await removePending(pendingPositions()) }

    /// Keeps all dead mutations.
    package func apply(
        _ changes: [MutationChange], claiming positions: [Int64], at date: Date = Date()
    ) async throws -> [StoredMutation] {
        try await apply(changes, claiming: positions, keeping: DeadLimits(), at: date).claimed
    }

    /// Returns the heads, without making mutations due.
    package func heads(after position: Int64, limit: Int) async throws -> [LaneHead] {
        try await heads(after: position, limit: limit, at: .distantPast).heads
    }

    /// Revives dead mutations, even overtaken mutations.
    package func revive(_ positions: [Int64], at date: Date) async throws -> Int {
        try await revive(positions, evenOvertaken: true, at: date)
    }

    /// Revives all dead mutations, in one transaction.
    package func reviveAll(evenOvertaken: Bool = true, at date: Date) async throws -> Int {
        try await revive(deadPositions(), evenOvertaken: evenOvertaken, at: date)
    }

    /// Removes all dead mutations, in one transaction.
    package func discardAll() async throws -> Int { try await discard(deadPositions()) }
}

/// The result of ``MutationStore/heads(after:limit:at:)``.
public struct LaneHeads: Sendable, Hashable {
    /// The heads, in order.
    public var heads: [LaneHead]
    /// The first heads of urgent lanes, in order, at any positions; they may also be among ``heads``.
    ///
    /// A store that does not support urgency returns none.
    public var urgent: [LaneHead]
    /// The earliest ``Mutation/notBefore`` of all pending mutations; nil if none has one.
    public var nextDue: Date?

    /// Creates a result.
    ///
    /// - Parameters:
    ///   - heads: The heads, in order.
    ///   - urgent: The first heads of urgent lanes, in order; none by default.
    ///   - nextDue: The earliest date of a pending mutation; nil, the default, if none has one.
    public init(_ heads: [LaneHead] = [], urgent: [LaneHead] = [], nextDue: Date? = nil) {
        self.heads = heads
        self.urgent = urgent
        self.nextDue = nextDue
    }

    /// The most mutations that the package's stores make due in one transaction.
    static let dueAtOnce = 1_000
}

/// The first pending mutation of a lane, without its payload, which may change until the claim.
public struct LaneHead: Sendable, Hashable {
    /// The mutation's place in the queue.
    public package(set) var position: Int64
    /// The mutation's id.
    public let id: String
    /// The entity whose lane it heads.
    public let entity: String
    /// The sort of change, which chooses the handler.
    public let kind: String
    /// When it entered the queue, by the wall clock.
    public let queuedAt: Date
    /// The number of attempts that failed by the mutation's own fault.
    public package(set) var failures: Int
    /// The size of its payload in bytes.
    public let bytes: Int
    /// The number of claims since its last answer.
    public let claims: Int

    /// Creates a head.
    ///
    /// - Parameters:
    ///   - position: The mutation's place in the queue.
    ///   - id: The mutation's id.
    ///   - entity: The entity whose lane it heads.
    ///   - kind: The sort of change, which chooses the handler.
    ///   - queuedAt: When it entered the queue, by the wall clock.
    ///   - failures: The number of attempts that failed by the mutation's own fault.
    ///   - bytes: The size of its payload in bytes.
    ///   - claims: How often it was claimed since its last answer; 0 by default.
    public init(
        position: Int64, id: String, entity: String, kind: String, queuedAt: Date, failures: Int, bytes: Int,
        claims: Int = 0
    ) {
        self.position = position
        self.id = id
        self.entity = entity
        self.kind = kind
        self.queuedAt = queuedAt
        self.failures = failures
        self.bytes = bytes
        self.claims = claims
    }

    package init(_ stored: StoredMutation) {
        self.init(
            position: stored.position, id: stored.mutation.id, entity: stored.mutation.entity,
            kind: stored.mutation.kind, queuedAt: stored.queuedAt, failures: stored.failures,
            bytes: stored.mutation.payload.count, claims: stored.claims)
    }
}

extension LaneHead {
    /// The number of claims without an answer at which a mutation is sent alone. One claim says little: any process
    /// that ends with requests in flight leaves one.
    static let suspectClaims = 2

    var isSuspect: Bool { claims >= Self.suspectClaims }
}

/// The result of ``MutationStore/lock(for:)``.
public enum SendingLock: Sendable, Hashable {
    /// Another queue has it.
    case denied
    /// The queue has it; another may have had it in between, and may have stored a pause.
    case taken
    /// The queue has it, and no other queue had it in between.
    case takenAgain
}

/// A change of a pending mutation.
public enum MutationChange: Sendable, Hashable {
    /// The other side has the mutation, so it is removed.
    ///
    /// Earlier dead mutations of its lane are overtaken.
    case acknowledged(Int64)
    /// The attempt ended, and does not count as a failure.
    ///
    /// Its ``StoredMutation/claims`` are 0 again, as after a failure.
    case answered(Int64)
    /// An attempt failed through the mutation's own fault, and the failure counts.
    case failed(Int64, error: String)
    /// The mutation becomes dead.
    ///
    /// This does not itself count as a failure.
    case died(Int64, error: String, rest: LaneRule)

    /// The position of the mutation.
    public var position: Int64 {
        switch self {
        case .acknowledged(let position), .answered(let position), .failed(let position, _),
            .died(let position, _, _):
            position
        }
    }

    /// The same change, with its error cut to the length of ``StoredMutation/lastError``.
    package var withBoundedError: MutationChange {
        switch self {
        case .acknowledged, .answered: self
        case .failed(let position, let error): .failed(position, error: StoredMutation.bounded(error))
        case .died(let position, let error, let rest):
            .died(position, error: StoredMutation.bounded(error), rest: rest)
        }
    }
}

/// The rule for a lane whose head becomes dead.
public enum LaneRule: String, Sendable, Hashable, CaseIterable {
    /// The next mutation is sent.
    case skip
    /// The lane waits until the dead mutation is retried, discarded or dropped.
    case block
    /// The pending mutations behind it become dead with it.
    case killRest
}

/// The limits and the coalescing that ``MutationStore/append(_:under:at:)`` applies.
public struct AppendRules: Sendable {
    /// The action when a limit is reached.
    public enum Overflow: Sendable, Hashable {
        /// Nothing is added; the append throws ``SyncQueueError/full(count:bytes:)``.
        case reject
        /// The oldest pending mutations that were never attempted make room, except those that this append added or
        /// merged into.
        ///
        /// If that is not enough, nothing is added.
        case dropOldest
    }

    /// The most pending mutations, 1 or more; nil for no limit.
    public var maxCount: Int?
    /// The most bytes of pending payloads, 1 or more; nil for no limit.
    public var maxBytes: Int?
    /// The action when a limit is reached.
    public var overflow: Overflow
    /// The result of two mutations of one entity.
    public var coalescing: Coalescing

    /// Creates rules.
    ///
    /// Traps if a limit is out of range.
    ///
    /// - Parameters:
    ///   - maxCount: The most pending mutations, 1 or more; nil, the default, for no limit.
    ///   - maxBytes: The most bytes of pending payloads, 1 or more; nil, the default, for no limit.
    ///   - overflow: The action when a limit is reached; `.reject` by default.
    ///   - coalescing: The result of two mutations of one entity; `.lastWriteWins` by default.
    public init(
        maxCount: Int? = nil, maxBytes: Int? = nil, overflow: Overflow = .reject,
        coalescing: Coalescing = .lastWriteWins
    ) {
        let checks = SettingChecks("AppendRules")
        self.maxCount = maxCount.map { checks.atLeast(1, $0, "maxCount") }
        self.maxBytes = maxBytes.map { checks.atLeast(1, $0, "maxBytes") }
        self.overflow = overflow
        self.coalescing = coalescing
    }

    /// Whether the limits allow this much to be pending.
    ///
    /// - Parameters:
    ///   - count: The number of pending mutations.
    ///   - bytes: The bytes of their payloads.
    /// - Returns: Whether both are within the limits.
    public func allows(count: Int, bytes: Int) -> Bool { count <= maxCount ?? .max && bytes <= maxBytes ?? .max }
}

/// Limits on the dead mutations to keep; the store drops mutations beyond these limits.
///
/// The mutation that died first is dropped first, regardless of the wall clock. Mutations that block their lanes are
/// dropped only when no other is left; then a lane that is no longer blocked continues. The age limit never drops a
/// mutation that blocks its lane. If the clock was set back to before a mutation's death, its age counts from when the
/// store notices this.
public struct DeadLimits: Sendable, Hashable {
    /// The most dead mutations, 0 or more; nil for no limit.
    public var maxCount: Int?
    /// The most bytes of dead mutations' payloads, 0 or more; nil for no limit.
    public var maxBytes: Int?
    /// The longest time to keep a dead mutation, 0 or more; nil for no limit.
    public var maxAge: Duration?

    /// Creates limits; by default there are none.
    ///
    /// Traps if a limit is negative.
    ///
    /// - Parameters:
    ///   - maxCount: The most dead mutations, 0 or more; nil for no limit.
    ///   - maxBytes: The most bytes of their payloads, 0 or more; nil for no limit.
    ///   - maxAge: The longest time to keep a dead mutation, 0 or more; nil for no limit.
    public init(maxCount: Int? = nil, maxBytes: Int? = nil, maxAge: Duration? = nil) {
        let checks = SettingChecks("DeadLimits")
        self.maxCount = maxCount.map { checks.atLeast(0, $0, "maxCount") }
        self.maxBytes = maxBytes.map { checks.atLeast(0, $0, "maxBytes") }
        self.maxAge = maxAge.map { checks.notNegative($0, "maxAge") }
    }

    /// The most mutations that the package's stores drop in one transaction: a database's other writers wait meanwhile.
    static let droppedAtOnce = 1_000

    /// Whether the limits allow this much to be kept.
    ///
    /// - Parameters:
    ///   - count: The number of dead mutations.
    ///   - bytes: The bytes of their payloads.
    /// - Returns: Whether both are within the limits; the age is ignored.
    public func allows(count: Int, bytes: Int) -> Bool { count <= maxCount ?? .max && bytes <= maxBytes ?? .max }

    /// Returns the date before which deaths are beyond the age limit.
    ///
    /// - Parameter date: Now, by the wall clock.
    /// - Returns: The date; nil if there is no age limit.
    public func oldest(at date: Date) -> Date? { maxAge.map { date.earlier(by: $0) } }

    /// Whether the dead mutation that is first to be dropped must go. The age limit never drops a mutation that blocks
    /// its lane.
    func drop(diedAt: Date?, blocks: Bool, of totals: QueueTotals, at date: Date) -> Bool {
        if !blocks, let oldest = oldest(at: date), diedAt ?? .distantPast < oldest { return true }
        return !allows(count: totals.dead, bytes: totals.deadBytes)
    }
}

/// The result of ``MutationStore/apply(_:claiming:keeping:at:)``.
public struct ApplyResult: Sendable, Hashable {
    /// The mutations to send, in the order asked for.
    public var claimed: [StoredMutation]
    /// The ids of dead mutations that were dropped, in the order in which they were dropped.
    public var dropped: [String]
    /// Whether another queue has stored or ended a pause that this queue does not know of.
    ///
    /// Then nothing is claimed.
    public var hasOtherPause: Bool

    /// Creates a result.
    ///
    /// - Parameters:
    ///   - claimed: The mutations to send.
    ///   - dropped: The ids of dead mutations that were dropped.
    ///   - hasOtherPause: Whether another queue has stored or ended a pause; false by default.
    public init(claimed: [StoredMutation] = [], dropped: [String] = [], hasOtherPause: Bool = false) {
        self.claimed = claimed
        self.dropped = dropped
        self.hasOtherPause = hasOtherPause
    }
}

/// The result of ``MutationStore/append(_:under:at:)``.
///
/// A mutation that is in neither ``duplicates`` nor ``merges`` got its own place.
public struct AppendResult: Sendable, Hashable {
    /// One appended mutation that was coalesced with a pending one.
    public struct Merge: Sendable, Hashable {
        /// The id of the mutation that was appended.
        public let id: String
        /// The id of the pending mutation that it was merged into.
        public let into: String
        /// Whether the two cancel out, so that neither is sent.
        public let cancelsOut: Bool

        /// Creates a merge.
        ///
        /// - Parameters:
        ///   - id: The id of the mutation that was appended.
        ///   - into: The id of the pending mutation that it was merged into.
        ///   - cancelsOut: Whether the two cancel out.
        public init(id: String, into: String, cancelsOut: Bool) {
            self.id = id
            self.into = into
            self.cancelsOut = cancelsOut
        }
    }

    /// The number of mutations that got their own place, including those that a later one cancelled out.
    public var added = 0
    /// The mutations that were coalesced with a pending one, in order.
    public var merges: [Merge] = []
    /// The ids of pending mutations that were dropped to make room.
    public var dropped: [String] = []
    /// The ids of skipped mutations, in order.
    ///
    /// Each id was already taken: by a pending or dead mutation, or earlier in the same append.
    public var duplicates: [String] = []

    /// Creates a result without any mutation.
    public init() {}
}

/// The counts and sizes of a store's mutations.
public struct QueueTotals: Sendable, Hashable {
    /// The number of pending mutations, including blocked lanes.
    public var pending: Int
    /// The bytes of pending payloads.
    public var bytes: Int
    /// The number of dead mutations.
    public var dead: Int
    /// The bytes of dead payloads.
    public var deadBytes: Int
    /// When the first pending mutation entered the queue; nil if none is pending.
    public var oldest: Date?
    /// The earliest ``Mutation/notBefore`` of all pending mutations; nil if none has one.
    public var nextDue: Date?

    /// Creates totals; by default all are zero.
    ///
    /// - Parameters:
    ///   - pending: The number of pending mutations.
    ///   - bytes: The bytes of pending payloads.
    ///   - dead: The number of dead mutations.
    ///   - deadBytes: The bytes of dead payloads.
    ///   - oldest: When the first pending mutation entered the queue.
    ///   - nextDue: The earliest date of a pending mutation.
    public init(
        pending: Int = 0, bytes: Int = 0, dead: Int = 0, deadBytes: Int = 0, oldest: Date? = nil, nextDue: Date? = nil
    ) {
        self.pending = pending
        self.bytes = bytes
        self.dead = dead
        self.deadBytes = deadBytes
        self.oldest = oldest
        self.nextDue = nextDue
    }
}

extension Date {
    func earlier(by age: Duration) -> Date { addingTimeInterval(-(age / .seconds(1))) }

    func later(by time: Duration) -> Date { addingTimeInterval(time / .seconds(1)) }

    /// The time from another date; zero if that is later, or not a number. A store may hold any date, but some
    /// differences exceed a duration.
    func time(since other: Date) -> Duration {
        let seconds = timeIntervalSince(other)
        return seconds > 0 ? .seconds(min(seconds, 1e12)) : .zero
    }
}
