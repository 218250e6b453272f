/// The results of the latest calls, success or failure, in memory that does not grow.
struct OutcomeWindow: Sendable, Hashable {
    struct Counts: Sendable, Hashable {
        var failures = 0
        var calls = 0
    }

    // One of the two is set. An enum would have to be unpacked and packed for every call.
    private(set) var latestCalls: LatestCalls?
    private(set) var latestTime: LatestTime?
    private let window: CallWindow

    init(_ window: CallWindow) {
        self.window = window
        switch window.kind {
        case .calls(let count): latestCalls = LatestCalls(count)
        case .time(let length, let buckets): latestTime = LatestTime(length, buckets: buckets)
        }
    }

    /// Until when calls from `now` on are counted in the same way.
    func stretchEnds(after now: MonotonicInstant) -> MonotonicInstant {
        latestTime?.stretchEnds(after: now) ?? .distantFuture
    }

    mutating func add(_ count: Int, failing: Bool, at now: MonotonicInstant) {
        latestCalls?.add(count, failing: failing)
        latestTime?.add(Counts(failures: failing ? count : 0, calls: count), at: now)
    }

    func counts(at now: MonotonicInstant) -> Counts { latestCalls?.counts ?? latestTime?.counts(at: now) ?? Counts() }

    mutating func reset() { self = OutcomeWindow(window) }

    func memory(at now: MonotonicInstant) -> [Int] {
        kind.memory(latestCalls?.memory ?? latestTime?.memory(at: now) ?? [])
    }

    private var kind: MemoryKind { latestCalls == nil ? .time : .calls }

    mutating func restore(_ memory: [Int], takenAt instant: MonotonicInstant) -> Bool {
        var restored = OutcomeWindow(window)
        guard let content = kind.content(of: memory),
            restored.latestCalls?.restore(content) ?? restored.latestTime?.restore(content, takenAt: instant) ?? false
        else { return false }
        self = restored
        return true
    }
}

/// The results of the last `size` calls, one bit each, in a ring.
struct LatestCalls: Sendable, Hashable {
    private let size: Int
    private var bits: [UInt64]
    /// The place of the next result, which replaces the oldest.
    private var next = 0
    private(set) var counts = OutcomeWindow.Counts()

    init(_ size: Int) {
        self.size = size
        bits = Array(repeating: 0, count: (size - 1) / 64 + 1)
    }

    mutating func add(_ count: Int, failing: Bool) {
        for _ in 0..<min(count, size) { add(failing: failing) }
    }

    private mutating func add(failing: Bool) {
        let mask: UInt64 = 1 << (next & 63)
        if counts.calls < size {
            counts.calls += 1
        } else if bits[next >> 6] & mask != 0 {
            counts.failures -= 1
        }
        if failing {
            bits[next >> 6] |= mask
            counts.failures += 1
        } else {
            bits[next >> 6] &= ~mask
        }
        next = next + 1 == size ? 0 : next + 1
    }

    /// The results, oldest first; 1 for a failure.
    var memory: [Int] {
        let oldest = counts.calls < size ? 0 : next
        return (0..<counts.calls).map { age in
            let place = (oldest + age) % size
            return Int(bits[place >> 6] >> (place & 63) & 1)
        }
    }

    mutating func restore(_ memory: [Int]) -> Bool {
        guard memory.allSatisfy({ $0 == 0 || $0 == 1 }) else { return false }
        for end in memory.suffix(size) { add(failing: end == 1) }
        return true
    }
}

/// Counts of the latest time, in a ring of buckets. A bucket belongs to a stretch of time, so that a gap without calls
/// empties the buckets of that gap.
struct LatestTime: Sendable, Hashable {
    private let width: Int64
    private var buckets: [OutcomeWindow.Counts]
    /// The stretch of time of the newest bucket.
    private var newest = Int64.min
    private var sum = OutcomeWindow.Counts()

    init(_ length: Int64, buckets count: Int) {
        let (whole, rest) = length.quotientAndRemainder(dividingBy: Int64(count))
        width = rest == 0 ? whole : whole + 1
        buckets = Array(repeating: OutcomeWindow.Counts(), count: count)
    }

    mutating func add(_ more: OutcomeWindow.Counts, at now: MonotonicInstant) {
        advance(to: now)
        let index = place(of: newest)
        buckets[index].calls += more.calls
        buckets[index].failures += more.failures
        sum.calls += more.calls
        sum.failures += more.failures
    }

    func stretchEnds(after now: MonotonicInstant) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: (max(stretch(of: now), newest) + 1).saturatingMultiplied(by: width))
    }

    func counts(at now: MonotonicInstant) -> OutcomeWindow.Counts {
        var then = self
        then.advance(to: now)
        return then.sum
    }

    private mutating func advance(to now: MonotonicInstant) {
        let stretch = stretch(of: now)
        guard stretch > newest else { return }
        if stretch.saturatingSubtracting(newest) >= Int64(buckets.count) {
            // All buckets have left the window; O(1) if they are empty already.
            if sum.calls > 0 { for index in buckets.indices { buckets[index] = OutcomeWindow.Counts() } }
            sum = OutcomeWindow.Counts()
        } else {
            for passed in newest + 1...stretch {
                let index = place(of: passed)
                sum.calls -= buckets[index].calls
                sum.failures -= buckets[index].failures
                buckets[index] = OutcomeWindow.Counts()
            }
        }
        newest = stretch
    }

    private func stretch(of instant: MonotonicInstant) -> Int64 {
        instant.nanoseconds.flooredDivision(by: width).quotient
    }

    private func place(of stretch: Int64) -> Int { Int(stretch.flooredDivision(by: Int64(buckets.count)).remainder) }

    /// For each bucket that is not empty, oldest first: how many nanoseconds ago it began, its failures, its calls.
    func memory(at now: MonotonicInstant) -> [Int] {
        var then = self
        then.advance(to: now)
        return (0..<Int64(buckets.count)).reversed().flatMap { age -> [Int] in
            let bucket = then.buckets[place(of: then.newest - age)]
            let start = (then.newest - age).saturatingMultiplied(by: width)
            return bucket.calls == 0
                ? [] : [Int(now.nanoseconds.saturatingSubtracting(start)), bucket.failures, bucket.calls]
        }
    }

    mutating func restore(_ memory: [Int], takenAt instant: MonotonicInstant) -> Bool {
        guard memory.count % 3 == 0, memory.count / 3 <= 100_000 else { return false }
        var youngest = Int.max
        for start in stride(from: 0, to: memory.count, by: 3) {
            let (age, failures, calls) = (memory[start], memory[start + 1], memory[start + 2])
            // No more than a bucket ever counts, so that sums can't overflow.
            guard 0 <= age, age <= youngest, 0 <= failures, failures <= calls, calls <= Int(Int32.max) else {
                return false
            }
            youngest = age
            add(OutcomeWindow.Counts(failures: failures, calls: calls), at: instant + .nanoseconds(-age))
        }
        return true
    }
}
