/// The mean of latencies, and its standard error.
///
/// It is not the median: when calls come in volleys, most of them find no queue, so the median hides the queue.
/// Little's law is about means.
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
