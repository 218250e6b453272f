/// What a ``PolicyRegistry`` can keep: the package's policies with a state, and pipelines.
public protocol RegistryEntry: Sendable {
    /// Whether nobody but the registry holds it. For a class that is `isKnownUniquelyReferenced(&entry)`, the default; for a
    /// value, the same of what it refers to.
    ///
    /// Runs under the registry's lock, so it must do nothing else, and not use the registry.
    static func isUniquelyHeld(_ entry: inout Self) -> Bool

    /// Whether evicting it would lose nothing. Asked only while nobody else holds it.
    var isAtRest: Bool { get }

    /// Whether it may be evicted although it is not at rest, since nobody has used it for this long: what it has counted says
    /// nothing any more. False by default.
    ///
    /// A breaker may, if it is not open, was not set by hand, and its last change of state is this long ago, too.
    func canBeEvicted(unusedFor time: Duration) -> Bool

    /// Back to how it was made.
    func reset()

    /// Whether ``reconfigured(like:)`` would succeed: asked first of all policies of a pipeline, so that none of them changes
    /// if one can't. Best decided by settings alone, which do not change between the two.
    func canBeReconfigured(like other: Self) -> Bool

    /// The same with the settings of another: its state and its breakers go on. With those of itself nothing changes.
    /// - Returns: nil if it can't; nothing has changed then.
    func reconfigured(like other: Self) -> Self?

    /// The breakers in it: none by default.
    var circuitBreakers: [CircuitBreaker] { get }
}

extension RegistryEntry {
    public func canBeEvicted(unusedFor time: Duration) -> Bool { false }
    public var circuitBreakers: [CircuitBreaker] { [] }
}

extension RegistryEntry where Self: AnyObject {
    public static func isUniquelyHeld(_ entry: inout Self) -> Bool { isKnownUniquelyReferenced(&entry) }
}
