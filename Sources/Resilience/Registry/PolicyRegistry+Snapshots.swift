extension PolicyRegistry where Value == CircuitBreaker {
    /// What each key's breaker should still know after a restart. Keys whose breaker is at rest are left out, and so are those
    /// whose circuit can't be stored.
    ///
    /// ```swift
    /// try JSONEncoder().encode(breakers.snapshots()).write(to: file)
    /// let stored = try JSONDecoder().decode([String: CircuitSnapshot].self, from: Data(contentsOf: file))
    /// let refused = breakers.restore(stored)
    /// ```
    /// - Parameter wallClock: milliseconds since 1970.
    public func snapshots(wallClock: Int64 = WallClock.milliseconds) -> [Key: CircuitSnapshot] {
        values.compactMapValues { $0.isAtRest ? nil : $0.snapshot(wallClock: wallClock) }
    }

    /// Each key's breaker goes on from its snapshot, see ``CircuitBreaker/restore(_:wallClock:)``. It is made if there is none.
    /// - Parameter wallClock: milliseconds since 1970.
    /// - Returns: the keys whose snapshot makes no sense for their breaker, which is left as it is. The others are restored.
    @discardableResult
    public func restore(
        _ snapshots: [Key: CircuitSnapshot], wallClock: Int64 = WallClock.milliseconds
    ) -> [Key] {
        snapshots.filter { key, snapshot in
            (try? self[key].restore(snapshot, wallClock: wallClock)) == nil
        }.map(\.key)
    }
}

extension PolicyRegistry where Value == Pipeline {
    /// What the breakers of each key's pipeline should still know after a restart: one for each, outermost first, nil if its
    /// circuit can't be stored. Keys whose breakers are all at rest are left out.
    /// - Parameter wallClock: milliseconds since 1970.
    public func snapshots(wallClock: Int64 = WallClock.milliseconds) -> [Key: [CircuitSnapshot?]] {
        values.compactMapValues { pipeline in
            let breakers = pipeline.circuitBreakers
            return breakers.allSatisfy(\.isAtRest) ? nil : breakers.map { $0.snapshot(wallClock: wallClock) }
        }
    }

    /// The breakers of each key's pipeline go on from their snapshots, see ``CircuitBreaker/restore(_:wallClock:)``. A pipeline
    /// is made if there is none.
    /// - Parameter wallClock: milliseconds since 1970.
    /// - Returns: the keys that were not restored, or not wholly: the pipeline has another number of breakers, or a snapshot
    ///   makes no sense for its breaker. Whatever does is restored.
    @discardableResult
    public func restore(
        _ snapshots: [Key: [CircuitSnapshot?]], wallClock: Int64 = WallClock.milliseconds
    ) -> [Key] {
        snapshots.filter { key, snapshots in
            let pipeline = self[key]
            let breakers = pipeline.circuitBreakers
            guard breakers.count == snapshots.count else { return true }
            return zip(breakers, snapshots).count { breaker, snapshot in
                snapshot.map { (try? breaker.restore($0, wallClock: wallClock)) == nil } ?? false
            } > 0
        }.map(\.key)
    }
}
