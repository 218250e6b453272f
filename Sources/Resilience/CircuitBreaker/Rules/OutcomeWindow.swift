/// The results of the latest calls, success or failure, in memory that does not grow.
struct OutcomeWindow: Sendable, Hashable {
    typealias Counts = OutcomeCounts

    // One of the two is set. An enum would have to be unpacked and packed for every call.
    private(set) var latestCalls: LatestCalls?
    private(set) var latestTime: LatestTime?

    /// Counts nothing.
    init() {}

    init(_ window: CallWindow) {
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

    func memory(at now: MonotonicInstant) -> [Int] {
        kind.memory(latestCalls?.memory ?? latestTime?.memory(at: now) ?? [])
    }

    private var kind: MemoryKind { latestCalls == nil ? .time : .calls }

    mutating func restore(_ memory: [Int], of window: CallWindow, takenAt instant: MonotonicInstant) -> Bool {
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
