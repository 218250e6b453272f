#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import Resilience

/// Where a ``SyncQueue`` keeps what it has not sent. What a method changed is durable when it returns.
///
/// Mutations of one entity form its *lane*. A mutation is pending, or it is dead: set aside for somebody to look at. A lane
/// is blocked while it holds a dead mutation that was parked to block it. The *head* of a lane that is not blocked is its
/// first pending mutation.
///
/// Several queues may share a store, of one process or of several; the one that has the sending lock sends. Every method may be called on any task, several at once, and takes effect whole or
/// not at all. Texts are told apart by their code units: two ids or entities that look alike and are encoded differently are
/// two. `StoreContract` in ResilienceSyncTesting tries a store for all of this.
public protocol MutationStore: Sendable {
    /// Adds mutations at the end, one after the other: all of them, or none. Each is first put to the rules' coalescing
    /// with the last pending one of its lane, unless that one is attempted. An append that makes the queue hold no more
    /// than before is never refused for the limits.
    /// - Parameter date: now, by the wall clock.
    /// - Throws: ``SyncQueueError/duplicate(id:)`` if one with the same id is there, pending or dead,
    ///   or twice among these; ``SyncQueueError/full(count:bytes:)`` if the limits don't allow them.
    func append(_ mutations: [Mutation], under rules: AppendRules, at date: Date) async throws -> Appended

    /// The next heads of lanes after a position, in order.
    func heads(after position: Int64, limit: Int) async throws -> [LaneHead]

    /// Which of these entities have pending mutations, in the order asked for.
    func pendingEntities(among entities: [String]) async throws -> [String]

    /// Makes these changes, in order, drops what is dead beyond the limits, and then claims these mutations, to be sent: all
    /// of it or nothing. A change to a mutation that is no longer pending does nothing. Where very many are beyond the limits,
    /// some may be left to be dropped by the next call.
    /// - Parameter date: now, by the wall clock. A ``StoredMutation/diedAt`` that is later becomes this: the clock was set back.
    /// - Returns: those claimed, as they are now, in the order asked for; without those that are no heads, as one behind which an
    ///   older one was revived. They are attempted from now on. And what was dropped.
    func apply(
        _ changes: [MutationChange], claiming positions: [Int64], keeping limits: DeadLimits, at date: Date
    ) async throws -> Applied

    /// The next pending mutations after a position, in order. Large payloads may make it fewer than the limit, but there is
    /// one if there are any.
    func pending(after position: Int64, limit: Int) async throws -> [StoredMutation]

    /// What was set aside, in order; its pages like those of ``pending(after:limit:)``.
    func dead(after position: Int64, limit: Int) async throws -> [StoredMutation]

    /// Makes dead mutations pending again, at their old place, with no failures, no error and a new
    /// ``StoredMutation/queuedAt``. What was attempted stays so. Positions that are not dead are passed over.
    /// - Parameters:
    ///   - positions: nil for all.
    ///   - evenOvertaken: whether those, too, that are ``StoredMutation/isOvertaken`` before any of them is revived.
    /// - Returns: how many.
    func revive(_ positions: [Int64]?, evenOvertaken: Bool, at date: Date) async throws -> Int

    /// Removes dead mutations. Positions that are not dead are passed over.
    /// - Parameter positions: nil for all.
    /// - Returns: how many.
    func discard(_ positions: [Int64]?) async throws -> Int

    /// From now on nothing is coalesced into what is pending: it is taken for attempted.
    /// - Returns: the last position there is; what is added later has a higher one.
    func seal() async throws -> Int64

    /// Removes everything that is pending, up to a position and with it.
    /// - Returns: how many there were.
    func removePending(through position: Int64) async throws -> Int

    /// How much there is.
    func totals() async throws -> QueueTotals

    /// Takes the sending lock, which one queue has at a time, among all on what is stored here, in whatever process. It is
    /// free again after ``unlock(for:)``, or when the process ends, however it ends; not before.
    /// - Parameter queue: another for each queue.
    func lock(for queue: UUID) async throws -> SendingLock

