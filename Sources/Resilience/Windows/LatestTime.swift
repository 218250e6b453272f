/// The number of calls, and the number of failed calls.
@usableFromInline package struct OutcomeCounts: Sendable, Hashable {
    @usableFromInline package var failures: Int
    @usableFromInline package var calls: Int

    package init(failures: Int = 0, calls: Int = 0) { (self.failures, self.calls) = (failures, calls) }
}

/// Counts of a recent window of time, in a ring of buckets. Each bucket belongs to a stretch of time; the bucket of a
/// stretch without calls is empty.
@usableFromInline package struct LatestTime: Sendable, Hashable {
    private let width: Int64
    private var buckets: [OutcomeCounts]
    /// The stretch of time of the newest bucket.
    private var newest = Int64.min
    /// When that stretch ends, in nanoseconds: until then nothing leaves the window, and no division is needed.
    @usableFromInline var ends = Int64.min
    @usableFromInline var sum = OutcomeCounts()

    package init(_ length: Int64, buckets count: Int) {
        let (whole, rest) = length.quotientAndRemainder(dividingBy: Int64(count))
        width = rest == 0 ? whole : whole + 1
        buckets = Array(repeating: OutcomeCounts(), count: count)
    }

    package mutating func add(_ more: OutcomeCounts, at now: MonotonicInstant) {
        advance(to: now)
        let index = place(of: newest)
        buckets[index].calls += more.calls
        buckets[index].failures += more.failures
        sum.calls += more.calls
        sum.failures += more.failures
    }

    package func stretchEnds(after now: MonotonicInstant) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: max(ends, end(of: stretch(of: now))))
    }

    @inlinable package func counts(at now: MonotonicInstant) -> OutcomeCounts {
        // The usual case copies nothing.
        now.nanoseconds < ends || sum.calls | sum.failures == 0 ? sum : countsOnceAdvanced(to: now)
    }

    @usableFromInline func countsOnceAdvanced(to now: MonotonicInstant) -> OutcomeCounts {
        var then = self
        then.advance(to: now)
        return then.sum
    }

    private mutating func advance(to now: MonotonicInstant) {
        guard now.nanoseconds >= ends else { return }
        let stretch = stretch(of: now)
        guard stretch > newest else { return }
        if stretch.saturatingSubtracting(newest) >= Int64(buckets.count) {
            // All buckets have left the window; O(1) if they are empty already.
            if sum != OutcomeCounts() { for index in buckets.indices { buckets[index] = OutcomeCounts() } }
            sum = OutcomeCounts()
        } else {
            for passed in newest + 1...stretch {
                let index = place(of: passed)
                sum.calls -= buckets[index].calls
                sum.failures -= buckets[index].failures
                buckets[index] = OutcomeCounts()
            }
        }
        newest = stretch
        ends = end(of: stretch)
    }

    private func stretch(of instant: MonotonicInstant) -> Int64 {
        instant.nanoseconds.flooredDivision(by: width).quotient
    }

    private func end(of stretch: Int64) -> Int64 { stretch.saturatingAdding(1).saturatingMultiplied(by: width) }

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
            // At most the largest count of a bucket, so that sums can't overflow.
            guard 0 <= age, age <= youngest, 0 <= failures, failures <= calls, calls <= Int(Int32.max) else {
                return false
            }
            youngest = age
            add(OutcomeCounts(failures: failures, calls: calls), at: instant + .nanoseconds(-age))
        }
        return true
    }
}
