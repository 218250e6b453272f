/// The options of one call.
///
/// ```swift
/// let options = RunOptions(cost: 5, priority: .low)
/// try await pipeline.run(options: options) { try await client.export() }
/// ```
@frozen public struct RunOptions: Sendable, Hashable {
    /// The instant on the pipeline's time base at which the call must have ended, with all its waits and attempts.
    ///
    /// None by default.
    ///
    /// No policy waits past the deadline, and no attempt begins at the deadline or later. An attempt that still runs is
    /// cancelled, as if a ``Timeout`` were around the whole pipeline; the call waits for the attempt's end, even if the
    /// attempt ignores the cancellation. The call throws ``TimedOut``, or ``DeadlinePassed`` if its operation has not
    /// begun.
    ///
    /// A call with a deadline costs a child task, as a timeout does. If the pipeline has a ``ClientTimeout`` and no
    /// around policy, the call costs no child task, and nothing is cancelled: the operation must end itself at its
    /// deadline.
    public var deadline: MonotonicInstant

    /// The number of the first attempt, 1 or more. 1 by default.
    ///
    /// Above 1 for work that has had attempts before, in another call or before a restart: those attempts count towards
    /// a ``Retry``'s limits.
    public var firstAttempt: Int {
        didSet { if firstAttempt < 1 { firstAttempt = Self.rejected(firstAttempt, "firstAttempt", atLeast: 1) } }
    }

    /// The call's cost against a ``Throttle``'s rate, in calls, 0 or more. 1 by default.
    public var cost: Int {
        didSet { if cost < 0 { cost = Self.rejected(cost, "cost", atLeast: 0) } }
    }

    /// The call's share of the turns in a ``Bulkhead`` that is ordered by priority.
    ///
    /// nil, the default, for the priority of the request (``CallOrigin``), or ``CallPriority/normal`` without one.
    public var priority: CallPriority?

    /// Whether repeating the call does no harm: for retries, hedges and other policies that repeat calls.
    ///
    /// | | is repeated |
    /// |---|---|
    /// | true | failures that may pass, even if the attempt may have had its effect; a `Hedge` makes copies |
    /// | nil, the default, and nil for the ``Pipeline`` | only failures that had no effect: transient, throttled |
    /// | false | nothing once an attempt has run, even if a rule says so |
    public var isIdempotent: Bool? {
        get { repetition.isIdempotent }
        set { repetition = Repetition(newValue) }
    }

    /// Whether repeating the call does harm.
    @usableFromInline package var repetition: Repetition

    /// Creates options.
    ///
    /// A value that is out of range traps, or is reported by
    /// [PolicySettings.checked(_:)](<doc:PolicySettings/checked(_:)>).
    ///
    /// - Parameters:
    ///   - deadline: The instant at which the call must have ended. None by default.
    ///   - firstAttempt: The number of the first attempt, 1 or more.
    ///   - cost: The call's cost against a throttle's rate, in calls, 0 or more.
    ///   - priority: The call's share of the turns in a bulkhead that is ordered by priority; nil for the priority of
    ///     the request, or normal without one.
    ///   - isIdempotent: Whether repeating the call does no harm; nil, the default, leaves it to the pipeline.
    @inlinable public init(
        deadline: MonotonicInstant = .distantFuture, firstAttempt: Int = 1, cost: Int = 1,
        priority: CallPriority? = nil,
        isIdempotent: Bool? = nil
    ) {
        self.deadline = deadline
        self.firstAttempt = firstAttempt >= 1 ? firstAttempt : Self.rejected(firstAttempt, "firstAttempt", atLeast: 1)
        self.cost = cost >= 0 ? cost : Self.rejected(cost, "cost", atLeast: 0)
        self.priority = priority
        repetition = Repetition(isIdempotent)
    }
}

