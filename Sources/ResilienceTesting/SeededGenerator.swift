import Resilience

/// Random numbers that repeat: the same seed, the same numbers. A value, so that each test has its own.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= SplitMix64.increment
        return SplitMix64.mixed(state)
    }
}
