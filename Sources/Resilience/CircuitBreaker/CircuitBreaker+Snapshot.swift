/// A breaker as it is to be found after a restart.
public struct CircuitSnapshot: Sendable, Hashable, Codable {
    public var memory: CircuitMemory
    public var mode: CircuitBreaker.Mode
    /// When it was taken: milliseconds since 1970, by the wall clock.
    public var takenAt: Int64

    public init(memory: CircuitMemory, mode: CircuitBreaker.Mode = .automatic, takenAt: Int64) {
        self.memory = memory
        self.mode = mode
        self.takenAt = takenAt
    }
}

/// A snapshot makes no sense for the breaker that it was to be restored to.
public struct UnusableSnapshot: Error, Hashable, CustomStringConvertible {
    /// The breaker's name.
    public let breaker: String

    public var description: String { "The snapshot does not fit the breaker \"\(breaker)\"; nothing was restored." }
}

extension CircuitBreaker {
    /// What it should still know after a restart; nil if its circuit is of a kind that can't be stored.
    /// - Parameter wallClock: milliseconds since 1970.
    public func snapshot(wallClock: Int64 = WallClock.milliseconds) -> CircuitSnapshot? {
        let now = ownCore.timeBase.now
        return change(at: now) { state in
            state.circuit.memory(at: now).map {
                CircuitSnapshot(memory: $0, mode: state.circuit.mode, takenAt: wallClock)
            }
        }
    }

    /// Goes on from a snapshot: an open circuit stays open for what remains, a half-open one is due to be tested, what was
    /// counted counts. Calls under way no longer count.
    ///
    /// The time in between is taken from the wall clock. One that was set back makes the break no longer than it was. A break
    /// longer than any that this circuit takes by itself is cut to the longest of those.
    /// - Parameter wallClock: milliseconds since 1970.
    /// - Throws: ``UnusableSnapshot`` if it makes no sense, or is of a breaker with other rules; nothing has changed then.
    public func restore(_ snapshot: CircuitSnapshot, wallClock: Int64 = WallClock.milliseconds) throws {
        let now = ownCore.timeBase.now
        let age = Duration.milliseconds(max(0, wallClock.saturatingSubtracting(snapshot.takenAt)))
        let isDone = change(at: now) { state in
            state.refusal = nil
            return state.circuit.restore(snapshot.memory, snapshot.mode, age: age, at: now)
        }
        guard isDone else { throw UnusableSnapshot(breaker: name) }
    }
}
