import Foundation
public import Resilience

/// How long something takes: a distribution of times.
public struct LatencyModel: Sendable, Hashable {
    private indirect enum Shape: Sendable, Hashable {
        case constant(Double)
        case uniform(Double, Double)
        case exponential(mean: Double)
        case normal(mean: Double, deviation: Double)
        case logNormal(median: Double, sigma: Double)
        case mixed(share: Double, Shape, Shape)
        case scaled(Double, Shape)
    }

    private let shape: Shape

    private init(_ shape: Shape) { self.shape = shape }

    /// No time at all.
    public static let none = constant(.zero)

    /// Always the same time.
    ///
    /// - Parameter length: The time, 0 or more.
    public static func constant(_ length: Duration) -> LatencyModel { LatencyModel(.constant(nanoseconds(length))) }

    /// Any time of a range, all as likely.
    ///
    /// - Parameter range: The range, from 0 or more.
    public static func uniform(_ range: ClosedRange<Duration>) -> LatencyModel {
        LatencyModel(.uniform(nanoseconds(range.lowerBound), nanoseconds(range.upperBound)))
    }

    /// Times of a process without memory.
    ///
    /// - Parameter mean: The mean, 0 or more.
    public static func exponential(mean: Duration) -> LatencyModel {
        LatencyModel(.exponential(mean: nanoseconds(mean)))
    }

    /// Times that are normally distributed; a time below zero counts as its opposite.
    ///
    /// - Parameters:
    ///   - mean: The mean, 0 or more.
    ///   - deviation: The standard deviation, 0 or more; well below the mean, or the mean grows.
    public static func normal(mean: Duration, deviation: Duration) -> LatencyModel {
        LatencyModel(.normal(mean: nanoseconds(mean), deviation: nanoseconds(deviation)))
    }

    /// Times whose logarithms are normally distributed, as the times of many services are.
    ///
    /// - Parameters:
    ///   - p50: The median; above 0.
    ///   - p99: The time that one of a hundred exceeds; not below the median.
    public static func logNormal(p50: Duration, p99: Duration) -> LatencyModel {
        precondition(p50 > .zero && p99 >= p50, "p50 must be above 0, and p99 not below it")
        // 2.3263 is the 99th percentile of the standard normal distribution.
        return LatencyModel(
            .logNormal(median: nanoseconds(p50), sigma: log(nanoseconds(p99) / nanoseconds(p50)) / 2.326_347_874))
    }

    /// Returns a mixture, in which a share of all times is drawn from another model: stragglers.
    ///
    /// - Parameters:
    ///   - share: The share, from 0 to 1.
    ///   - other: The model of that share.
    public func mixed(with share: Double, of other: LatencyModel) -> LatencyModel {
        precondition((0...1).contains(share), "a share must lie in 0...1")
        return LatencyModel(.mixed(share: share, other.shape, shape))
    }

    /// Returns a model of times that are longer or shorter by a factor.
    ///
    /// - Parameter factor: The factor, 0 or more.
    public func scaled(by factor: Double) -> LatencyModel {
        precondition(factor >= 0 && factor.isFinite, "a factor must be 0 or more, and finite")
        return LatencyModel(.scaled(factor, shape))
    }

    /// The mean.
    public var mean: Duration { .nanoseconds(Self.clamped(Self.mean(shape))) }

    /// Whether it is always zero.
    public var isNone: Bool { self == .none }

    /// Returns a random time.
    ///
    /// - Parameter generator: The source of randomness.
    public func draw(using generator: SplitMix64) -> Duration {
        .nanoseconds(nanoseconds(using: generator))
    }

    func nanoseconds(using generator: SplitMix64) -> Int64 { Self.clamped(Self.draw(shape, generator)) }

    private static func draw(_ shape: Shape, _ generator: SplitMix64) -> Double {
        switch shape {
        case .constant(let length): return length
        case .uniform(let least, let most): return least + (most - least) * generator.unit()
        case .exponential(let mean): return -mean * log(1 - generator.unit())
        case .normal(let mean, let deviation): return abs(mean + deviation * normal(generator))
        case .logNormal(let median, let sigma): return median * exp(sigma * normal(generator))
        case .mixed(let share, let rare, let usual): return draw(generator.unit() < share ? rare : usual, generator)
        case .scaled(let factor, let shape): return factor * draw(shape, generator)
        }
    }

    /// G. E. P. Box, M. E. Muller, A Note on the Generation of Random Normal Deviates, 1958.
    private static func normal(_ generator: SplitMix64) -> Double {
        (-2 * log(1 - generator.unit())).squareRoot() * cos(2 * .pi * generator.unit())
    }

    private static func mean(_ shape: Shape) -> Double {
        switch shape {
        case .constant(let length): length
        case .uniform(let least, let most): (least + most) / 2
        case .exponential(let mean), .normal(let mean, _): mean
        case .logNormal(let median, let sigma): median * exp(sigma * sigma / 2)
        case .mixed(let share, let rare, let usual): share * mean(rare) + (1 - share) * mean(usual)
        case .scaled(let factor, let shape): factor * mean(shape)
        }
    }

    private static func nanoseconds(_ duration: Duration) -> Double {
        precondition(duration >= .zero, "a time must be 0 or more")
        return Double(duration.saturatedNanoseconds)
    }

    private static func clamped(_ nanoseconds: Double) -> Int64 {
        nanoseconds < 9e18 ? Int64(nanoseconds.rounded()) : .max
    }
}

extension SplitMix64 {
    /// A random number from 0 to below 1.
    func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