    /// Gives the sending lock back, if this queue has it.
    func unlock(for queue: UUID) async

    /// A value kept beside the mutations; nil if there is none.
    func setting(_ name: String) async throws -> String?

    /// Keeps a value; nil removes it.
    func set(_ name: String, to value: String?) async throws
}

extension MutationStore {
    /// Removes everything that is pending.
    /// - Returns: how many there were.
    public func removePending() async throws -> Int { try await removePending(through: .max) }

    /// With everything kept that is dead.
    package func apply(
        _ changes: [MutationChange], claiming positions: [Int64], at date: Date = Date()
    ) async throws -> [StoredMutation] {
        try await apply(changes, claiming: positions, keeping: DeadLimits(), at: date).claimed
    }

    /// Those that are overtaken, too.
    package func revive(_ positions: [Int64]?, at date: Date) async throws -> Int {
        try await revive(positions, evenOvertaken: true, at: date)
    }
}

/// The first pending mutation of a lane, without what it carries: that may change until it is claimed.
public struct LaneHead: Sendable, Hashable {
    public let position: Int64
    public let id: String
    public let entity: String
    public let kind: String
    /// Since when it is in the queue, by the wall clock.
    public let queuedAt: Date
    public let failures: Int
    /// Of its payload.
    public let bytes: Int

    public init(
        position: Int64, id: String, entity: String, kind: String, queuedAt: Date, failures: Int, bytes: Int
    ) {
        self.position = position
        self.id = id
        self.entity = entity
        self.kind = kind
        self.queuedAt = queuedAt
        self.failures = failures
        self.bytes = bytes
    }

    package init(_ stored: StoredMutation) {
        self.init(
            position: stored.position, id: stored.mutation.id, entity: stored.mutation.entity,
            kind: stored.mutation.kind, queuedAt: stored.queuedAt, failures: stored.failures,
            bytes: stored.mutation.payload.count)
    }
}

/// What ``MutationStore/lock(for:)`` came to.
public enum SendingLock: Sendable, Hashable {
    /// Another queue has it.
    case denied
    /// The queue has it, and another may have had it since: a pause may be stored that it does not know of.
    case taken
    /// The queue has it, and no other has had it since.
    case takenAgain
}

/// Something that became of a pending mutation.
public enum MutationChange: Sendable, Hashable {
    /// The other side has it: it is removed. Dead mutations of its lane that came before it are overtaken.
    case acknowledged(Int64)
    /// An attempt failed by the mutation's own fault: it is counted.
    case failed(Int64, error: String)
    /// It is set aside, which by itself counts as no failure.
    case parked(Int64, error: String, rest: LaneRule)

    public var position: Int64 {
        switch self {
        case .acknowledged(let position), .failed(let position, _), .parked(let position, _, _): position
        }
    }

    /// With no more of its error than ``StoredMutation/lastError`` keeps.
    package var withBoundedError: MutationChange {
        switch self {
        case .acknowledged: self
        case .failed(let position, let error): .failed(position, error: StoredMutation.bounded(error))
        case .parked(let position, let error, let rest):
            .parked(position, error: StoredMutation.bounded(error), rest: rest)
        }
    }
}

/// What becomes of a lane whose head is set aside.
public enum LaneRule: String, Sendable, Hashable, CaseIterable {
    /// The next one is sent.
    case skip
    /// The lane waits until the dead one is retried or discarded.
    case block
    /// Those behind it, pending now, are set aside with it.
    case parkRest
}

/// What ``MutationStore/append(_:under:at:)`` goes by.
public struct AppendRules: Sendable {
    /// What to do when a limit is reached.
    public enum Overflow: Sendable, Hashable {
        /// Nothing is added: ``SyncQueueError/full(count:bytes:)``.
        case refuse
        /// The oldest pending ones that were never attempted make room, but none that was appended or merged into just now.
        /// If they are not enough, nothing is added.
        case dropOldest
    }

    /// Pending mutations, at most; nil for no limit.
    public var maxCount: Int?
    /// Bytes of pending payloads, at most; nil for no limit.
    public var maxBytes: Int?
    public var overflow: Overflow
    public var coalescing: Coalescing

