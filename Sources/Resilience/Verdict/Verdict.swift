/// The meaning of an attempt's end, the same for all policies.
///
/// The pipeline's ``Classifier`` decides it for an error, the caller's `judge` for a result. A retry repeats transient
/// and throttled attempts; a breaker counts transient and uncertain ones; a throttle can hold all calls after a 429.
///
/// ```swift
/// let status = try await pipeline.run(
///     judging: { $0 < 500 ? .success : .transient }
/// ) {
///     try await client.status()
/// }
/// ```
///
/// A verdict has two parts. Its ``kind-swift.property`` is what happened, and ``shouldRetry`` is whether the other side
/// asks to repeat the attempt, or not to repeat it.
///
/// An error of your own can state its verdict: conform its type to ``VerdictConvertible``.
@frozen public struct Verdict: Sendable, Hashable, CustomStringConvertible {
    /// The kinds of ends that an attempt can have.
    @frozen public enum Kind: UInt8, Sendable, Hashable, CaseIterable, CustomStringConvertible {
        /// The attempt succeeded.
        case success
        /// The attempt failed in a way that may pass, and had no effect, such as a connection that could not be made,
        /// or status 503.
        case transient
        /// The other side asked for fewer calls.
        case throttled
        /// The attempt failed in a way that will not pass by itself: the other side answered, and the answer is no.
        case permanent
        /// A policy rejected the attempt, which never reached the other side.
        case rejected
        /// The caller no longer wants the result.
        ///
        /// Neither a success nor a failure.
        case cancelled
        /// The attempt failed in a way that may pass, and may still have had its effect: a repetition could have that
        /// effect twice.
        ///
        /// A breaker counts it as a failure, like ``transient``. It is repeated only if the call may be repeated: see
        /// ``RunOptions/isIdempotent``. An unknown error is uncertain.
        case uncertain

        public var description: String {
            switch self {
            case .success: "success"
            case .transient: "transient"
            case .throttled: "throttled"
            case .permanent: "permanent"
            case .rejected: "rejected"
            case .cancelled: "cancelled"
            case .uncertain: "uncertain"
            }
        }
    }

    /// What happened.
    ///
    /// Compare this, not verdicts: two verdicts of one kind differ if they name different waits.
    public let kind: Kind
    /// Whether the other side asks for the attempt to be repeated: a ``Retry`` obeys, whatever the kind, unless one of
    /// its rules, its limits or ``RunOptions/isIdempotent`` decides otherwise.
    ///
    /// Usually nil: then the kind decides.
    ///
    /// It says nothing about the other side's health, so breakers and throttles ignore it. Nothing is repeated after a
    /// success, a rejection or a cancellation.
    public let shouldRetry: Bool?
    /// In nanoseconds. `.min` if none was named.
    @usableFromInline let wait: Int64

    /// Creates a verdict.
    ///
    /// - Parameters:
    ///   - kind: What happened.
    ///   - retryAfter: The wait that the other side named; nil, the default, if it named none. It is kept in whole
    ///     nanoseconds, rounded up, and at most 292 years.
    ///   - shouldRetry: Whether the other side asks for the attempt to be repeated. nil, the default, if it does not
    ///     say.
    public init(_ kind: Kind, retryAfter: Duration? = nil, shouldRetry: Bool? = nil) {
        self.kind = kind
        self.shouldRetry = shouldRetry
        wait = retryAfter.map { max($0.saturatedNanoseconds, .min + 1) } ?? .min
    }

    @inlinable init(plain kind: Kind) {
        self.kind = kind
        shouldRetry = nil
        wait = .min
    }

    /// The attempt succeeded.
    @inlinable public static var success: Verdict { Verdict(plain: .success) }
    /// The attempt failed in a way that may pass, and had no effect: ``Kind/transient``.
    @inlinable public static var transient: Verdict { Verdict(plain: .transient) }
    /// The other side asked for fewer calls, and named no wait.
    @inlinable public static var throttled: Verdict { Verdict(plain: .throttled) }
    /// The attempt failed, and may still have had its effect: ``Kind/uncertain``.
    @inlinable public static var uncertain: Verdict { Verdict(plain: .uncertain) }
    /// The attempt failed in a way that will not pass by itself: ``Kind/permanent``.
    @inlinable public static var permanent: Verdict { Verdict(plain: .permanent) }
    /// A policy rejected the attempt.
    @inlinable public static var rejected: Verdict { Verdict(plain: .rejected) }
    /// The caller no longer wants the result.
    @inlinable public static var cancelled: Verdict { Verdict(plain: .cancelled) }

