import Resilience

/// Measures windows of calls, and asks an algorithm for the limit after each.
///
/// All times and latencies are in nanoseconds. Every input is O(1).
struct AdaptiveLimitStateMachine: Sendable {
    /// How a call has ended.
    enum End {
        case success
        /// The other side asked for fewer calls.
        case overload
        /// The call's time ran out: it would have taken longer.
        case cut
        /// Inconclusive.
        case other
    }

    private enum Constants {
        /// A window has at least this many calls, and at least one per permit, since the calls of a volley have
        /// different latencies. It never needs more than `mostCalls`, or `mostCallsOfSearch` while calls are held back
        /// to measure.
        static let leastCalls = 16
        static let mostCalls = 400
        static let mostCallsOfSearch = 100
        /// The largest standard error that ends a window, as a share of the mean.
        static let precision = 0.05
        /// A latency counts as at most this many times the last window's mean.
        static let clip = 4.0
        /// If clearly more than this share of a window's calls are cut off, its latencies are inconclusive: there may
        /// be an overload.
        static let mostCuts = 0.1
        /// A deviation of fewer standard deviations than this may be chance.
        static let chance = 3.0
        /// This many calls are enough to know the rate of successes. With fewer than `fewSuccesses` successes, the rate
        /// counts as 0.
        static let callsOfCutback = 30
        static let fewSuccesses = 8
        /// In an overload, a lower limit keeps at least this share of the rate of successes.
        static let asMany = 0.7
        /// The limit may be the reason for cut-off calls if half of the permits, or this many, are in use.
        static let inUse = 8
        /// A search is given up if its window takes this many times the expected time.
        static let patience = 10.0
        /// If halving the limit leaves more than this share of the latency, there was no queue, or our calls did not
        /// cause it.
        static let unchanged = 0.75
        /// A new baseline that differs by less than this share counts as the same one, measured again.
        static let similar = 0.25
        /// The baseline is a mean of at most this many calls.
        static let memory = 1000.0
        /// The pause after a search or a cutback is at least this many times as long as the search or cutback.
        static let rest = 20.0
        static let longestAge = 60e9
        /// 31 years: no sum of such latencies overflows.
        static let longest = 1e18
    }

    /// The state before the limit fell.
    private struct Height: Hashable {
        /// The number of concurrent calls then.
        let limit: Double
        let latency: Double
        /// The limit to go back to.
        let restored: Double
    }

    /// The state before the limit was halved because calls were cut off, perhaps several times.
    private struct Cutback: Hashable {
        /// The limit to go back to.
        let limit: Double
        /// Successes per nanosecond; 0 if there were hardly any.
        let rate: Double
        let began: Int64
    }

    private let settings: AdaptiveLimit
    /// The shortest window, in nanoseconds.
    private let window: Int64
    private var algorithm: any LimitAlgorithm
    private(set) var limit: Double
    /// The mean latency of calls that found no queue.
    private(set) var baseline: Double?
    /// The number of calls that the baseline was measured from.
    private var baselineWeight = 0.0
    private var baselineAt = Int64.min
    /// How old the baseline may be before a search measures it again.
    private var age = 0.0
    private var height: Height?
    /// When the present search began; nil without one. A search halves the limit to measure the baseline.
    private var searchBegan: Int64?
    /// The window's successes, its number of cut-off calls, and its start, which may be in the future.
    private var calls = LatencyMean()
    private var cuts = 0
    /// How long the shortest cut-off call ran; at most a minute, since a clock may have jumped.
    private var cutTime = Constants.longestAge
    private var cutback: Cutback?
    /// Until this instant, cut-off calls do not lower the limit, unless the rate of successes falls below half of
    /// `heldRate`.
    private var heldUntil = Int64.min
    private var heldRate = 0.0
    private var windowBegins = Int64.min
    /// When the number of permits last changed.
    private var changedAt = Int64.min
    private var isWindowOpen = false
    private var peak = 0
    /// The mean latency of the last window.
    private(set) var latency: Double?
    private var latestOverload = Int64.min

    init(_ settings: AdaptiveLimit) {
        self.settings = settings
        algorithm = settings.algorithm
        window = settings.window.saturatedNanoseconds
        limit = Double(settings.initial)
    }

    /// How many calls may run at the same time.
    var permits: Int { Int(limit) }
    var isSearching: Bool { searchBegan != nil }
    private var least: Double { Double(settings.range.lowerBound) }

