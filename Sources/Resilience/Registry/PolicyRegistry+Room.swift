extension PolicyRegistry {
    /// The value for a key, made now if there is none and the registry has room for it. Counts as a use of the key.
    ///
    /// Evicts idle keys as the subscript does, but never exceeds the capacity by more than the number of tasks that
    /// make a key at the same time: for keys that others choose, such as a server's clients.
    /// - Parameter key: The key.
    /// - Returns: nil if there is no value, and none of the keys that were examined is idle.
    package func valueIfRoom(for key: Key) -> Value? {
        if let value = existing(key) { return value }
        makeRoom(at: timeBase.now)
        return count < capacity ? make(key) : nil
    }
}
