import Resilience

/// Decides which endpoint gets the next call, and which failing endpoints get none for a while.
///
/// ```
/// in ── fails too often, and not too many are out ─▶ ejected
/// ejected ── its time is over ─▶ in, with a weight that grows
/// ```
///
/// It identifies endpoints by their place in the list, and by a number that is unique in the pool's lifetime. Changes
/// due to time alone happen with the next input.
struct EndpointPoolStateMachine: Sendable {
    typealias Settings = EndpointPoolSettings

    enum Evidence: Sendable, Hashable {
        case healthy, failing, nothing
    }

    typealias Pick = EndpointPick

    enum Change: Sendable, Hashable {
        case ejected(Int, EjectionReason, for: Duration)
        /// The endpoint would have been ejected, but too many already are.
        case kept(Int, EjectionReason)
        case returned(Int)
        case panicBegan(left: Int, of: Int)
        case panicEnded
    }

    /// The state of one endpoint.
    struct Member: Sendable, Hashable {
        let id: Int
        /// Above 0.
        fileprivate(set) var weight: Double
        /// Calls from another generation do not count: since they began, the endpoint was ejected or has returned.
        fileprivate var generation = 0
        fileprivate(set) var inFlight = 0
        /// The number of failures in a row.
        fileprivate(set) var streak = 0
        /// The counts of the interval.
        fileprivate(set) var counts = OutcomeCounts()
        /// The counts since the endpoint was added.
        fileprivate(set) var total = OutcomeCounts()
        /// The number of remembered ejections in a row.
        fileprivate(set) var ejections = 0
        /// nil if it is not ejected; `distantFuture` until it is brought back by hand.
        fileprivate(set) var ejectedUntil: MonotonicInstant?
        /// Whether it was ejected by hand: then it counts as if it were not in the pool.
        fileprivate(set) var isHeldOut = false
        /// When its weight began to grow; nil if it is full.
        fileprivate(set) var growsSince: MonotonicInstant?
        /// When its ejection count drops by one, if at most a tenth of its calls have failed by then.
        fileprivate var forgetsAt = MonotonicInstant.distantFuture
        /// The calls since it returned, or since its ejection count last dropped.
        fileprivate var record = OutcomeCounts()
        /// Its credit in the round robin: the endpoint with the most gets the next turn.
        fileprivate var due = 0.0

        fileprivate init(id: Int, weight: Double) {
            self.id = id
            self.weight = weight
        }

        fileprivate mutating func clearCounts() {
            streak = 0
            counts = OutcomeCounts()
        }
    }

    private(set) var settings: Settings
    private(set) var members: [Member] = []
    /// Whether all endpoints are used, because too many are ejected.
    private(set) var isPanicking = false
    /// The places of endpoints that get calls.
    private(set) var usable: [Int] = []
    /// Whether all usable endpoints have the same weight.
    private var areAlike = true
    private var nextID = 1
    /// When the interval's rules are next applied.
    private var intervalEnd: MonotonicInstant
    /// Before this, time alone causes no change.
    private var nextChange = MonotonicInstant.distantFuture

    init(_ settings: Settings, at now: MonotonicInstant) {
        self.settings = settings
        intervalEnd = now + (settings.ejection?.interval ?? .infinite)
    }

    // MARK: Choice

    /// Chooses the endpoint of a call or of an attempt, if possible an endpoint that the call has not tried.
    /// - Parameters:
    ///   - tried: The endpoints that the call has tried; the chosen endpoint is added.
    ///   - inFlight: The endpoints with copies of the call in flight.
    ///   - rejected: The endpoints that rejected this attempt, which never chooses them again.
    /// - Returns: The endpoint, nil if there is none; and the changes due to time.
    mutating func choose(
        _ tried: inout TriedEndpoints, inFlight: [Int] = [], rejected: [Int] = [], at now: MonotonicInstant,
        using generator: inout some RandomNumberGenerator
    ) -> (pick: Pick?, changes: [Change]) {
        let changes = advance(to: now, using: &generator)
        var place = place(besides: tried, at: now, using: &generator)
        if place == nil, !usable.isEmpty {
            tried.startOver(keeping: inFlight + rejected)
            place = self.place(besides: tried, at: now, using: &generator)
            if place == nil {
                tried.removeAll()
                for id in rejected { tried.add(id) }
                place = self.place(besides: tried, at: now, using: &generator)
            }
        }
        guard let place else { return (nil, changes) }
        let id = members[place].id
        tried.add(id)
        members[place].inFlight += 1
        return (Pick(id: id, place: place, generation: members[place].generation), changes)
    }

