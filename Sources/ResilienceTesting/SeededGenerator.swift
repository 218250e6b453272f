import Resilience

/// A random number generator that repeats: the same seed gives the same numbers.
///
/// It is a value, so each test has its own.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Creates a generator.
    ///
    /// - Parameter seed: Any number.
    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= SplitMix64.increment
        return SplitMix64.mixed(state)
    }
}