/// Whether repeating a call does harm.
@usableFromInline package enum Repetition: UInt8, Sendable, Hashable {
    /// Unknown: the call or its pipeline does not declare whether repeating does harm.
    case unsaid
    /// Repeating it does no harm.
    case harmless
    /// The call has effects: it is repeated only after an attempt that is known to have had no effect.
    case effectful
    /// It must never be repeated.
    case never

    @inlinable init(_ isIdempotent: Bool?) {
        self =
            switch isIdempotent {
            case true?: .harmless
            case false?: .never
            case nil: .unsaid
            }
    }

    var isIdempotent: Bool? {
        switch self {
        case .harmless: true
        case .never: false
        case .unsaid, .effectful: nil
        }
    }

    /// The failures after which another attempt may follow.
    /// - Parameters:
    ///   - verdicts: The verdicts of a policy's settings.
    ///   - namesUncertain: Whether the settings' author chose ``VerdictSet/uncertain``.
    package func repeated(_ verdicts: VerdictSet, namesUncertain: Bool) -> VerdictSet {
        switch self {
        case .harmless: verdicts.contains(.transient) ? verdicts.union(.uncertain) : verdicts
        case .unsaid: namesUncertain ? verdicts : verdicts.subtracting(.uncertain)
        case .effectful: verdicts.subtracting(.uncertain)
        case .never: verdicts.intersection(.rejected)
        }
    }
}

extension Pipeline {
    /// Returns options that say whether an adapter's request can be repeated. The caller's own choice takes precedence,
    /// and so does a pipeline whose calls are never repeated.
    /// - Parameter isRepeatable: Whether sending the request twice does no harm.
    package func options(_ options: RunOptions, isRepeatable: Bool) -> RunOptions {
        guard options.repetition == .unsaid, core.repetition != .never else { return options }
        var options = options
        options.repetition = isRepeatable ? .harmless : .effectful
        return options
    }
}

extension RunOptions {
    @usableFromInline static func rejected(_ value: Int, _ parameter: String, atLeast least: Int) -> Int {
        SettingChecks("RunOptions").atLeast(least, value, parameter)
    }
}

/// The importance of a call among those that wait in the same queue.
///
/// A priority higher by 64 gets eight times as many turns. So important calls usually go first, and no call waits for
/// ever: of 73 turns of a queue that is always full, 64 go to ``high``, 8 to ``normal``, and 1 to ``low``.
@frozen public struct CallPriority: Sendable, Hashable, Comparable, RawRepresentable {
    /// The priority as a number, -128 to 127. Low is -64, normal 0, high 64.
    public let rawValue: Int8

    /// Creates a priority.
    /// - Parameter rawValue: The priority as a number, -128 to 127.
    @inlinable public init(rawValue: Int8) { self.rawValue = rawValue }

    /// The priority of work that nobody waits for: -64.
    public static let low = CallPriority(rawValue: -64)
    /// The default priority: 0.
    @inlinable public static var normal: CallPriority { CallPriority(rawValue: 0) }
    /// The priority of work that somebody waits for: 64.
    public static let high = CallPriority(rawValue: 64)

    public static func < (lhs: CallPriority, rhs: CallPriority) -> Bool { lhs.rawValue < rhs.rawValue }

    /// The share of turns: 64 for -128, and 8 times as much for each 64 more, interpolated linearly between powers of
    /// two. 256 000 for 127.
    var weight: Int {
        let (octave, rest) = (3 * (Int(rawValue) + 128)).quotientAndRemainder(dividingBy: 64)
        return (64 + rest) << octave
    }
}

extension CallPriority: SettingConvertible {
    public static var settingType: SettingType { .whole }

    public static func read(_ value: SettingValue, _ check: inout SettingCheck) -> CallPriority? {
        Int.read(value, &check).flatMap { number in
            Int8(exactly: number).map { CallPriority(rawValue: $0) }
                ?? check.mismatch(value, "must lie in -128...127")
        }
    }

    public func written() -> SettingValue? { .whole(Int(rawValue)) }
}
