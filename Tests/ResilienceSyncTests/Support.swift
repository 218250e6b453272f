import Foundation
import Resilience
@testable import ResilienceSync
import ResilienceTesting
import TestSupport

/// The other side's answers except "done".
enum Refusal: Error, VerdictConvertible, CustomStringConvertible {
    case throttled(retryAfter: Duration?)
    case unavailable
    case gone
    case unreachable
    case abandoned

    static var throttled: Refusal { .throttled(retryAfter: nil) }

    var verdict: Verdict {
        switch self {
        case .throttled(let retryAfter): .throttled(retryAfter: retryAfter)
        case .unavailable, .unreachable: .transient
        case .gone: .permanent
        case .abandoned: .cancelled
        }
    }

    var description: String {
        switch self {
        case .throttled: "429"
        case .unavailable: "503"
        case .gone: "410"
        case .unreachable: "no network"
        case .abandoned: "abandoned"
        }
    }
}

extension LaneHead {
    /// - Parameter queuedAt: In seconds after the reference date.
    init(
        _ position: Int64, _ lane: String, _ kind: String = "one", failures: Int = 0, queuedAt: Double = 0,
        bytes: Int = 0, claims: Int = 0
    ) {
        self.init(
            position: position, id: "m\(position)", entity: lane, kind: kind,
            queuedAt: Date(timeIntervalSinceReferenceDate: queuedAt), failures: failures, bytes: bytes, claims: claims)
    }
}

extension BatchLimit: ExpressibleByIntegerLiteral {
    public init(integerLiteral count: Int) { self.init(count: count) }
}

typealias Server = ScriptedOperation<Mutation, Void>

extension Result where Success == Void, Failure == any Error {
    static var ok: Self { .success(()) }
    static func refused(_ refusal: Refusal) -> Self { .failure(refusal) }
}

extension Mutation {
    /// A mutation of the entity that its id begins with: "a1" and "a2" belong to "a".
    init(_ id: String, key: String? = nil, payload: String = "") {
        self.init(
            id: id, entity: String(id.prefix { !$0.isNumber }), kind: "create", payload: Data(payload.utf8),
            idempotencyKey: key ?? "key-\(id)", createdAt: Date(timeIntervalSince1970: 1_700_000_000.123_456))
    }

    private init(id: String, entity: String) {
        self.init(
            id: id, entity: entity, kind: "create", payload: Data(), idempotencyKey: "key-\(id)",
            createdAt: Date(timeIntervalSince1970: 1_700_000_000))
    }

    /// Each has its own entity.
    static func many(_ count: Int) -> [Mutation] {
        (0..<count).map { Mutation(id: "\($0)", entity: "entity-\($0)") }
    }
}

extension ScriptedOperation where Input == Mutation {
    var ids: [String] { inputs.map(\.id) }
}

/// A queue whose clock, server and breaker the test controls; one request at a time by default.
struct Fixture {
    let clock = ManualClock()
    let server = Server(fallback: .ok)
    let recorder = EventRecorder()
    let breaker: CircuitBreaker

    init() { breaker = CircuitBreaker(circuit: BackoffGate(), timeBase: clock) }

    /// Guarded by the breaker.
    func guardedQueue(
        _ store: some MutationStore = MemoryStore(),
        configuration: SyncQueueConfiguration = SyncQueueConfiguration(maxInFlight: 1)
    ) -> SyncQueue {
        queue(store, Pipeline(timeBase: clock) { breaker }, configuration)
    }

    func queue(
        _ store: some MutationStore = MemoryStore(), _ pipeline: Pipeline? = nil,
        _ configuration: SyncQueueConfiguration = SyncQueueConfiguration(maxInFlight: 1, isOffline: isOffline)
    ) -> SyncQueue {
        SyncQueue(
            store: store, pipeline: pipeline ?? Pipeline(timeBase: clock) {}, configuration: configuration,
            observers: PolicyObservers(recorder), wallClock: wallClock
        ) { [server] in try await server($0) }
    }

    func queue(configuration: SyncQueueConfiguration) -> SyncQueue { queue(MemoryStore(), nil, configuration) }

