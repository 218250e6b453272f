import Resilience
import Synchronization

/// A flight, as its operation and all that it calls know it: they must not wait for it.
final class FlightPath: Sendable {
    /// The flights that the current task is part of.
    @TaskLocal static var current: [FlightPath] = []

    private let hasEnded = Atomic(false)

    /// Whether the current task is part of the flight.
    var isCurrent: Bool { Self.current.contains { $0 === self } }

    /// Runs the operation of the flight.
    nonisolated(nonsending) func run(_ body: nonisolated(nonsending) () async -> Void) async {
        defer { hasEnded.store(true, ordering: .relaxed) }
        // A task that outlives its flight takes the path along. If it began the next flight, and so on, the path would grow for ever.
        let others = Self.current.filter { !$0.hasEnded.load(ordering: .relaxed) }
        await Self.$current.withValue(others + [self]) { await body() }
    }
}
