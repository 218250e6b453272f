/// What the end of an attempt means, to all policies alike.
///
/// The pipeline's ``Classifier`` decides it for an error, the caller's `judge` for a result. A retry repeats what is
/// transient or throttled; a breaker counts what is transient or uncertain; a throttle can hold all calls after a 429.
///
/// ```swift
/// let status = try await pipeline.run(
///     judging: { $0 < 500 ? .success : .transient }
/// ) {
///     try await client.status()
/// }
/// ```
///
/// An error of your own can name its verdict: conform it to ``VerdictConvertible``.
public enum Verdict: Sendable, Hashable, CustomStringConvertible {
    /// The attempt succeeded.
    case success
    /// The attempt failed in a way that may pass, such as a lost connection or status 503.
    case transient
    /// The other side asked for fewer calls. `retryAfter` is the wait that it named; nil if it named none.
    case throttled(retryAfter: Duration?)
    /// The attempt failed in a way that may pass, and may have had its effect all the same: doing it again could do it
    /// twice.
    ///
    /// A breaker counts it as a failure, like ``transient``. A retry does not repeat it unless told to.
    case uncertain
    /// The attempt failed in a way that will not pass by itself: the other side answered, and the answer is no.
    case permanent
    /// A policy rejected the attempt, which never reached the other side.
    case rejected
    /// The caller no longer wants the result. Neither a success nor a failure.
    case cancelled

    /// The other side asked for fewer calls, and named no wait.
    public static var throttled: Verdict { .throttled(retryAfter: nil) }

    public var description: String {
        switch self {
        case .success: "success"
        case .transient: "transient"
        case .throttled(let wait?): "throttled (retry in \(wait.text))"
        case .throttled(nil): "throttled"
        case .uncertain: "uncertain"
        case .permanent: "permanent"
        case .rejected: "rejected"
        case .cancelled: "cancelled"
        }
    }

    /// The wait that the other side named; nil if it named none, or the verdict is not throttled.
    public var retryAfter: Duration? {
        if case .throttled(let retryAfter) = self { retryAfter } else { nil }
    }

    /// ``retryAfter`` if it is above zero; otherwise nil.
    package var namedWait: Duration? { retryAfter.flatMap { $0 > .zero ? $0 : nil } }

    /// Whether the verdict says nothing about the other side's health: the call did not reach it, or was cancelled.
    package var saysNothing: Bool { self == .cancelled || self == .rejected }
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

    /// The kind ``Verdict/success``.
    public static let success = VerdictSet(rawValue: 1 << 0)
    /// The kind ``Verdict/transient``.
    public static let transient = VerdictSet(rawValue: 1 << 1)
    /// The kind ``Verdict/throttled(retryAfter:)``, whether or not a wait was named.
    public static let throttled = VerdictSet(rawValue: 1 << 2)
    /// The kind ``Verdict/permanent``.
    public static let permanent = VerdictSet(rawValue: 1 << 3)
    /// The kind ``Verdict/rejected``.
    public static let rejected = VerdictSet(rawValue: 1 << 4)
    /// The kind ``Verdict/cancelled``.
    public static let cancelled = VerdictSet(rawValue: 1 << 5)
    /// The kind ``Verdict/uncertain``.
    public static let uncertain = VerdictSet(rawValue: 1 << 6)

    /// Returns whether the set contains the kind of a verdict.
    /// - Parameter verdict: The verdict.
    public func contains(_ verdict: Verdict) -> Bool {
        let kind: VerdictSet =
            switch verdict {
            case .success: .success
            case .transient: .transient
            case .throttled: .throttled
            case .permanent: .permanent
            case .rejected: .rejected
            case .cancelled: .cancelled
            case .uncertain: .uncertain
            }
        return isSuperset(of: kind)
    }

    private static let names: [(set: VerdictSet, name: String)] = [
        (.success, "success"), (.transient, "transient"), (.uncertain, "uncertain"), (.throttled, "throttled"),
        (.permanent, "permanent"), (.rejected, "rejected"), (.cancelled, "cancelled"),
    ]

    private var names: [String] { Self.names.filter { isSuperset(of: $0.set) }.map(\.name) }

    public var description: String { names.joined(separator: "+") }
}

/// A list of names: `["transient", "throttled"]`.
extension VerdictSet: Codable {
    public init(from decoder: any Decoder) throws {
        self = []
        var problems: [InvalidSetting] = []
        guard let names = try? decoder.singleValueContainer().decode([String].self) else {
            throw InvalidSettings("VerdictSet", at: decoder.codingPath, "something else", "must be a list of names")
        }
        for name in names {
            if let known = Self.names.first(where: { $0.name == name }) {
                formUnion(known.set)
            } else {
                problems +=
                    InvalidSettings(
                        "VerdictSet", at: decoder.codingPath, name.debugDescription,
                        "must be one of \(Self.names.map(\.name).joined(separator: ", "))"
                    ).problems
            }
        }
        if !problems.isEmpty { throw InvalidSettings(problems: problems) }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(names)
    }
}