    public init(
        maxCount: Int? = nil, maxBytes: Int? = nil, overflow: Overflow = .refuse,
        coalescing: Coalescing = .lastWriteWins
    ) {
        let checks = SettingChecks("AppendRules")
        self.maxCount = maxCount.map { checks.atLeast(1, $0, "maxCount") }
        self.maxBytes = maxBytes.map { checks.atLeast(1, $0, "maxBytes") }
        self.overflow = overflow
        self.coalescing = coalescing
    }

    /// Whether so much may be pending.
    public func allow(count: Int, bytes: Int) -> Bool { count <= maxCount ?? .max && bytes <= maxBytes ?? .max }
}

/// How much of what is dead is kept; more of it makes room.
///
/// The one that died first goes first, whatever a wall clock said, and those that block their lanes when no other is left; a
/// lane goes on then. An age ends none that blocks its lane. The age of one that died in the future, by a clock that was set back
/// since, begins when that is noticed.
public struct DeadLimits: Sendable, Hashable {
    /// How many, at most; nil for no limit.
    public var maxCount: Int?
    /// Bytes of their payloads, at most; nil for no limit.
    public var maxBytes: Int?
    /// How long, at most; nil for no limit.
    public var maxAge: Duration?

    public init(maxCount: Int? = nil, maxBytes: Int? = nil, maxAge: Duration? = nil) {
        let checks = SettingChecks("DeadLimits")
        self.maxCount = maxCount.map { checks.atLeast(0, $0, "maxCount") }
        self.maxBytes = maxBytes.map { checks.atLeast(0, $0, "maxBytes") }
        self.maxAge = maxAge.map { checks.notNegative($0, "maxAge") }
    }

    /// What the package's stores drop in one transaction, at most: other writers of a database wait meanwhile.
    static let droppedAtOnce = 1_000

    /// Whether so much may be kept.
    public func allow(count: Int, bytes: Int) -> Bool { count <= maxCount ?? .max && bytes <= maxBytes ?? .max }

    /// What died before this is too old; nil if nothing is.
    public func oldest(at date: Date) -> Date? { maxAge.map { date.earlier(by: $0) } }
}

/// What ``MutationStore/apply(_:claiming:keeping:at:)`` came to.
public struct Applied: Sendable, Hashable {
    public var claimed: [StoredMutation]
    /// Ids of dead ones that made room, in the order they went.
    public var dropped: [String]

    public init(claimed: [StoredMutation] = [], dropped: [String] = []) {
        self.claimed = claimed
        self.dropped = dropped
    }
}

/// What became of mutations that were appended.
public struct Appended: Sendable, Hashable {
    public struct Merge: Sendable, Hashable {
        /// The one that was appended.
        public let id: String
        /// The one that was there, and has taken it up.
        public let into: String
        /// Whether nothing is left of both.
        public let cancelsOut: Bool

        public init(id: String, into: String, cancelsOut: Bool) {
            self.id = id
            self.into = into
            self.cancelsOut = cancelsOut
        }
    }

    /// How many got a place of their own, those that a later one cancelled out among them.
    public var added = 0
    public var merges: [Merge] = []
    /// Ids of those that made room.
    public var dropped: [String] = []

    public init() {}
}

/// How much a store holds.
public struct QueueTotals: Sendable, Hashable {
    /// Pending mutations, those of blocked lanes among them.
    public var pending: Int
    /// Bytes of their payloads.
    public var bytes: Int
    /// Set aside.
    public var dead: Int
    /// Bytes of their payloads.
    public var deadBytes: Int
    /// Since when the first pending one is in the queue.
    public var oldest: Date?

    public init(pending: Int = 0, bytes: Int = 0, dead: Int = 0, deadBytes: Int = 0, oldest: Date? = nil) {
        self.pending = pending
        self.bytes = bytes
        self.dead = dead
        self.deadBytes = deadBytes
        self.oldest = oldest
    }
}

extension Date {
    func earlier(by age: Duration) -> Date { addingTimeInterval(-(age / .seconds(1))) }
}
