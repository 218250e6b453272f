public import Resilience

/// One pass of a two-way sync: a health check, then the queue's flush, then what is new on the other side.
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
/// - The check and every fetch go through the queue's pipeline, one request each. A 429, or a policy that refuses, pauses the
///   queue and ends the pass; in a pause a pass asks nothing.
/// - What the user did and the queue has not sent is never overwritten: `apply` asks which entities that are. What was left
///   out of a page is fetched again by the next pass, since the cursor stays where it was.
/// - The cursor is kept in the queue's store. It is 0 until a bootstrap has returned another, and ``reset()`` makes it so
///   again. It is stored after each page has been applied: a crash in between repeats that page.
public final class SyncPass: Sendable {
    /// Where a pass ended.
    public enum End: Sendable, Hashable {
        /// All of it was done, and the cursor is this now.
        case pulled(cursor: Int64)
        /// Some of what was fetched could not be applied, or may have overwritten an edit that was made meanwhile: the cursor
        /// is as it was, and the next pass fetches it again.
        case pulledInPart(cursor: Int64)
        /// The queue is paused, or became so by what the pass asked.
        case paused(until: MonotonicInstant)
        /// The flush could not send what there is, as its report says, so nothing was pulled.
        case notFlushed
    }

    public struct Report: Sendable {
        public internal(set) var end: End
        /// What the flush did; nil if the pass ended before it.
        public internal(set) var flush: FlushReport?
        /// Whether everything was pulled, rather than what is new.
        public internal(set) var bootstrapped = false
    }

    private enum Stage { case checking, flushing, pulling }

    private struct State {
        /// Until it is over.
        var pass: Task<Report, any Error>?
        var stage = Stage.checking
        /// Who waits for its end.
        var waiters: [PolicyWaiter] = []
        var resets = 0
    }

    private let queue: SyncQueue
    private let cursorName: String
    private let check: (@Sendable () async throws -> Void)?
    private let pullPage: @Sendable (_ cursor: Int64, SyncPull) async throws -> (cursor: Int64, hasMore: Bool)
    private let state = Locked(State())
    private static let prefix = "cursor."

    /// - Parameters:
    ///   - cursorName: what the cursor is stored under; give each pass over one queue another.
    ///   - check: whether the other side is well; an error ends the pass before any mutation is sent. nil if the queue's own
    ///     ``SyncQueueConfiguration/healthCheck`` is enough.
    ///   - bootstrap: fetches everything, or its first page, for a cursor of 0.
    ///   - increment: fetches what is new since a cursor, or the next page of it.
    ///   - apply: makes a page part of the model, and leaves alone what ``SyncPull/unsent(among:)`` tells.
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

    /// Makes a pass; who calls during one gets its report, or, once that one pulls, has another made after it. Cancelling the
    /// caller cancels the pass that it began, and ends no more than its waiting for one that it joined.
    /// - Throws: what the check, a fetch, `apply` or the store throws; ``SyncQueueError/stopped``.
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
            // What it was asked for may have come after the flush's last look.
            if joined == .flushing { queue.trigger() }
            guard await waitForEnd(of: pass) else { throw CancellationError() }
            do {
                let report = try await pass.value
                // One that pulled may have missed what was new.
                if joined != .pulling { return report }
            } catch {
                // Somebody else's cancellation is not ours.
                if joined != .pulling, !pass.isCancelled { throw error }
            }
        }
    }

    /// - Returns: also where the pass was, if it was under way.
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
        let waiters = state.withLock { state in
            defer { (state.pass, state.waiters) = (nil, []) }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// - Returns: false if the task was cancelled.
    private func waitForEnd(of pass: Task<Report, any Error>) async -> Bool {
        let waiter = PolicyWaiter()
        let waits = state.withLock { state in
            guard state.pass == pass else { return false }
            state.waiters.append(waiter)
            return true
        }
        guard waits, await waiter.wait(until: .distantFuture, on: queue.pipeline.timeBase) != .resumed else {
            return true
        }
        state.withLock { $0.waiters.removeAll { $0 === waiter } }
        return false
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
            case .drained, .blocked, .stalled:
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
        let resetsBefore = state.withLock { state in
            state.stage = .pulling
            return state.resets
        }
        let old = try await cursor()
        var (cursor, isWhole, hasMore) = (old, true, true)
        while hasMore {
            let pull = try await SyncPull(queue, isBootstrap: cursor == 0)
            let page = try await pullPage(cursor, pull)
            report.bootstrapped = report.bootstrapped || pull.isBootstrap
            if isWhole { isWhole = try await pull.isWhole() }
            // One that goes nowhere would be fetched for ever.
            hasMore = page.hasMore && page.cursor != cursor
            cursor = page.cursor
            if isWhole, resets == resetsBefore { try await store(cursor) }
            // Also one that came while that was stored.
            if resets != resetsBefore {
                try await store(0)
                report.end = .pulled(cursor: 0)
                return
            }
        }
        report.end = isWhole ? .pulled(cursor: cursor) : .pulledInPart(cursor: try await self.cursor())
    }

    /// 0 if there was no bootstrap yet.
    public func cursor() async throws -> Int64 {
        try await queue.store.setting(Self.prefix + cursorName).flatMap(Int64.init) ?? 0
    }

    /// Has the next pass fetch everything: after a sign-out, say. A pass under way doesn't undo it.
    public func reset() async throws {
        // Twice: a pass may begin, and read the old cursor, while it is stored.
        state.withLock { $0.resets += 1 }
        defer { state.withLock { $0.resets += 1 } }
        try await store(0)
    }

    private var resets: Int { state.withLock { $0.resets } }

    private func store(_ cursor: Int64) async throws {
        try await queue.uncancelled { [queue, cursorName] in
            try await queue.store.set(Self.prefix + cursorName, to: cursor == 0 ? nil : "\(cursor)")
        }
    }
}
