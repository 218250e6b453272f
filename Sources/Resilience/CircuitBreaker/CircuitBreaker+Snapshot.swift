/// The state of a breaker that must survive a restart.
public struct CircuitSnapshot: Sendable, Hashable, Codable {
    /// The memory of the breaker's circuit.
    public let memory: CircuitMemory
    /// The breaker's mode if it was set by hand; ``CircuitBreaker/Mode/automatic`` if the mode comes from its settings.
    public let mode: CircuitBreaker.Mode
    /// When the snapshot was taken, by the wall clock: milliseconds since 1970.
    public let takenAt: Int64

    /// Creates a snapshot from your own storage format.
    ///
    /// - Parameters:
    ///   - memory: The memory of the circuit.
    ///   - mode: The breaker's mode.
    ///   - takenAt: When the snapshot was taken, by the wall clock: milliseconds since 1970.
    public init(memory: CircuitMemory, mode: CircuitBreaker.Mode = .automatic, takenAt: Int64) {
        self.memory = memory
        self.mode = mode
        self.takenAt = takenAt
    }
}

/// A snapshot does not fit the breaker that it should restore.
public struct UnusableSnapshot: Error, Hashable, CustomStringConvertible {
    /// The breaker's name.
    public let policy: String

    /// Creates the error.
    ///
    /// - Parameter policy: The breaker's name.
    public init(policy: String) { self.policy = policy }

    public var description: String { "The snapshot does not fit the breaker \"\(policy)\"; nothing was restored." }
}

extension CircuitBreaker {
    /// Returns the state that must survive a restart.
    ///
    /// - Parameter wallClock: The wall clock's time: milliseconds since 1970. Now by default.
    /// - Returns: The snapshot; nil if the circuit is of a kind that can't be stored.
    public func snapshot(wallClock: Int64? = nil) -> CircuitSnapshot? {
        let now = ownCore.timeBase.now
        return change(at: now) { state in
            state.circuit.memory(at: now).map {
                CircuitSnapshot(
                    memory: $0, mode: state.circuit.modeByHand ?? .automatic,
                    takenAt: wallClock ?? WallClock.milliseconds)
            }
        }
    }

    /// Continues from a snapshot.
    ///
    /// Calls in flight no longer count.
    ///
    /// An open circuit stays open for the rest of its break, a half-open circuit is due for a probe, and the counts and
    /// the mode are the snapshot's. The time since the snapshot is measured by the wall clock; if that clock was set
    /// back, the time counts as zero. A break is cut to the circuit's longest automatic break, if known.
    /// - Parameters:
    ///   - snapshot: A snapshot of this breaker, or of another breaker with a rule of the same kind.
    ///   - wallClock: The wall clock's time: milliseconds since 1970. Now by default.
    /// - Throws: ``UnusableSnapshot``, with nothing changed, if the snapshot makes no sense or is of a breaker with
    ///   other rules.
    public func restore(_ snapshot: CircuitSnapshot, wallClock: Int64? = nil) throws {
        let now = ownCore.timeBase.now
        let wallClock = wallClock ?? WallClock.milliseconds
        let age = Duration.milliseconds(max(0, wallClock.saturatingSubtracting(snapshot.takenAt)))
        let isDone = change(at: now) { state in
            state.extras?.rejection = nil
            return state.circuit.restore(snapshot.memory, snapshot.mode, age: age, at: now)
        }
        guard isDone else { throw UnusableSnapshot(policy: name) }
    }
}
