/// A value of a ``PolicyRegistry``: a policy with a state, or a pipeline.
public protocol RegistryEntry: Sendable {
    /// Returns whether nobody but the registry holds the entry.
    ///
    /// For a class, the default is `isKnownUniquelyReferenced(&entry)`; a struct answers it for the object that it
    /// holds.
    ///
    /// Runs under the registry's lock: only ask for the reference count, and do not use the registry.
    /// - Parameter entry: The entry.
    static func isUniquelyHeld(_ entry: inout Self) -> Bool

    /// Whether evicting the entry would lose nothing.
    ///
    /// Before an eviction, the registry asks only an entry that nobody else holds.
    var isAtRest: Bool { get }

    /// Returns whether the entry may be evicted although it is not at rest, because it was unused for this long and its
    /// counts no longer matter.
    ///
    /// False by default.
    ///
    /// A breaker answers true if it is not open, its mode was not set by hand, and its last change of state was at
    /// least this long ago.
    /// - Parameter time: The entry was unused for at least this time: the registry's `evictingAfter`.
    func canBeEvicted(unusedFor time: Duration) -> Bool

    /// Resets the entry to its original state.
    func reset()

    /// Returns whether ``reconfigured(like:)`` would succeed.
    ///
    /// All policies of a pipeline are asked before any of them changes: if one can't change, none does.
    ///
    /// Decide by the settings alone: they do not change between the two calls.
    /// - Parameter other: The entry with the new settings.
    func canBeReconfigured(like other: Self) -> Bool

    /// Returns this entry with the settings of another one; its state stays.
    ///
    /// If the other entry is this entry itself, nothing changes.
    ///
    /// - Parameter other: The entry with the new settings.
    /// - Returns: nil if the entry can't continue with these settings; nothing has changed then.
    func reconfigured(like other: Self) -> Self?
}

extension RegistryEntry {
    public func canBeEvicted(unusedFor time: Duration) -> Bool { false }
}

extension RegistryEntry where Self: AnyObject {
    public static func isUniquelyHeld(_ entry: inout Self) -> Bool { isKnownUniquelyReferenced(&entry) }
}