    private mutating func place(
        besides tried: TriedEndpoints, at now: MonotonicInstant, using generator: inout some RandomNumberGenerator
    ) -> Int? {
        switch settings.choice {
        case .roundRobin: nextInTurn(besides: tried, at: now)
        case .leastLoaded:
            areAlike && tried.isEmpty
                ? lessLoadedOfAll(using: &generator) : lessLoaded(besides: tried, at: now, using: &generator)
        }
    }

    /// The smooth weighted round robin of nginx (commit 52327e0627f4): in each turn every endpoint gains its weight,
    /// and the endpoint with the highest credit gets the turn and pays the sum of the weights.
    private mutating func nextInTurn(besides tried: TriedEndpoints, at now: MonotonicInstant) -> Int? {
        var (sum, best) = (0.0, Int?.none)
        for place in usable where !tried.contains(members[place].id) {
            let weight = weight(of: place, at: now)
            sum += weight
            members[place].due += weight
            if best.map({ members[place].due > members[$0].due }) ?? true { best = place }
        }
        if let best { members[best].due -= sum }
        return best
    }

    /// The less loaded of two different endpoints, which are drawn with one number; all endpoints are equally likely.
    private func lessLoadedOfAll(using generator: inout some RandomNumberGenerator) -> Int? {
        guard usable.count > 1 else { return usable.first }
        let (number, count) = (generator.next(), UInt64(usable.count))
        let first = Int(((number >> 32) * count) >> 32)
        var second = Int(((number & 0xFFFF_FFFF) * (count - 1)) >> 32)
        if second >= first { second += 1 }
        return lessLoaded(usable[first], usable[second], 1, 1)
    }

    private func lessLoaded(_ first: Int, _ second: Int, _ firstWeight: Double, _ secondWeight: Double) -> Int {
        // The first drawn endpoint wins a tie, so that a weight also decides how often an idle endpoint is chosen.
        Double(members[second].inFlight) * firstWeight < Double(members[first].inFlight) * secondWeight
            ? second : first
    }

    private func lessLoaded(
        besides tried: TriedEndpoints, at now: MonotonicInstant, using generator: inout some RandomNumberGenerator
    ) -> Int? {
        guard let (first, weight) = drawn(besides: tried, nil, at: now, using: &generator) else { return nil }
        // With different weights, the second draw may be the first endpoint again. Otherwise, in a pool of two, the
        // light endpoint would be chosen as often as the heavy one.
        let other = areAlike ? first : nil
        guard let (second, otherWeight) = drawn(besides: tried, other, at: now, using: &generator) else { return first }
        return lessLoaded(first, second, weight, otherWeight)
    }

    /// Draws an endpoint at random, in proportion to its weight.
    private func drawn(
        besides tried: TriedEndpoints, _ other: Int?, at now: MonotonicInstant,
        using generator: inout some RandomNumberGenerator
    ) -> (place: Int, weight: Double)? {
        func mayBe(_ place: Int) -> Bool { place != other && !tried.contains(members[place].id) }
        var sum = 0.0
        for place in usable where mayBe(place) { sum += weight(of: place, at: now) }
        guard sum > 0 else { return nil }
        var rest = Double.random(in: 0..<sum, using: &generator)
        var last: (Int, Double)?
        for place in usable where mayBe(place) {
            let weight = weight(of: place, at: now)
            last = (place, weight)
            rest -= weight
            if rest < 0 { break }
        }
        return last
    }