    /// A call has ended.
    /// - Parameters:
    ///   - end: How it ended.
    ///   - began: When it got its permit.
    ///   - inUse: How many permits were in use, including its own.
    /// - Returns: Whether ``permits`` has changed.
    mutating func ended(_ end: End, began: Int64, at now: Int64, inUse: Int) -> Bool {
        let before = permits
        giveUpSearch(at: now)
        let latency = min(Constants.longest, Double(max(0, now.saturatingSubtracting(began))))
        switch end {
        case .other: break
        case .overload: overload(began: began, at: now)
        case .cut:
            if algorithm.usesBaseline {
                cutTime = min(cutTime, latency)
                add(nil, began: began, inUse, at: now)
            } else if latency >= (self.latency ?? 0) / 2 {
                // A call that was cut off very early shows nothing. Half of the mean is enough, since the mean may
                // include a queue.
                overload(began: began, at: now)
            }
        case .success: add(latency, began: began, inUse, at: now)
        }
        return permits != before
    }

    /// If no calls end, a search would hold back half of the calls for nothing.
    private mutating func giveUpSearch(at now: Int64) {
        guard isSearching, let height else { return }
        let volleys = 1 + Double(Constants.mostCallsOfSearch) / max(1, limit)
        let time = Constants.patience * (Double(window) + volleys * height.latency)
        guard Double(now.saturatingSubtracting(changedAt)) > time else { return }
        baselineAt = now
        change(to: endSearch(), at: now)
    }

    /// Restarts from this limit, or the nearest within the bounds. The baseline stays.
    mutating func set(to limit: Int, at now: Int64) {
        (height, searchBegan, cutback) = (nil, nil, nil)
        change(to: Double(limit), at: now)
    }

    /// The overloads of all calls that began before the limit fell count as one.
    private mutating func overload(began: Int64, at now: Int64) {
        guard began >= latestOverload else { return }
        latestOverload = now
        change(to: algorithm.limitAfterOverload(endSearch()), at: now)
    }

    /// Whether clearly too many of the window's calls were cut off, with enough concurrent calls for the limit to be
    /// the reason.
    private var hasManyCuts: Bool {
        let count = Double(calls.count + cuts)
        let chance = Constants.chance * (Constants.mostCuts * (1 - Constants.mostCuts) * count).squareRoot()
        return Double(cuts) > Constants.mostCuts * count + chance && peak >= min(Constants.inUse, (permits + 1) / 2)
    }

    /// The window's successful calls per nanosecond.
    private func rate(at now: Int64) -> Double {
        Double(calls.count) / Double(max(1, now.saturatingSubtracting(windowBegins)))
    }

    /// Whether at this rate the window would by now have enough successes to compare.
    private func tells(_ rate: Double, at now: Int64) -> Bool {
        rate * Double(now.saturatingSubtracting(windowBegins)) >= Double(Constants.callsOfCutback)
    }

    /// Many calls are cut off. If concurrency is the reason, a lower limit keeps the rate of successes. If the rate
    /// falls in proportion to the limit, calls are cut off at any limit.
    private mutating func cutBack(at now: Int64) {
        let rate = calls.count < Constants.fewSuccesses ? 0 : rate(at: now)
        if let cutback, cutback.rate > 0 {
            let (share, part) = (rate / cutback.rate, limit / cutback.limit)
            if share < Constants.asMany, share >= part / 2 {
                let rest = Constants.rest * Double(now.saturatingSubtracting(cutback.began))
                (heldUntil, heldRate) = (now.saturatingAdding(Int64(min(Constants.longest, rest))), cutback.rate)
                self.cutback = nil
                return change(to: cutback.limit, at: now)
            }
        }
        latestOverload = now
        let (full, inUse, time) = (endSearch(), Double(peak), cutTime)
        if cutback.map({ $0.rate == 0 }) ?? true { cutback = Cutback(limit: full, rate: rate, began: now) }
        change(to: min(algorithm.limitAfterOverload(full), min(full, inUse) / 2), at: now)
        // By then, a call that begins now has been cut off, if it ever will be.
        windowBegins = max(windowBegins, now.saturatingAdding(Int64(time)))
    }

    /// Examines the window's cut-off calls.
    /// - Returns: Whether the window must continue, to see more calls.
    private mutating func minds(cutsAt now: Int64) -> Bool {
        let areMany = hasManyCuts
        let areEnough = calls.count + cuts >= Constants.callsOfCutback
        if let cutback {
            guard areEnough, !areMany || cutback.rate == 0 || tells(cutback.rate, at: now) else { return true }
            if !areMany { self.cutback = nil }
        } else if areMany, now < heldUntil, !tells(heldRate, at: now) || rate(at: now) >= heldRate / 2 {
            return false
        }
        if areMany, areEnough { cutBack(at: now) }
        return areMany
    }

    /// - Returns: The limit without the search.
    private mutating func endSearch() -> Double {
        defer { (height, searchBegan) = (nil, nil) }
        return isSearching ? height?.restored ?? limit : limit
    }

