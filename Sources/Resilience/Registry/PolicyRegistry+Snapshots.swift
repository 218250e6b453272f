extension PolicyRegistry where Value == CircuitBreaker {
    /// Returns a snapshot of each key's breaker.
    ///
    /// It omits breakers that are at rest, or whose circuit can't be stored.
    ///
    /// ```swift
    /// try JSONEncoder().encode(breakers.snapshots()).write(to: file)
    /// let stored = try JSONDecoder().decode(
    ///     [String: CircuitSnapshot].self, from: Data(contentsOf: file))
    /// let rejected = breakers.restore(stored)
    /// ```
    /// - Parameter wallClock: The time of the snapshots, in milliseconds since 1970. Now by default.
    public func snapshots(wallClock: Int64? = nil) -> [Key: CircuitSnapshot] {
        let wallClock = wallClock ?? WallClock.milliseconds
        return values.compactMapValues { $0.isAtRest ? nil : $0.snapshot(wallClock: wallClock) }
    }

    /// Restores each key's breaker from its snapshot, as ``CircuitBreaker/restore(_:wallClock:)`` does.
    ///
    /// A key without a breaker gets one.
    ///
    /// - Parameters:
    ///   - snapshots: The snapshot of each key.
    ///   - wallClock: The present time, in milliseconds since 1970. Now by default.
    /// - Returns: The keys whose snapshot does not fit their breaker, which stays as it is. All others are restored.
    @discardableResult
    public func restore(
        _ snapshots: [Key: CircuitSnapshot], wallClock: Int64? = nil
    ) -> [Key] {
        let wallClock = wallClock ?? WallClock.milliseconds
        return snapshots.filter { key, snapshot in
            (try? self[key].restore(snapshot, wallClock: wallClock)) == nil
        }.map(\.key)
    }
}

extension PolicyRegistry where Value: CircuitBreakerOwner {
    /// Returns the snapshots of each key's breakers, outermost first; nil for a breaker whose circuit can't be stored.
    ///
    /// It omits keys whose breakers are all at rest.
    ///
    /// - Parameter wallClock: The time of the snapshots, in milliseconds since 1970. Now by default.
    public func snapshots(wallClock: Int64? = nil) -> [Key: [CircuitSnapshot?]] {
        let wallClock = wallClock ?? WallClock.milliseconds
        return values.compactMapValues { value in
            let breakers = value.circuitBreakers
            return breakers.allSatisfy(\.isAtRest) ? nil : breakers.map { $0.snapshot(wallClock: wallClock) }
        }
    }

    /// Restores the breakers of each key from their snapshots, as ``CircuitBreaker/restore(_:wallClock:)`` does.
    ///
    /// A key without a value gets one.
    ///
    /// - Parameters:
    ///   - snapshots: The snapshots of each key: one for each breaker, outermost first. A breaker whose snapshot is nil
    ///     stays as it is.
    ///   - wallClock: The present time, in milliseconds since 1970. Now by default.
    /// - Returns: The keys that were not restored, or not completely. If a key has more or fewer snapshots than
    ///   breakers, none of these is restored. If a snapshot does not fit its breaker, the key's other breakers are
    ///   restored.
    @discardableResult
    public func restore(
        _ snapshots: [Key: [CircuitSnapshot?]], wallClock: Int64? = nil
    ) -> [Key] {
        let wallClock = wallClock ?? WallClock.milliseconds
        return snapshots.filter { key, snapshots in
            let breakers = self[key].circuitBreakers
            guard breakers.count == snapshots.count else { return true }
            return zip(breakers, snapshots).count { breaker, snapshot in
                snapshot.map { (try? breaker.restore($0, wallClock: wallClock)) == nil } ?? false
            } > 0
        }.map(\.key)
    }
}