    /// The weight of an endpoint, which grows for a while when it is new or has returned.
    func weight(of place: Int, at now: MonotonicInstant) -> Double {
        let member = members[place]
        guard let since = member.growsSince, let slowStart = settings.slowStart else { return member.weight }
        let (passed, all) = (since.duration(to: now).saturatedNanoseconds, slowStart.over.saturatedNanoseconds)
        return member.weight * min(max(slowStart.from, Double(passed) / Double(all)), 1)
    }

    // MARK: Outcomes

    /// A call ended, without evidence about its endpoint.
    mutating func left(_ pick: Pick) {
        if let place = place(of: pick) { members[place].inFlight -= 1 }
    }

    /// A call ended, and its endpoint has answered.
    mutating func succeeded(_ pick: Pick) {
        guard let place = place(of: pick) else { return }
        members[place].inFlight -= 1
        members[place].total.calls.saturatingIncrement()
        guard members[place].generation == pick.generation, members[place].ejectedUntil == nil else { return }
        members[place].streak = 0
        members[place].counts.calls.saturatingIncrement()
        members[place].record.calls.saturatingIncrement()
    }

    /// A call ended, and its endpoint failed.
    /// - Returns: The changes due to the failure and to time.
    mutating func failed(
        _ pick: Pick, at now: MonotonicInstant, using generator: inout some RandomNumberGenerator
    ) -> [Change] {
        var changes = advance(to: now, using: &generator)
        guard let place = place(of: pick) else { return changes }
        members[place].inFlight -= 1
        members[place].total.calls.saturatingIncrement()
        members[place].total.failures.saturatingIncrement()
        guard members[place].generation == pick.generation, members[place].ejectedUntil == nil else { return changes }
        members[place].streak.saturatingIncrement()
        members[place].counts.calls.saturatingIncrement()
        members[place].counts.failures.saturatingIncrement()
        members[place].record.calls.saturatingIncrement()
        members[place].record.failures.saturatingIncrement()
        let streak = members[place].streak
        if let limit = settings.ejection?.consecutiveFailures, streak >= limit {
            // If the endpoint can't be ejected, reports this only once: further failures change nothing.
            eject(
                place, .consecutiveFailures(streak), tellsIfKept: streak == limit, at: now, using: &generator, &changes)
        }
        return changes
    }

    private func place(of pick: Pick) -> Int? {
        if members.indices.contains(pick.place), members[pick.place].id == pick.id { return pick.place }
        return members.firstIndex { $0.id == pick.id }
    }

    // MARK: Ejection

    private mutating func eject(
        _ place: Int, _ reason: EjectionReason, tellsIfKept: Bool = true, at now: MonotonicInstant,
        using generator: inout some RandomNumberGenerator, _ changes: inout [Change]
    ) {
        guard let ejection = settings.ejection, members[place].ejectedUntil == nil else { return }
        let present = members.count { !$0.isHeldOut }
        let ejected = members.count { $0.ejectedUntil != nil && !$0.isHeldOut }
        guard ejected < ejection.limit(of: present) else {
            if tellsIfKept { changes.append(.kept(place, reason)) }
            return
        }
        let number = min(members[place].ejections + 1, ejection.maxInARow)
        let length = ejection.length(ofNumber: number, Double.random(in: 0...1, using: &generator))
        members[place].ejections = number
        takeOut(place, until: now + .nanoseconds(length))
        changes.append(.ejected(place, reason, for: .nanoseconds(length)))
        refresh(&changes)
    }

    private mutating func takeOut(_ place: Int, until end: MonotonicInstant) {
        members[place].ejectedUntil = end
        members[place].generation &+= 1
        members[place].clearCounts()
        members[place].growsSince = nil
        members[place].forgetsAt = .distantFuture
    }

    private mutating func bringBack(_ place: Int, at now: MonotonicInstant, _ changes: inout [Change]) {
        members[place].ejectedUntil = nil
        members[place].isHeldOut = false
        members[place].generation &+= 1
        members[place].clearCounts()
        members[place].growsSince = settings.slowStart == nil ? nil : now
        members[place].record = OutcomeCounts()
        members[place].forgetsAt = now + memory
        members[place].due = 0
        changes.append(.returned(place))
    }

