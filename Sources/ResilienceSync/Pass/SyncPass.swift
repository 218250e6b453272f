public import Resilience

/// One pass of a two-way sync: a health check, then the queue's flush, then what is new on the other side.
///
/// ```swift
/// let pass = SyncPass(queue) {
///     try await client.ping()
/// } bootstrap: {
///     try await model.replaceAll(with: client.everything())     // returns the cursor
/// } increment: { cursor in
///     try await model.apply(client.changes(since: cursor))      // returns the next cursor
/// }
/// let report = try await pass.run()
/// ```
///
/// The cursor is kept in the queue's store. It is 0 until a bootstrap has returned another, and ``reset()`` makes it so
/// again. It is stored after `bootstrap` or `increment` has returned: a crash in between repeats that step.
public final class SyncPass: Sendable {
    /// Where a pass ended.
    public enum End: Sendable, Hashable {
        /// All of it was done, and the cursor is this now.
        case pulled(cursor: Int64)
        /// The queue is paused: nothing was asked of the other side.
        case paused(until: Instant)
        /// The flush could not send what there is, as its report says, so nothing was pulled.
        case notFlushed
    }

    public struct Report: Sendable {
        public let end: End
        /// What the flush did; nil if the pass ended before it.
        public let flush: FlushReport?
        /// Whether everything was pulled, rather than what is new.
        public let bootstrapped: Bool
    }

    private let queue: SyncQueue
    private let cursorName: String
    private let check: @Sendable () async throws -> Void
    private let bootstrap: @Sendable () async throws -> Int64
    private let increment: @Sendable (Int64) async throws -> Int64
    private static let prefix = "cursor."
    /// The last pass begun, until it is over, and how many there were.
    private let underWay = Locked<(pass: Task<Report, any Error>?, number: Int)>((nil, 0))
    private let resets = Locked(0)

    /// - Parameters:
    ///   - cursorName: what the cursor is stored under; give each pass over one queue another.
    ///   - check: whether the other side is well; an error ends the pass before any mutation is sent.
    ///   - bootstrap: fetches everything, for a cursor of 0, and returns the new cursor.
    ///   - increment: fetches what is new since a cursor, and returns the new one.
    public init(
        _ queue: SyncQueue, cursorName: String = "cursor", check: @escaping @Sendable () async throws -> Void,
        bootstrap: @escaping @Sendable () async throws -> Int64,
        increment: @escaping @Sendable (Int64) async throws -> Int64
    ) {
        self.queue = queue
        self.cursorName = cursorName
        self.check = check
        self.bootstrap = bootstrap
        self.increment = increment
    }

    /// Makes a pass; who calls during one gets its report. Cancelling a caller cancels the pass; others who wait for it have
    /// another made.
    /// - Throws: what the check, the bootstrap, the increment or the store throws; ``SyncQueueError/stopped``.
    public func run() async throws -> Report {
        while true {
            let pass = begin()
            do {
                return try await withTaskCancellationHandler {
                    try await pass.value
                } onCancel: {
                    pass.cancel()
                }
            } catch is CancellationError where !Task.isCancelled && pass.isCancelled {
                // Somebody else's cancellation is not ours.
                continue
            }
        }
    }

    private func begin() -> Task<Report, any Error> {
        let executor = queue.pipeline.timeBase.taskExecutor
        return underWay.withLock { underWay in
            let before = underWay.pass
            // One that is cancelled may not be over yet.
            if let before, !before.isCancelled { return before }
            underWay.number += 1
            let pass = Task(executorPreference: executor) { [number = underWay.number] in
                _ = await before?.result
                defer { self.underWay.withLock { if $0.number == number { $0.pass = nil } } }
                return try await self.pass()
            }
            underWay.pass = pass
            return pass
        }
    }

    private func pass() async throws -> Report {
        if let until = try await queue.currentPause() {
            return Report(end: .paused(until: until), flush: nil, bootstrapped: false)
        }
        try await check()
        let flush = try await queue.flush()
        switch flush.end {
        case .drained, .blocked, .stalled:
            break
        case .paused, .offline, .cancelled:
            try Task.checkCancellation()
            return Report(end: .notFlushed, flush: flush, bootstrapped: false)
        }
        let resetsBefore = resetCount
        let old = try await cursor()
        var new = old == 0 ? try await bootstrap() : try await increment(old)
        if new != old, resetCount == resetsBefore { try await store(new) }
        // Also one that came while that was stored.
        if resetCount != resetsBefore {
            new = 0
            try await store(new)
        }
        return Report(end: .pulled(cursor: new), flush: flush, bootstrapped: old == 0)
    }

    /// 0 if there was no bootstrap yet.
    public func cursor() async throws -> Int64 {
        try await queue.store.setting(Self.prefix + cursorName).flatMap(Int64.init) ?? 0
    }

    /// Has the next pass fetch everything: after a sign-out, say. A pass under way doesn't undo it.
    public func reset() async throws {
        resets.withLock { $0 += 1 }
        try await store(0)
    }

    private var resetCount: Int { resets.withLock { $0 } }

    private func store(_ cursor: Int64) async throws {
        try await queue.uncancelled { [queue, cursorName] in
            try await queue.store.set(Self.prefix + cursorName, to: cursor == 0 ? nil : "\(cursor)")
        }
    }
}