    /// A wall clock that moves with the manual clock: the machine's speed must not affect a test. It is the same for
    /// all fixtures.
    var wallClock: @Sendable () -> Date {
        { [clock] in Self.epoch.addingTimeInterval(ManualClock().now.duration(to: clock.now) / .seconds(1)) }
    }
    /// In whole seconds, which survive rounding.
    private static let epoch = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded())

    static let isOffline: @Sendable (any Error) -> Bool = { error in
        if case Refusal.unreachable = error { true } else { false }
    }

    var events: [SyncEvent] { recorder.events(of: SyncEvent.self) }

    /// Ends the queue's pause or stall, and waits for the next. Throws if the test ran out of time, so that a loop over
    /// it ends.
    func passOneWait() async throws {
        try Task.checkCancellation()
        await clock.waitForSleepers(1)
        clock.advanceToNextSleeper()
        await clock.waitForSleepers(1)
    }

    /// Moves time from one alarm to the next while something runs.
    func whileTimePasses<R: Sendable>(_ body: () async throws -> R) async rethrows -> R {
        let isOver = Box<Bool>()
        Task { [clock] in
            while true {
                await clock.waitForSleepers(1)
                if isOver.value == true { return }
                clock.advanceToNextSleeper()
            }
        }
        defer {
            isOver.value = true
            // Wakes the pump, so that it notices.
            _ = clock.schedule(at: .distantFuture) {}
        }
        return try await body()
    }
}

/// One empty store of each kind in the package.
func everyStore() throws -> [any MutationStore] {
    var stores: [any MutationStore] = [MemoryStore()]
    #if SQLite
        stores.append(try SQLiteStore.temporary())
    #endif
    return stores
}

/// A store that reports every call before and after it, and lets the test interfere.
struct HookedStore: MutationStore {
    enum Step: Hashable {
        case before(String)
        case after(String, rows: Int = 0)
    }

    let inner: any MutationStore
    let hook: @Sendable (Step) async throws -> Void
    private let locks: any MutationStore

    /// - Parameter locks: The lock; by default a new one, since a killed store leaves none behind.
    init(
        inner: any MutationStore, locks: any MutationStore = MemoryStore(),
        hook: @escaping @Sendable (Step) async throws -> Void
    ) {
        (self.inner, self.locks, self.hook) = (inner, locks, hook)
    }

    /// A store that interferes once, at the nth occurrence of a step.
    init(
        inner: any MutationStore, at step: Step, number: Int = 1,
        interfere: @escaping @Sendable () async throws -> Void
    ) {
        let count = Locked(0)
        self.init(inner: inner) { found in
            guard found == step else { return }
            let isNow = count.withLock { count in
                count += 1
                return count == number
            }
            if isNow { try await interfere() }
        }
    }

    /// A store in memory that fails before a step while the box is true.
    static func failing(at step: String, while fails: Box<Bool>) -> HookedStore {
        HookedStore(inner: MemoryStore()) {
            if $0 == .before(step), fails.value == true { throw Refusal.unavailable }
        }
    }

    private func hooked<R>(_ name: String, _ body: () async throws -> R) async throws -> R {
        try await hook(.before(name))
        let result = try await body()
        let rows =
            (result as? [StoredMutation])?.count ?? (result as? LaneHeads)?.heads.count
            ?? (result as? ApplyResult)?.claimed.count
        try await hook(.after(name, rows: rows ?? 0))
        return result
    }

