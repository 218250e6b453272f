import Synchronization

/// A deadline that travels with the task.
///
/// Set it where work arrives. It applies to every pipeline call that the work makes, also in child tasks.
///
/// ```swift
/// try await CallDeadline(after: .seconds(2)).run {
///     let page = try await catalog.run { try await client.page() }
///     let price = try await prices.run { try await client.price() }
///     return render(page, price)
/// }
/// ```
///
/// It acts on each call like ``RunOptions/deadline``; the earlier of the two counts. A ``Timeout`` around a call makes
/// it earlier for the pipelines inside the operation. `run` itself cancels nothing: the pipelines cancel their calls.
///
/// The deadline does not reach the operation of a `SingleFlight`, or the load of a `CallCache`, because they serve
/// several calls.
///
/// Until a deadline first travels in the process, each call pays only one load of a flag.
public struct CallDeadline: Sendable {
    /// The instant at which the work must have ended, on ``timeBase``.
    public let instant: MonotonicInstant
    /// The time base of the instant.
    public let timeBase: any TimeBase

    /// Creates a deadline at an instant.
    ///
    /// - Parameters:
    ///   - instant: The instant at which the work must have ended.
    ///   - timeBase: The time base of the instant.
    public init(at instant: MonotonicInstant, on timeBase: any TimeBase = .system) {
        self.instant = instant
        self.timeBase = timeBase
    }

    /// Creates a deadline that comes after a time.
    ///
    /// - Parameters:
    ///   - duration: How long from now; 0 or less for a deadline that has passed. Beyond 292 years, the deadline never
    ///     comes.
    ///   - timeBase: The time base that the time is measured on.
    public init(after duration: Duration, on timeBase: any TimeBase = .system) {
        self.init(at: timeBase.now + duration, on: timeBase)
    }

    /// The time until the deadline: zero if it has passed, 292 years if it never comes.
    public var remaining: Duration {
        instant == .distantFuture ? .infinite : max(.zero, timeBase.now.duration(to: instant))
    }

    /// The deadline that travels with this task; nil if there is none.
    public static var current: CallDeadline? { isInUse ? travelling : nil }

    /// Runs work whose calls must have ended by the deadline, or by an earlier deadline that already travels.
    ///
    /// - Parameter body: The work. It runs in the caller's isolation.
    /// - Returns: The work's result.
    /// - Throws: The work's error. A call of a pipeline throws ``DeadlinePassed`` if the deadline passes before the
    ///   call can begin, and ``TimedOut`` if the deadline comes while the call runs.
    @inline(never)  // Inlined, it would enlarge the frame of every call through a timeout.
    public nonisolated(nonsending) func run<R>(_ body: nonisolated(nonsending) () async throws -> R) async rethrows -> R
    {
        if let outer = Self.current, outer.instant(on: timeBase) <= instant { return try await body() }
        Self.isInUse = true
        return try await Self.$travelling.withValue(self) { try await body() }
    }

    /// The same instant on another time base. Two time bases are compared by remaining time, not by their readings.
    func instant(on other: any TimeBase) -> MonotonicInstant {
        timeBase === other || instant == .distantFuture ? instant : other.now + timeBase.now.duration(to: instant)
    }

    /// Runs the inside of a policy that ends its inside at `deadline`. If no deadline travels, this sets none: with a
    /// deadline, each pipeline inside would need a child task of its own.
    @inline(__always) nonisolated(nonsending) static func narrowing<R>(
        to deadline: MonotonicInstant, on timeBase: any TimeBase,
        _ inside: nonisolated(nonsending) () async throws -> R
    ) async rethrows -> R {
        guard isInUse, travelling != nil else { return try await inside() }
        return try await CallDeadline(at: deadline, on: timeBase).run(inside)
    }

    /// Returns the earlier of a deadline and the deadline that travels with the task.
    @usableFromInline
    package static func earlier(_ deadline: MonotonicInstant, on timeBase: any TimeBase) -> MonotonicInstant {
        guard isInUse, let travelling else { return deadline }
        return min(deadline, travelling.instant(on: timeBase))
    }

    /// Runs work without the deadline that travels with the task.
    package nonisolated(nonsending) static func lifting<R>(
        _ body: nonisolated(nonsending) () async throws -> R
    ) async rethrows -> R {
        guard isInUse, travelling != nil else { return try await body() }
        return try await $travelling.withValue(nil) { try await body() }
    }

    @TaskLocal private static var travelling: CallDeadline?

    private static let wasEverSet = Atomic(false)

    /// Whether a deadline has ever travelled in this process. Reading a task-local value costs more than this.
    @usableFromInline static var isInUse: Bool {
        get { wasEverSet.load(ordering: .relaxed) }
        set { wasEverSet.store(newValue, ordering: .relaxed) }
    }
}
