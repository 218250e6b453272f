/// The mean of latencies, and its standard error.
///
/// The mean, since Little's law is about means: where calls come in volleys, most of them find no queue, and the median
/// does not show it.
struct LatencyMean: Sendable, Hashable {
    private(set) var count = 0
    private var sum = 0.0
    private var squares = 0.0

    /// - Parameter latency: In nanoseconds.
    mutating func add(_ latency: Double) {
        count += 1
        sum += latency
        squares += latency * latency
    }

    /// In nanoseconds; at least 1, so that it can be a divisor.
    var mean: Double { max(1, sum / Double(max(1, count))) }

    /// The standard error of the mean, in nanoseconds.
    var error: Double {
        let number = Double(max(1, count))
        return (max(0, squares / number - mean * mean) / number).squareRoot()
    }
}
