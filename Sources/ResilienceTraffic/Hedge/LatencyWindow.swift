import Resilience

/// The durations of the latest calls, one of their percentiles, and a delay for hedges.
///
/// The latencies are kept in buckets, sixteen for each doubling. So a percentile is never too low, and at most a
/// sixteenth, or 1.024 µs, too high.
///
/// A first copy that lost to a hedge counts with the time of the call, which it exceeded. Otherwise each winning hedge
/// would lower the percentile. But that time includes the delay: if the share of first copies that lost is larger than
/// the share of calls above the percentile, the percentile would grow with each call. So lower percentiles bound
/// ``delay``.
struct LatencyWindow: Sendable, Hashable {
    static let capacity = 1_000
    private static let perDoubling = 16
    private static let buckets = 50 * perDoubling

    /// The measured percentile, as a share: 0.95 for p95.
    let share: Double
    /// The number of latencies in each bucket.
    private var counts = [UInt16](repeating: 0, count: buckets)
    /// The latest latencies, the oldest at `oldest` once the window is full.
    private var latest: [Latency] = []
    private var oldest = 0
    /// The number of latencies from copies that lost.
    private var lost = 0
    /// The percentile, and the lower percentiles that bound the delay.
    private var percentiles: [Percentile]

    private struct Latency: Hashable {
        let bucket: UInt16
        let isLost: Bool
    }

    private struct Percentile: Hashable {
        let share: Double
        /// The delay is at most this many times this percentile.
        let factor: Double
        /// The bucket of the percentile, and the number of latencies in the buckets before.
        var place = 0
        var below = 0
    }

    /// The lowest percentile that bounds the delay. At least this share of latencies is from copies that did not lose,
    /// so this percentile can't drive itself up.
    private static let lowest = 0.25

    init(percentile share: Double) {
        self.share = share
        percentiles = [Percentile(share: share, factor: 1)]
        // The share of calls that get a hedge. The delay is at most twice the latency that twice this share of calls
        // exceeds, and so on.
        let hedged = 1 - share
        var factor = 2.0
        while factor * hedged < 1 - Self.lowest {
            percentiles.append(Percentile(share: 1 - factor * hedged, factor: factor))
            factor *= 2
        }
        if share > Self.lowest {
            percentiles.append(Percentile(share: Self.lowest, factor: (1 - Self.lowest) / hedged))
        }
        latest.reserveCapacity(Self.capacity)
    }

    /// The number of latencies in the window.
    var count: Int { latest.count }

    /// The latency that at least this share of calls did not exceed, in nanoseconds; nil without latencies.
    var percentile: Int64? { latest.isEmpty ? nil : Self.end(of: percentiles[0].place) }

    /// The percentile, or less: at most `n` times the latency that `n` times as many calls exceed. So hedges begin in
    /// time even if more calls are slow than the percentile expects. In nanoseconds; nil without latencies.
    ///
    /// For usual latencies (lognormal, with a sigma of at most 1.1), this equals the percentile. Source of the trade
    /// between fewer and earlier hedges: T. Kaler et al., "Optimal Reissue Policies for Reducing Tail Latency" (SPAA
    /// 2017).
    var delay: Int64? {
        guard let percentile else { return nil }
        return percentiles.reduce(percentile) { delay, bound in
            min(delay, Int64(saturating: bound.factor * Double(Self.end(of: bound.place))))
        }
    }

    /// The same latencies, with another percentile.
    func with(percentile share: Double) -> LatencyWindow {
        var other = LatencyWindow(percentile: share)
        (other.counts, other.latest, other.oldest, other.lost) = (counts, latest, oldest, lost)
        other.findPlaces()
        return other
    }

    /// - Parameters:
    ///   - latency: In nanoseconds. Less than 0 counts as 0.
    ///   - isLost: Whether the copy lost at that time, and would have taken longer.
    mutating func add(_ latency: Int64, isLost: Bool = false) {
        let isFull = latest.count == Self.capacity
        let count = isFull ? latest.count : latest.count + 1
        if isLost, Double(lost + 1) > (1 - Self.lowest) * Double(count) { return }
        let new = Latency(bucket: UInt16(Self.bucket(of: max(0, latency))), isLost: isLost)
        if isFull {
            self.count(-1, latest[oldest])
            latest[oldest] = new
            oldest = (oldest + 1) % Self.capacity
        } else {
            latest.append(new)
        }
        self.count(1, new)
        findPlaces()
    }

    private mutating func count(_ change: Int, _ latency: Latency) {
        let bucket = Int(latency.bucket)
        counts[bucket] = UInt16(Int(counts[bucket]) + change)
        if latency.isLost { lost += change }
        for index in percentiles.indices where bucket < percentiles[index].place { percentiles[index].below += change }
    }

    /// Finds the bucket of each percentile, starting from its earlier bucket.
    private mutating func findPlaces() {
        guard !latest.isEmpty else { return }
        for index in percentiles.indices {
            var (place, below) = (percentiles[index].place, percentiles[index].below)
            let rank = max(1, Int((percentiles[index].share * Double(latest.count)).rounded(.up)))
            while below >= rank {
                place -= 1
                below -= Int(counts[place])
            }
            while below + Int(counts[place]) < rank {
                below += Int(counts[place])
                place += 1
            }
            (percentiles[index].place, percentiles[index].below) = (place, below)
        }
    }

    /// The buckets below 16 units of 1.024 µs are one unit wide.
    private static func bucket(of latency: Int64) -> Int {
        let units = latency >> 10
        guard units >= perDoubling else { return Int(units) }
        let shift = Int64.bitWidth - 5 - units.leadingZeroBitCount
        return shift * perDoubling + Int(units >> shift)
    }

    /// The shortest latency, in nanoseconds, that is too long for the bucket.
    private static func end(of bucket: Int) -> Int64 {
        let shift = max(0, bucket / perDoubling - 1)
        let units = Int64(bucket - shift * perDoubling + 1)
        return units.saturatingMultiplied(by: 1 << (shift + 10))
    }
}