    /// The attempt failed in a way that may pass, and the other side named a wait, as a 500 with `Retry-After` does.
    ///
    /// - Parameter retryAfter: The wait; nil if it named none.
    public static func transient(retryAfter: Duration?) -> Verdict { Verdict(.transient, retryAfter: retryAfter) }

    /// The other side asked for fewer calls.
    ///
    /// - Parameter retryAfter: The wait that it named; nil if it named none.
    public static func throttled(retryAfter: Duration?) -> Verdict { Verdict(.throttled, retryAfter: retryAfter) }

    /// The wait that the other side named; nil if it named none.
    ///
    /// A retry never begins an attempt before that wait is over.
    public var retryAfter: Duration? { wait == .min ? nil : .nanoseconds(wait) }

    /// ``retryAfter`` if it is above zero; otherwise nil.
    package var namedWait: Duration? { wait > 0 ? .nanoseconds(wait) : nil }

    /// Whether the verdict says nothing about the other side's health: the call did not reach it, or was cancelled.
    @inlinable package var saysNothing: Bool { kind == .cancelled || kind == .rejected }

    /// The kind, then in parentheses the wait and the other side's request, if any: `throttled (retry in 30 s)`.
    public var description: String {
        switch (retryAfter, shouldRetry) {
        case (nil, nil): "\(kind)"
        case (let wait?, nil), (let wait?, true): "\(kind) (retry in \(wait.text))"
        case (nil, true): "\(kind) (retry)"
        case (nil, false): "\(kind) (do not retry)"
        case (let wait?, false): "\(kind) (wait \(wait.text), do not retry)"
        }
    }
}

extension Verdict {
    /// The same verdict, for an attempt that can't be repeated.
    package var withoutRetry: Verdict {
        kind == .success ? self : Verdict(kind, retryAfter: retryAfter, shouldRetry: false)
    }
}

/// A set of kinds of ``Verdict``, such as those that a policy acts on.
///
/// A kind has no details: ``throttled`` contains every throttled verdict, whatever wait it names.
///
/// ```swift
/// let retry = Retry(on: [.transient, .throttled, .uncertain])
/// ```
///
/// In JSON, a set is a list of names: `["transient", "throttled"]`.
public struct VerdictSet: OptionSet, Sendable, Hashable, CustomStringConvertible {
    /// The set as bits, one for each kind.
    public let rawValue: UInt8

    /// Creates a set from its bits.
    /// - Parameter rawValue: A bit for each kind.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The kind ``Verdict/Kind/success``.
    public static let success = VerdictSet(rawValue: 1 << 0)
    /// The kind ``Verdict/Kind/transient``.
    public static let transient = VerdictSet(rawValue: 1 << 1)
    /// The kind ``Verdict/Kind/throttled``, whether or not a wait was named.
    public static let throttled = VerdictSet(rawValue: 1 << 2)
    /// The kind ``Verdict/Kind/permanent``.
    public static let permanent = VerdictSet(rawValue: 1 << 3)
    /// The kind ``Verdict/Kind/rejected``.
    public static let rejected = VerdictSet(rawValue: 1 << 4)
    /// The kind ``Verdict/Kind/cancelled``.
    public static let cancelled = VerdictSet(rawValue: 1 << 5)
    /// The kind ``Verdict/Kind/uncertain``.
    public static let uncertain = VerdictSet(rawValue: 1 << 6)

    /// Returns whether the set contains the kind of a verdict.
    ///
    /// - Parameter verdict: The verdict.
    @inlinable public func contains(_ verdict: Verdict) -> Bool { rawValue & 1 << verdict.kind.rawValue != 0 }

    static let names: [(set: VerdictSet, name: String)] = [
        (.success, "success"), (.transient, "transient"), (.uncertain, "uncertain"), (.throttled, "throttled"),
        (.permanent, "permanent"), (.rejected, "rejected"), (.cancelled, "cancelled"),
    ]

    var ownNames: [String] { Self.names.filter { isSuperset(of: $0.set) }.map(\.name) }

    public var description: String { ownNames.joined(separator: "+") }
}
