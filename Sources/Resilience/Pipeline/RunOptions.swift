/// What a caller says of one call, for whichever policies mind it.
///
/// ```swift
/// try await pipeline.run(options: RunOptions(cost: 5, priority: .low)) { try await client.export() }
/// ```
@frozen public struct RunOptions: Sendable, Hashable {
    /// When the call must have ended, on the pipeline's time base: waits, attempts and all. No policy waits longer, no
    /// attempt begins then or later, and what runs then is cancelled, as by a ``Timeout`` around the whole pipeline; the call
    /// throws ``TimedOut``, or ``DeadlinePassed`` if its operation has not begun. As with a timeout, an operation that ignores
    /// cancellation is waited for.
    ///
    /// A call with a deadline costs a child task, as a timeout does.
    public var deadline: MonotonicInstant

    /// The number of the first attempt, from 1: above 1 for work that was begun before, in another call or before a
    /// restart. Attempts before it count for a ``Retry``'s limits.
    public var firstAttempt: Int {
        didSet { if firstAttempt < 1 { firstAttempt = Self.refused(firstAttempt, "firstAttempt", atLeast: 1) } }
    }

    /// What the call takes of a ``Throttle``'s rate, in calls: 0 or more. 1 by default.
    public var cost: Int {
        didSet { if cost < 0 { cost = Self.refused(cost, "cost", atLeast: 0) } }
    }

    /// Its place in the queue of a ``Bulkhead`` that goes by priority.
    public var priority: CallPriority

    /// Whether doing it twice does no harm; nil if the verdict alone is to tell. See ``Retry``.
    public var isIdempotent: Bool?

    @inlinable public init(
        deadline: MonotonicInstant = .distantFuture, firstAttempt: Int = 1, cost: Int = 1,
        priority: CallPriority = .normal,
        isIdempotent: Bool? = nil
    ) {
        self.deadline = deadline
        self.firstAttempt = firstAttempt >= 1 ? firstAttempt : Self.refused(firstAttempt, "firstAttempt", atLeast: 1)
        self.cost = cost >= 0 ? cost : Self.refused(cost, "cost", atLeast: 0)
        self.priority = priority
        self.isIdempotent = isIdempotent
    }
}

extension RunOptions {
    @usableFromInline static func refused(_ value: Int, _ parameter: String, atLeast least: Int) -> Int {
        SettingChecks("RunOptions").atLeast(least, value, parameter)
    }
}

/// How much a call matters beside others that wait with it.
@frozen public struct CallPriority: Sendable, Hashable, Comparable, RawRepresentable {
    public let rawValue: Int8

    @inlinable public init(rawValue: Int8) { self.rawValue = rawValue }

    /// Work that nobody waits for.
    public static let low = CallPriority(rawValue: -64)
    @inlinable public static var normal: CallPriority { CallPriority(rawValue: 0) }
    /// Work that somebody waits for.
    public static let high = CallPriority(rawValue: 64)

    public static func < (lhs: CallPriority, rhs: CallPriority) -> Bool { lhs.rawValue < rhs.rawValue }
}
