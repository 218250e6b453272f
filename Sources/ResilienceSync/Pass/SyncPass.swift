public import Resilience

/// Passes of a two-way sync: a health check, the queue's flush, and then a fetch of the other side's changes.
///
/// ```swift
/// let pass = SyncPass(queue) {
///     try await client.ping()
/// } bootstrap: {
///     SyncPage(try await client.everything(), cursor: …)
/// } increment: { cursor in
///     SyncPage(try await client.changes(since: cursor), cursor: …)
/// } apply: { changes, pull in
///     let here = pull.isBootstrap ? try await model.ids() : []
///     let unsent = try await pull.unsent(among: changes.map(\.id) + here)
///     try await model.remove(here.filter { !unsent.contains($0) })
///     try await model.apply(changes.filter { !unsent.contains($0.id) })
/// }
/// let report = try await pass.run()
/// ```
///
/// - The check and every fetch go through the queue's pipeline, one request each. A 429, or a policy that rejects the
///   request, pauses the queue and ends the pass. During a pause a pass makes no request.
/// - Unsent edits are never overwritten: `apply` asks which entities have unsent edits, and leaves these entities out.
///   The next pass fetches them again, since the cursor stays where it was.
/// - The cursor is kept in the queue's store. It is 0 until a bootstrap has returned another cursor, and after
///   ``reset()``; ``setCursor(_:)`` sets it, for example to another program's cursor. It is stored after each page has
///   been applied, so a crash in between repeats that page.
public final class SyncPass: Sendable {
    /// How a pass ended.
    public enum End: Sendable, Hashable {
        /// Everything was pulled; this is the cursor now.
        case pulled(cursor: Int64)
        /// Some fetched changes could not be applied, or may have overwritten an edit made meanwhile.
        ///
        /// The cursor stays before them, and the next pass fetches them again.
        case pulledInPart(cursor: Int64)
        /// The queue was paused before the pass, or by the pass's check or a fetch.
        case paused(until: MonotonicInstant)
        /// The flush did not send everything (see ``SyncPass/Report/flush``), so nothing was pulled.
        case notFlushed
    }

    /// The results of a pass.
    public struct Report: Sendable {
        /// How the pass ended.
        public internal(set) var end: End
        /// The flush's results; nil if the pass ended before it.
        public internal(set) var flush: FlushReport?
        /// Whether everything was fetched, instead of only the changes.
        public internal(set) var bootstrapped = false
    }

    private enum Stage { case checking, flushing, pulling }

    private struct State {
        /// The pass in flight; nil if there is none.
        var pass: Task<Report, any Error>?
        var stage = Stage.checking
        /// How often setting the cursor by hand has begun or ended.
        var settings = 0
        /// The latest cursor that was set by hand.
        var wanted: Int64 = 0
    }

    private let queue: SyncQueue
    private let cursorName: String
    private let check: (@Sendable () async throws -> Void)?
    private let pullPage: @Sendable (_ cursor: Int64, SyncPull) async throws -> (cursor: Int64, hasMore: Bool)
    private let state = Locked(State())
    private static let prefix = "cursor."

    /// Creates the passes over a queue.
    ///
    /// - Parameters:
    ///   - queue: The queue to flush; every request goes through its pipeline.
    ///   - cursorName: The name that the cursor is stored under; `cursor` by default. Each pass over the same queue
    ///     needs its own.
    ///   - check: Checks the other side's health; an error ends the pass before any mutation is sent. nil, the default,
    ///     if the queue's own ``SyncQueueConfiguration/healthCheck`` is enough.
    ///   - bootstrap: Fetches everything, or its first page, when the cursor is 0.
    ///   - increment: Fetches the changes since a cursor, or the next page.
    ///   - apply: Applies a page to the model, without the entities that ``SyncPull/unsent(among:)`` returns.
    public init<Value: Sendable>(
        _ queue: SyncQueue, cursorName: String = "cursor", check: (@Sendable () async throws -> Void)? = nil,
        bootstrap: @escaping @Sendable () async throws -> SyncPage<Value>,
        increment: @escaping @Sendable (_ cursor: Int64) async throws -> SyncPage<Value>,
        apply: @escaping @Sendable (Value, SyncPull) async throws -> Void
    ) {
        self.queue = queue
        self.cursorName = cursorName
        self.check = check
        pullPage = { cursor, pull in
            let page = try await queue.ask { try await cursor == 0 ? bootstrap() : increment(cursor) }
            try await apply(page.value, pull)
            return (page.cursor, page.hasMore)
        }
    }