    /// Brings back excess ejected endpoints, first the endpoints whose ejection ends earliest. There may be excess
    /// because the list or the settings have changed, or an endpoint was taken out by hand.
    private mutating func keepBounds(at now: MonotonicInstant, _ changes: inout [Change]) {
        let ejected = members.indices.filter { members[$0].ejectedUntil != nil && !members[$0].isHeldOut }
        let excess = ejected.count - (settings.ejection?.limit(of: members.count { !$0.isHeldOut }) ?? 0)
        guard excess > 0 else { return }
        let byTime = ejected.sorted { first, second in
            let (end, other) = (members[first].ejectedUntil ?? now, members[second].ejectedUntil ?? now)
            return end == other ? first < second : end < other
        }
        for place in byTime.prefix(excess) { bringBack(place, at: now, &changes) }
    }

    /// The time after which an ejection count drops. It includes the slow start, in which an endpoint gets too few
    /// calls for the rules of an interval.
    private var memory: Duration { settings.ejection.map { $0.memory + growth } ?? .infinite }

    /// Makes the changes due to time alone: endpoints return, weights are full again, ejection counts drop, and the
    /// rules of an interval are applied.
    mutating func advance(
        to now: MonotonicInstant, using generator: inout some RandomNumberGenerator
    ) -> [Change] {
        guard now >= nextChange else { return [] }
        var changes: [Change] = []
        passTime(at: now, &changes)
        if intervalEnd <= now { endInterval(at: now, using: &generator, &changes) }
        planNextChange()
        return changes
    }

    /// Makes the changes due to time alone, except for the rules of an interval.
    private mutating func passTime(at now: MonotonicInstant, _ changes: inout [Change]) {
        for place in members.indices {
            if let end = members[place].ejectedUntil, end <= now, end != .distantFuture {
                bringBack(place, at: now, &changes)
            }
            if let since = members[place].growsSince, since + growth <= now { members[place].growsSince = nil }
            if members[place].forgetsAt <= now, members[place].forgetsAt != .distantFuture { forget(place, at: now) }
        }
        refresh(&changes)
    }

    private var growth: Duration { settings.slowStart?.over ?? .zero }

    private mutating func forget(_ place: Int, at now: MonotonicInstant) {
        let record = members[place].record
        if record.calls > 0, record.failureShare <= 0.1, members[place].ejections > 0 { members[place].ejections -= 1 }
        members[place].record = OutcomeCounts()
        members[place].forgetsAt = members[place].ejections > 0 ? now + memory : .distantFuture
    }

    private mutating func endInterval(
        at now: MonotonicInstant, using generator: inout some RandomNumberGenerator, _ changes: inout [Change]
    ) {
        guard let ejection = settings.ejection else { return }
        // More than an interval late: the counts are outdated.
        let isLate = now >= intervalEnd + ejection.interval
        if !isLate {
            for (place, reason) in outliers(by: ejection) {
                eject(place, reason, at: now, using: &generator, &changes)
            }
        }
        for place in members.indices { members[place].counts = OutcomeCounts() }
        intervalEnd = (isLate ? now : intervalEnd) + ejection.interval
    }

    /// The endpoints that the rules of an interval eject, the worst first.
    private func outliers(by ejection: OutlierEjection) -> [(place: Int, EjectionReason)] {
        var found: [(place: Int, EjectionReason)] = []
        if let rule = ejection.deviation {
            let compared = places(withCalls: rule.minimumCalls)
            if compared.count >= rule.minimumEndpoints {
                let shares = compared.map { 1 - members[$0].counts.failureShare }
                let mean = shares.reduce(0, +) / Double(shares.count)
                let variance = shares.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(shares.count)
                let limit = mean - rule.factor * variance.squareRoot()
                for (place, share) in zip(compared, shares) where share < limit && mean - share >= rule.minimumGap {
                    found.append((place, .deviation(share, mean: mean)))
                }
            }
        }
        if let rule = ejection.failureShare {
            let compared = places(withCalls: rule.minimumCalls)
            if compared.count >= rule.minimumEndpoints {
                for place in compared
                where members[place].counts.failureShare >= rule.limit && !found.contains(where: { $0.place == place })
                {
                    found.append((place, .failureShare(members[place].counts.failureShare)))
                }
            }
        }
        return found.sorted { first, second in
            let (share, other) = (members[first.place].counts.failureShare, members[second.place].counts.failureShare)
            return share == other ? first.place < second.place : share > other
        }
    }