    func append(_ mutations: [Mutation], under rules: AppendRules, at date: Date) async throws -> AppendResult {
        try await hooked("append") { try await inner.append(mutations, under: rules, at: date) }
    }
    func heads(after position: Int64, limit: Int, at date: Date) async throws -> LaneHeads {
        try await hooked("heads") { try await inner.heads(after: position, limit: limit, at: date) }
    }
    func pendingEntities(among entities: [String]) async throws -> [String] {
        try await inner.pendingEntities(among: entities)
    }
    /// Its step is named after its first change: "remove", "fail", "park", or "claim".
    func apply(
        _ changes: [MutationChange], claiming positions: [Int64], keeping limits: DeadLimits, at date: Date
    ) async throws -> ApplyResult {
        let name =
            switch changes.first {
            case .acknowledged: "remove"
            case .answered: "answer"
            case .failed: "fail"
            case .died: "park"
            case nil: "claim"
            }
        return try await hooked(name) {
            try await inner.apply(changes, claiming: positions, keeping: limits, at: date)
        }
    }
    func pending(after position: Int64, limit: Int) async throws -> [StoredMutation] {
        try await hooked("pending") { try await inner.pending(after: position, limit: limit) }
    }
    func dead(after position: Int64, limit: Int) async throws -> [StoredMutation] {
        try await inner.dead(after: position, limit: limit)
    }
    func mutation(_ id: String, cancelling: Bool) async throws -> StoredMutation? {
        try await hooked("mutation") { try await inner.mutation(id, cancelling: cancelling) }
    }
    func revive(_ positions: [Int64], evenOvertaken: Bool, at date: Date) async throws -> Int {
        try await hooked("revive") { try await inner.revive(positions, evenOvertaken: evenOvertaken, at: date) }
    }
    func discard(_ positions: [Int64]) async throws -> Int {
        try await hooked("discard") { try await inner.discard(positions) }
    }
    func seal() async throws -> Int64 { try await hooked("seal") { try await inner.seal() } }
    func removePending(_ positions: [Int64]) async throws -> Int {
        try await hooked("removePending") { try await inner.removePending(positions) }
    }
    func lock(for queue: UUID) async throws -> SendingLock {
        try await hooked("lock") { try await locks.lock(for: queue) }
    }
    func unlock(for queue: UUID) async { await locks.unlock(for: queue) }
    func totals() async throws -> QueueTotals { try await hooked("totals") { try await inner.totals() } }
    var isShared: Bool { inner.isShared }
    func othersHaveHeads() async throws -> Bool { try await inner.othersHaveHeads() }
    func setting(_ name: String) async throws -> String? {
        try await hooked("setting") { try await inner.setting(name) }
    }
    func set(_ name: String, to value: String?) async throws {
        try await hooked("set") { try await inner.set(name, to: value) }
    }
}

extension MutationStore {
    func append(_ mutations: [Mutation]) async throws {
        _ = try await append(mutations, under: AppendRules(), at: Date(timeIntervalSince1970: 1_700_000_000))
    }
}

extension MemoryStore {
    func pendingCount() -> Int { totals().pending }
    func deadCount() -> Int { totals().dead }

    /// The end of the pause that the queue has stored.
    func pause() -> Date? { setting("pausedUntil").flatMap(Double.init).map(Date.init(timeIntervalSince1970:)) }
    func setPause(until date: Date?) { set("pausedUntil", to: date.map { "\($0.timeIntervalSince1970)" }) }
}

/// A value that is set later.
final class Box<Value: Sendable>: Sendable {
    private let contents = Locked<Value?>(nil)

    var value: Value? {
        get { contents.withLock { $0 } }
        set { contents.withLock { $0 = newValue } }
    }
}

/// A wall clock that a test sets.
final class WallClock: Sendable {
    private let date: Locked<Date>

    init(_ date: Date = Date(timeIntervalSince1970: 1_700_000_000)) { self.date = Locked(date) }

    var now: Date { date.withLock { $0 } }
    func set(_ new: Date) { date.withLock { $0 = new } }
}

/// A folder that is removed with its object.
final class TemporaryFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("resilience-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    /// Every file and its bytes.
    func contents() throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: url.path)
        return Dictionary(
            uniqueKeysWithValues: names.map { ($0, FileManager.default.contents(atPath: path($0)) ?? Data()) })
    }
}

extension ManualClock {
    /// The lengths of the next waits, each of which begins after the previous one.
    nonisolated(nonsending) func passWaits(_ count: Int) async -> [Duration] {
        var waits: [Duration] = []
        for _ in 0..<count {
            await waitForSleepers(1)
            waits.append(now.duration(to: sleepers[0]))
            advanceToNextSleeper()
        }
        return waits
    }
}

/// The lines of a text in the package.
func lines(of path: String) throws -> [String] {
    try String(contentsOf: repository.appending(path: path), encoding: .utf8)
        .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
}
