public import Resilience

/// The calls that a ``Chaos`` policy may touch.
///
/// A call must meet all given conditions.
///
/// ```swift
/// let scope = ChaosScope(tags: ["game-day"], maxPriority: .normal)
/// try await Chaos.tagged("game-day") { try await search("swift") }
/// ```
public struct ChaosScope: Sendable {
    /// The tags that select calls: a touched call has at least one of them; empty for all calls.
    ///
    /// See ``Chaos/tagged(_:_:)``.
    public let tags: Set<String>
    /// The highest priority of a touched call; nil for any.
    public let maxPriority: CallPriority?
    private let matches: (@Sendable (borrowing PolicyCall) -> Bool)?

    /// Creates a scope.
    ///
    /// By default it contains all calls.
    ///
    /// - Parameters:
    ///   - tags: The tags that select calls: a touched call has at least one of them; empty, the default, for all
    ///     calls.
    ///   - maxPriority: The highest priority of a touched call, its own or its ``/Resilience/CallOrigin``'s; nil, the
    ///     default, for any.
    ///   - matches: Returns whether a call may be touched, by its pipeline, attempt or options; nil, the default, for
    ///     all. It is called once for each attempt while the policy is on, outside of every lock.
    public init(
        tags: Set<String> = [], maxPriority: CallPriority? = nil,
        where matches: (@Sendable (borrowing PolicyCall) -> Bool)? = nil
    ) {
        self.tags = tags
        self.maxPriority = maxPriority
        self.matches = matches
    }

    /// The scope that contains all calls.
    public static var all: ChaosScope { ChaosScope() }

    func contains(_ call: borrowing PolicyCall) -> Bool {
        if let maxPriority, call.priority > maxPriority { return false }
        if !tags.isEmpty {
            guard let tag = Chaos.currentTag, tags.contains(tag) else { return false }
        }
        return matches?(call) ?? true
    }
}
