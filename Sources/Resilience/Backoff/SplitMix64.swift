import Synchronization

/// A generator of random numbers that many tasks can use concurrently, with a seed that makes a run repeatable.
///
/// A number costs one atomic addition; the system's generator costs hundreds of nanoseconds. Not for secrets. Source of
/// the constants: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators" (OOPSLA 2014).
public final class SplitMix64: RandomNumberGenerator, Sendable {
    private let state: Atomic<UInt64>

    /// Creates a generator.
    ///
    /// - Parameter seed: The same seed gives the same numbers, in the order in which they are drawn.
    public init(seed: UInt64) { state = Atomic(seed) }

    /// The generator that policies use by default, seeded once from the system's generator.
    public static var shared: SplitMix64 {
        if isReplaced.load(ordering: .relaxed), let replacement { return replacement }
        return seededBySystem
    }

    private static let seededBySystem = SplitMix64(seed: .random(in: .min ... .max))
    @TaskLocal private static var replacement: SplitMix64?
    /// Whether a replacement was ever set. Reading a task-local value costs more than this.
    private static let isReplaced = Atomic(false)

    /// Runs code for which another generator is the shared one, for a simulation.
    package static func withShared<R>(_ generator: SplitMix64, _ body: () throws -> R) rethrows -> R {
        isReplaced.store(true, ordering: .relaxed)
        return try $replacement.withValue(generator, operation: body)
    }

    /// Returns the next random number; safe to call from several tasks.
    public func next() -> UInt64 {
        Self.mixed(state.wrappingAdd(Self.increment, ordering: .relaxed).newValue)
    }

    package static let increment: UInt64 = 0x9E37_79B9_7F4A_7C15

    package static func mixed(_ state: UInt64) -> UInt64 {
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