    /// - Parameter latency: nil if the call was cut off.
    private mutating func add(_ latency: Double?, began: Int64, _ inUse: Int, at now: Int64) {
        if !isWindowOpen { (isWindowOpen, windowBegins) = (true, now) }
        if now < windowBegins, let latency, began >= changedAt, cutback == nil {
            // The last mean is far too long: a clock jumped, or the service hung.
            windowBegins = min(windowBegins, changedAt.saturatingAdding(Int64(latency * Constants.clip)))
        }
        guard now >= windowBegins else { return }
        // A cut-off call from before the limit changed shows nothing.
        guard latency != nil || began >= changedAt else { return }
        if let latency {
            calls.add(min(latency, (self.latency ?? .infinity) * Constants.clip))
        } else {
            cuts += 1
        }
        peak = max(peak, inUse)
        let most = isSearching ? Constants.mostCallsOfSearch : Constants.mostCalls
        let count = calls.count + cuts
        guard count >= min(most, max(Constants.leastCalls, permits)),
            now.saturatingSubtracting(windowBegins) >= window, !minds(cutsAt: now),
            // It is unknown how long cut-off calls would have taken; halving the limit may not have changed it.
            calls.count >= Constants.leastCalls,
            count >= most || calls.error <= Constants.precision * calls.mean
        else { return }
        close(at: now)
    }

    private mutating func close(at now: Int64) {
        let latency = calls.mean
        self.latency = latency
        if let slowAfter = settings.slowAfter, latency > Double(slowAfter.saturatedNanoseconds) {
            return overload(began: .max, at: now)
        }
        let isBusy = peak * 2 >= permits
        if let height, limit <= max(least, height.limit / 2) {
            if latency > height.latency * Constants.unchanged {
                return found(latency, height.restored, at: now)
            }
            if isSearching {
                guard limit > least else { return found(latency, limit, at: now) }
                return halve(limit, latency, restoring: limit, at: now)
            }
            self.height = Height(limit: limit, latency: latency, restored: limit)
        }
        guard let baseline else {
            learn(latency, at: now)
            return isBusy && algorithm.usesBaseline ? search(latency, at: now) : change(to: limit, at: now)
        }
        let foundNoQueue = !isBusy && latency < baseline * (1 + Constants.similar)
        if foundNoQueue || latency + 2 * calls.error < baseline { learn(latency, at: now) }
        if algorithm.usesBaseline, isBusy, height == nil, limit > least,
            Double(now.saturatingSubtracting(baselineAt)) >= age
        {
            return search(latency, at: now)
        }
        ask(latency, self.baseline ?? baseline, isBusy, at: now)
    }

    private mutating func ask(_ latency: Double, _ baseline: Double, _ isBusy: Bool, at now: Int64) {
        let old = limit
        let sure = max(latency - calls.error, min(latency, baseline))
        let window = LimitWindow(
            limit: limit, latency: .nanoseconds(Int64(sure)), baseline: .nanoseconds(Int64(baseline)), isBusy: isBusy)
        change(to: algorithm.limit(after: window), at: now)
        if limit >= old {
            height = nil
        } else if height == nil {
            height = Height(limit: old, latency: latency, restored: old)
        }
    }

    /// Begins to halve the limit until that no longer makes calls faster.
    private mutating func search(_ latency: Double, at now: Int64) {
        searchBegan = now
        halve(min(limit, Double(peak)), latency, restoring: limit, at: now)
    }

    private mutating func halve(_ limit: Double, _ latency: Double, restoring restored: Double, at now: Int64) {
        height = Height(limit: limit, latency: latency, restored: restored)
        change(to: limit / 2, at: now)
    }

    /// The latency does not depend on the limit: these calls find no queue.
    private mutating func found(_ latency: Double, _ limit: Double, at now: Int64) {
        if let searchBegan {
            let rest = Constants.rest * Double(now.saturatingSubtracting(searchBegan))
            age = max(rest, isSimilar(latency) ? min(Constants.longestAge, age * 2) : 0)
        }
        learn(latency, at: now)
        (height, searchBegan) = (nil, nil)
        change(to: limit, at: now)
    }

    private func isSimilar(_ latency: Double) -> Bool {
        baseline.map { abs(latency - $0) < Constants.similar * $0 } ?? false
    }

    private mutating func learn(_ latency: Double, at now: Int64) {
        let weight = Double(calls.count)
        if let baseline, isSimilar(latency) {
            self.baseline = baseline + (latency - baseline) * weight / (baselineWeight + weight)
            baselineWeight = min(Constants.memory, baselineWeight + weight)
        } else {
            (baseline, baselineWeight) = (latency, weight)
        }
        baselineAt = now
    }

    /// Begins the next window: now if the number of permits is the same, else one mean latency later, when the earlier
    /// calls have ended.
    private mutating func change(to limit: Double, at now: Int64) {
        let old = permits
        if limit.isFinite {
            self.limit = min(Double(settings.range.upperBound), max(least, limit))
        }
        let wait = old == permits ? 0 : Int64(latency ?? 0)
        (calls, cuts, cutTime, peak, isWindowOpen) = (LatencyMean(), 0, Constants.longestAge, 0, true)
        windowBegins = now.saturatingAdding(wait)
        if old != permits { changedAt = now }
    }
}