    private func places(withCalls minimum: Int) -> [Int] {
        members.indices.filter { members[$0].ejectedUntil == nil && members[$0].counts.calls >= minimum }
    }

    /// Recomputes which endpoints get calls.
    private mutating func refresh(_ changes: inout [Change]) {
        let present = members.indices.filter { !members[$0].isHeldOut }
        let healthy = present.filter { members[$0].ejectedUntil == nil }
        // Subtracts a little, since a product such as 0.07 × 100 may be just above a whole number.
        let panics = Double(healthy.count) < settings.panicThreshold * Double(present.count) - 1e-9
        usable = panics ? present : healthy
        areAlike = usable.allSatisfy {
            members[$0].growsSince == nil && members[$0].weight == members[usable[0]].weight
        }
        if panics != isPanicking {
            isPanicking = panics
            changes.append(panics ? .panicBegan(left: healthy.count, of: present.count) : .panicEnded)
        }
        planNextChange()
    }

    private mutating func planNextChange() {
        var next =
            settings.ejection?.deviation == nil && settings.ejection?.failureShare == nil
            ? MonotonicInstant.distantFuture : intervalEnd
        for member in members {
            if let end = member.ejectedUntil { next = min(next, end) }
            if let since = member.growsSince { next = min(next, since + growth) }
            next = min(next, member.forgetsAt)
        }
        nextChange = next
    }

    // MARK: By hand

    /// Replaces the list. The state of remaining endpoints is kept.
    /// - Parameter list: Each endpoint's number, or nil if it is new, and its weight, above 0; in order.
    /// - Returns: The resulting changes.
    mutating func update(
        to list: [(id: Int?, weight: Double)], at now: MonotonicInstant,
        using generator: inout some RandomNumberGenerator
    ) -> [Change] {
        let old = Dictionary(members.map { ($0.id, $0) }) { first, _ in first }
        let staying = list.count { $0.id.map { old[$0] != nil } ?? false }
        // If most endpoints are new, all get full weight: otherwise the old endpoints would get all calls.
        let grow = settings.slowStart != nil && staying * 2 >= list.count
        // The order does not matter.
        let isSame =
            members.count == list.count
            && list.allSatisfy { entry in entry.id.flatMap { old[$0]?.weight == entry.weight } ?? false }
        members = list.map { entry in
            if let id = entry.id, var member = old[id] {
                member.weight = entry.weight
                return member
            }
            defer { nextID += 1 }
            var member = Member(id: nextID, weight: entry.weight)
            if grow { member.growsSince = now }
            return member
        }
        // Credits from other weights or another list could give an endpoint a thousand turns in a row.
        if !isSame { beginRound(using: &generator) }
        var changes: [Change] = []
        keepBounds(at: now, &changes)
        refresh(&changes)
        return changes
    }

    /// Begins a round at an endpoint chosen at random by weight, so that not all processes begin with the same
    /// endpoint.
    private mutating func beginRound(using generator: inout some RandomNumberGenerator) {
        var rest = Double.random(in: 0..<1, using: &generator) * members.reduce(0) { $0 + $1.weight }
        let heaviest = members.map(\.weight).max() ?? 0
        var isFirst = true
        for place in members.indices {
            // Endpoints due at the same time come in random order.
            members[place].due = Double.random(in: 0..<1e-6, using: &generator)
            rest -= members[place].weight
            guard isFirst, rest < 0 || place == members.count - 1 else { continue }
            members[place].due = heaviest - members[place].weight + 1e-6
            isFirst = false
        }
    }