    /// Makes a pass.
    ///
    /// A call during a pass that is not yet pulling gets that pass's report. During a pass that is already pulling, the
    /// call waits for the pass's end, and gets the report of the next pass. Cancelling a caller cancels the pass that
    /// it began. If it joined a pass, only its own wait ends.
    ///
    /// - Returns: The results of the pass.
    /// - Throws: The error of the check, a fetch, `apply` or the store; ``SyncQueueError/stopped``;
    ///   `CancellationError`.
    public func run() async throws -> Report {
        while true {
            let (pass, joined) = begin()
            guard let joined else {
                return try await withTaskCancellationHandler {
                    try await pass.value
                } onCancel: {
                    pass.cancel()
                }
            }
            // The caller may want to send a mutation that came after the flush's last look.
            if joined == .flushing { queue.trigger() }
            // Like the queue's callers: a cancelled caller ends only its own wait.
            let hasEnded = await queue.waitForChange { _ in state.withLock { $0.pass == pass } }
            guard hasEnded else { throw CancellationError() }
            do {
                let report = try await pass.value
                // A pass that was already pulling may have missed the latest changes.
                if joined != .pulling { return report }
            } catch {
                // The cancellation of another caller does not end this call.
                if joined != .pulling, !pass.isCancelled { throw error }
            }
        }
    }

    /// - Returns: The pass; and its stage, if it was already in flight.
    private func begin() -> (pass: Task<Report, any Error>, joined: Stage?) {
        state.withLock { state in
            if let pass = state.pass { return (pass, state.stage) }
            let pass = Task(executorPreference: queue.pipeline.timeBase.taskExecutor) {
                defer { self.end() }
                return try await self.pass()
            }
            (state.pass, state.stage) = (pass, .checking)
            return (pass, nil)
        }
    }

    private func end() {
        state.withLock { $0.pass = nil }
        queue.tellWatchers()
    }

    private func pass() async throws -> Report {
        var report = Report(end: .notFlushed)
        do {
            if let until = try await queue.currentPause() { throw SyncQueue.Paused(until: until) }
            if let check { try await queue.ask(check) }
            state.withLock { $0.stage = .flushing }
            let flush = try await queue.flush()
            report.flush = flush
            switch flush.end {
            case .drained, .blocked, .stalled, .waiting:
                try await pull(&report)
            case .paused, .offline, .lockedOut, .cancelled:
                try Task.checkCancellation()
            }
        } catch let pause as SyncQueue.Paused {
            report.end = .paused(until: pause.until)
        }
        return report
    }

    private func pull(_ report: inout Report) async throws {
        let settingsBefore = state.withLock { state in
            state.stage = .pulling
            return state.settings
        }
        let old = try await cursor()
        var (cursor, isWhole, hasMore) = (old, true, true)
        while hasMore {
            let pull = try await SyncPull(queue, isBootstrap: cursor == 0)
            let page = try await pullPage(cursor, pull)
            report.bootstrapped = report.bootstrapped || pull.isBootstrap
            if isWhole { isWhole = try await pull.isWhole() }
            // A page that does not move the cursor would be fetched for ever.
            hasMore = page.hasMore && page.cursor != cursor
            cursor = page.cursor
            if isWhole, settings == settingsBefore { try await store(cursor) }
            // The cursor may have been set by hand while another cursor was being stored.
            if settings != settingsBefore {
                report.end = .pulled(cursor: try await storeWanted())
                return
            }
        }
        report.end = isWhole ? .pulled(cursor: cursor) : .pulledInPart(cursor: try await self.cursor())
    }

    /// Returns the stored cursor.
    ///
    /// - Returns: The cursor; 0 if there was no bootstrap yet, or none since ``reset()``.
    /// - Throws: The store's error.
    public func cursor() async throws -> Int64 {
        try await queue.store.setting(Self.prefix + cursorName).flatMap(Int64.init) ?? 0
    }

    /// Makes the next pass fetch everything, for example after a sign-out.
    ///
    /// A pass in flight doesn't undo this.
    ///
    /// - Throws: The store's error.
    public func reset() async throws { try await setCursor(0) }

    /// Sets the cursor that the next pass continues from, for example when this program takes over from another.
    ///
    /// A pass in flight doesn't undo this: it ends after its present page.
    ///
    /// - Parameter cursor: The cursor; 0 makes the next pass fetch everything.
    /// - Throws: The store's error.
    public func setCursor(_ cursor: Int64) async throws {
        // Counted twice, because a pass may begin, and read the old cursor, while the new one is stored.
        state.withLock { state in
            state.settings += 1
            state.wanted = cursor
        }
        defer { state.withLock { $0.settings += 1 } }
        _ = try await storeWanted()
    }

    private var settings: Int { state.withLock { $0.settings } }
    private var wanted: Int64 { state.withLock { $0.wanted } }

    /// Stores the cursor that was set by hand, and stores again if another one is set meanwhile.
    /// - Returns: The cursor.
    private func storeWanted() async throws -> Int64 {
        while true {
            let cursor = wanted
            try await store(cursor)
            if cursor == wanted { return cursor }
        }
    }

    private func store(_ cursor: Int64) async throws {
        try await queue.uncancelled { [queue, cursorName] in
            try await queue.store.set(Self.prefix + cursorName, to: cursor == 0 ? nil : "\(cursor)")
        }
    }
}
