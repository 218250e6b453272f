import Synchronization

/// Random numbers that many tasks can draw from at once, from a seed that can be repeated.
///
/// One atomic addition a number: the system's generator costs hundreds of nanoseconds. Source of the constants:
/// Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators" (OOPSLA 2014). Not for secrets.
public final class SplitMix64: RandomNumberGenerator, Sendable {
    private let state: Atomic<UInt64>

    /// The same seed gives the same numbers, in the order they are drawn.
    public init(seed: UInt64) { state = Atomic(seed) }

    /// Seeded once from the system's generator; what policies use unless given another.
    public static let shared = SplitMix64(seed: .random(in: .min ... .max))

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