    /// Takes an endpoint out, regardless of the others.
    /// - Parameter end: When it returns; `distantFuture` until it is brought back by hand.
    mutating func eject(_ id: Int, until end: MonotonicInstant, at now: MonotonicInstant) -> [Change] {
        guard let place = members.firstIndex(where: { $0.id == id }) else { return [] }
        members[place].isHeldOut = true
        takeOut(place, until: end)
        let length = end == .distantFuture ? Duration.infinite : max(.zero, now.duration(to: end))
        var changes = [Change.ejected(place, .byHand, for: length)]
        keepBounds(at: now, &changes)
        refresh(&changes)
        return changes
    }

    /// Brings an endpoint back early, whatever the reason for its ejection.
    mutating func restore(_ id: Int, at now: MonotonicInstant) -> [Change] {
        guard let place = members.firstIndex(where: { $0.id == id }), members[place].ejectedUntil != nil else {
            return []
        }
        var changes: [Change] = []
        bringBack(place, at: now, &changes)
        refresh(&changes)
        return changes
    }

    /// Applies other settings. The state of the endpoints is kept.
    mutating func change(to settings: Settings, at now: MonotonicInstant) -> [Change] {
        var changes: [Change] = []
        if settings.slowStart == nil { for place in members.indices { members[place].growsSince = nil } }
        if settings.ejection?.interval != self.settings.ejection?.interval {
            intervalEnd = now + (settings.ejection?.interval ?? .infinite)
        }
        self.settings = settings
        for place in members.indices where !members[place].isHeldOut {
            guard let ejection = settings.ejection, let end = members[place].ejectedUntil else { continue }
            members[place].ejections = min(members[place].ejections, ejection.maxInARow)
            members[place].ejectedUntil = min(end, now + .nanoseconds(ejection.length(ofNumber: .max, 1)))
        }
        keepBounds(at: now, &changes)
        refresh(&changes)
        return changes
    }

    /// Resets everything but the calls in flight, and brings all endpoints back.
    mutating func reset(at now: MonotonicInstant) -> [Change] {
        var changes: [Change] = []
        for place in members.indices {
            if members[place].ejectedUntil != nil { bringBack(place, at: now, &changes) }
            members[place].generation &+= 1
            members[place].clearCounts()
            members[place].total = OutcomeCounts()
            members[place].ejections = 0
            members[place].forgetsAt = .distantFuture
            members[place].growsSince = nil
        }
        intervalEnd = now + (settings.ejection?.interval ?? .infinite)
        refresh(&changes)
        return changes
    }

    /// The machine's state at this time, with the changes due to time alone.
    func advanced(to now: MonotonicInstant) -> EndpointPoolStateMachine {
        var (copy, changes) = (self, [Change]())
        copy.passTime(at: now, &changes)
        return copy
    }

    /// When the next endpoint returns; nil if no ejection has an end.
    var nextReturn: MonotonicInstant? {
        members.compactMap(\.ejectedUntil).filter { $0 != .distantFuture }.min()
    }

    /// Whether no call is in flight, and no endpoint is ejected.
    var isIdle: Bool { members.allSatisfy { $0.inFlight == 0 && $0.ejectedUntil == nil } }

    /// Whether no call is in flight, and nothing is counted.
    var isAtRest: Bool { isIdle && members.allSatisfy { $0.streak == 0 && $0.ejections == 0 } }
}

extension OutcomeCounts {
    /// The share of calls that failed; 0 without calls.
    fileprivate var failureShare: Double { calls == 0 ? 0 : Double(failures) / Double(calls) }
}

extension Int {
    fileprivate mutating func saturatingIncrement() { self = saturatingAdding(1) }
}

/// A call's endpoint.
@usableFromInline struct EndpointPick: Sendable, Hashable {
    let id: Int
    /// Its place when it was chosen.
    @usableFromInline let place: Int
    fileprivate let generation: Int
}

extension EndpointPoolSettings {
    /// What a call's end shows about its endpoint: it answered, it failed, or neither.
    func evidence(of verdict: Verdict) -> EndpointPoolStateMachine.Evidence {
        if verdict.saysNothing { return .nothing }
        if failing.contains(verdict) { return .failing }
        return verdict.kind == .success || verdict.kind == .permanent ? .healthy : .nothing
    }
}
