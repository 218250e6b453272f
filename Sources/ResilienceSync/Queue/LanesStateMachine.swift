import Resilience

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Decides which mutations go next: the heads of the lanes in order, one per lane at a time, and no failed lane before
/// its time.
///
/// It walks through the store's heads a page at a time. Meanwhile heads may appear behind it: the next mutation of a
/// lane, a head whose time has come, or a rejected head. So after a page a second walk covers the part behind, and the
/// two walks take turns. So mutations that repeatedly fail, or that arrive faster than they can be sent, do not block
/// others. At most one request of four goes to a lane that failed before, while other lanes wait; to find those other
/// lanes, it looks a few pages ahead.
///
/// The heads of urgent lanes go first, but one request of ten goes in order. So, with any number of urgent mutations, a
/// mutation that is not urgent waits for at most ten times as many requests as without them, or ten times as many as
/// there are mutations before it, whichever is more.
///
/// A mutation that may have ended processes goes alone: after the others, and with nothing else in flight.
struct LanesStateMachine: Sendable, Hashable {
    /// The number of heads to find at a time. Also the most lanes held back while no mutation gets through: then it
    /// would be useless to try more.
    let pageSize: Int
    /// The most lanes held back in any case.
    let mostHeld: Int
    /// The most requests in a row that go to urgent lanes while others wait.
    let mostHurried: Int

    /// A walk through the store's heads.
    private struct Walk: Sendable, Hashable {
        /// The heads that were found and not yet sent.
        var heads: [LaneHead] = []
        var cursor = Int64.min
        /// The last position of this walk; nil for the first walk, which goes to the end.
        var end: Int64?
        var isAtEnd = false

        static func before(_ position: Int64) -> Int64 { max(position, .min + 1) - 1 }
    }

    /// A walk to the end, and at times a second one over the part behind it.
    private var walks = [Walk()]
    /// The urgent heads that were found and not yet sent. None of these is also in a walk.
    private var urgent = Walk(isAtEnd: true)
    /// The lanes that were urgent when last requested.
    private var urgentLanes: Set<String> = []
    /// Whether the store ever holds urgent mutations: only then does the queue ask for them between pages.
    var knowsUrgent = false
    private var mustLookForUrgent = false
    /// The number of requests to urgent lanes since the last request in order.
    private var hurried = 0
    private var turn = 0
    /// The walk whose page was requested; ``urgentIndex`` if only urgent heads were requested.
    private var asked = 0
    /// How many requests the first walk may still send before a look behind it, even if the walk has found more heads.
    private var left = 0
    /// How many requests go to other lanes before the next request to a lane that failed before.
    private var spared = 0
    /// Whether heads may have appeared anywhere: then the walk starts again after its end.
    private var mustLookAgain = false
    /// Where heads may have appeared behind the first walk: at this position or later.
    private var appeared: Int64?
    /// The first head that a policy of the pipeline rejected in this flush, so that it was not tried. And the head that
    /// this flush began with because a policy rejected it in the previous flush.
    private var rejected: Int64?
    private var first: Int64?
    /// Lanes with a mutation in flight.
    private(set) var busy: Set<String> = []
    /// The lanes that are held back, and until when.
    private(set) var held: [String: MonotonicInstant] = [:]
    /// When the next mutation that waits for its date may be sent, by the store's latest answer.
    private(set) var nextDue: MonotonicInstant?
    /// For lanes that are busy or held: the first position where an unsendable head was seen. It may be before the
    /// mutation in flight, if an older mutation was revived.
    private var seen: [String: Int64] = [:]
    /// The number of failures since a mutation got through, counted up to the size of a page.
    private var fruitless = 0
    /// Heads that go alone, by lane, and the lane of the head that is in flight.
    private var suspects: [String: LaneHead] = [:]
    private var alone: String?
    /// The number of requests that may still go before a suspect.
    private var patience = Self.mostBeforeSuspects

    private static let mostBeforeSuspects = 1_000
    /// More than one, because a lane that failed before is held back for longer, and because only a few lanes may be
    /// held back while nothing gets through.
    private static let othersFirst = 3
    /// How many pages it looks ahead for a lane that did not fail before.
    private static let mostPagesAhead = 10
    private static let urgentIndex = -1

    private subscript(index: Int) -> Walk {
        get { index == Self.urgentIndex ? urgent : walks[index] }
        set { if index == Self.urgentIndex { urgent = newValue } else { walks[index] = newValue } }
    }

    /// Whether the pages so far contain a mutation that may be sent.
    var hasHeads: Bool {
        !suspects.isEmpty || !urgent.heads.isEmpty || walks.contains { !$0.heads.isEmpty }
    }

    init(pageSize: Int, mostHeld: Int = 10_000, mostHurried: Int = 9) {
        (self.pageSize, left) = (pageSize, pageSize)
        (self.mostHeld, self.mostHurried) = (mostHeld, mostHurried)
    }

    /// Decides which mutations may be sent, and how many in one request.
    struct Rules: Sendable, Hashable {
        /// How much is sent in one request, by kind.
        var batchLimits: [String: BatchLimit]
        /// The same limit for all other kinds; nil if they have no handler.
        var otherKinds: BatchLimit?
        /// Mutations queued before this are too old to be sent.
        var oldest: Date?
        /// The number of claims without an answer at which a mutation is no longer sent.
        var maxClaims = Int.max

        func batchLimit(for kind: String) -> BatchLimit? { batchLimits[kind] ?? otherKinds }

        func isExpired(_ head: LaneHead) -> Bool { oldest.map { head.queuedAt < $0 } ?? false }
    }

    enum Step: Sendable, Equatable {
        /// Send these in one request. Their lanes are busy until ``ended(_:)``.
        case send([LaneHead])
        case park(LaneHead, ParkReason)
        /// Read the next page of heads → ``found(_:)``
        case look(after: Int64)
        /// Do nothing before this instant, or before a request ends.
        case wait(until: MonotonicInstant)
        /// Everything left is held back, at least until this instant.
        case stalled(until: MonotonicInstant)
        /// Nothing is left.
        case done
    }

    enum ParkReason: String, Sendable, Equatable {
        case noHandler = "No handler for its kind."
        case expired = "It is older than the age limit."
        case neverAnswered = "Each time it was sent, the process ended before there was an answer."
    }

    /// - Parameter pace: Whether another request may go.
    mutating func next(at now: MonotonicInstant, pace: SendPace.Answer, rules: Rules) -> Step {
        release(at: now)
        let due = min(held.values.min() ?? .distantFuture, nextDue ?? .distantFuture)
        if alone != nil { return .wait(until: due) }
        if patience <= 0, !suspects.isEmpty { return sendAlone(pace, due: due) }
        if held.count >= (fruitless < pageSize ? mostHeld : pageSize) {
            return busy.isEmpty ? .stalled(until: due) : .wait(until: due)
        }
        if mustLookForUrgent || asked == Self.urgentIndex, pace == .now, isOver(Self.urgentIndex) {
            mustLookForUrgent = false
            asked = Self.urgentIndex
            // This asks for an empty page, since urgent heads come with each page.
            return .look(after: .max)
        }
        while true {
            while walks.count > 1, isOver(1) { (turn, walks) = (0, [walks[0]]) }
            lookBehind()
            let inOrder = walks.count > 1 ? [turn, 1 - turn] : [0]
            let indices = hurried < mostHurried ? [Self.urgentIndex] + inOrder : inOrder + [Self.urgentIndex]
            for isSparing in spared > 0 ? [true, false] : [false] {
                for index in indices {
                    if let step = next(of: index, isSparing, pace, rules, due: due) { return step }
                }
            }
            if walks.count > 1 || mustLookAgain || appeared != nil { continue }
            if !suspects.isEmpty { return sendAlone(pace, due: due) }
            if !busy.isEmpty { return .wait(until: due) }
            return held.isEmpty ? .done : .stalled(until: due)
        }
    }

    /// - Parameter isSparing: Whether to leave out lanes that failed before.
    /// - Returns: nil once the walk is over, or has found no other lanes in the pages ahead.
    private mutating func next(
        of index: Int, _ isSparing: Bool, _ pace: SendPace.Answer, _ rules: Rules, due: MonotonicInstant
    ) -> Step? {
        dropTaken(index)
        let heads = self[index].heads
        guard
            let place =
                isSparing
                ? heads.firstIndex(where: { $0.failures == 0 && !isTaken($0.entity) })
                : heads.indices.first
        else {
            return self[index].isAtEnd || heads.count >= Self.mostPagesAhead.saturatingMultiplied(by: pageSize)
                ? nil : look(index)
        }
        let head = heads[place]
        guard let limit = rules.batchLimit(for: head.kind) else { return park(index, place, .noHandler) }
        if rules.isExpired(head) { return park(index, place, .expired) }
        if head.claims >= rules.maxClaims { return park(index, place, .neverAnswered) }
        if head.isSuspect {
            suspects[head.entity] = self[index].heads.remove(at: place)
            return next(of: index, isSparing, pace, rules, due: due)
        }
        if !self[index].isAtEnd, !isFull(limit, head, index, rules) { return look(index) }
        if let wait = Self.wait(for: pace, due: due) { return wait }
        if index == Self.urgentIndex {
            hurried = min(hurried + 1, mostHurried)
        } else {
            hurried = 0
            if walks.count > 1 { turn = 1 - index }
        }
        if index == 0 { left -= 1 }
        spared = head.failures > 0 ? Self.othersFirst : max(0, spared - 1)
        patience = suspects.isEmpty ? Self.mostBeforeSuspects : patience - 1
        return .send(take(head, upTo: limit, of: index, rules))
    }

    /// Returns nil if another request may go.
    private static func wait(for pace: SendPace.Answer, due: MonotonicInstant) -> Step? {
        switch pace {
        case .now: nil
        case .notBefore(let instant): .wait(until: min(instant, due))
        case .afterAnEnd: .wait(until: due)
        }
    }

    private mutating func sendAlone(_ pace: SendPace.Answer, due: MonotonicInstant) -> Step {
        guard busy.isEmpty else { return .wait(until: due) }
        if let wait = Self.wait(for: pace, due: due) { return wait }
        guard let head = suspects.values.min(by: { $0.position < $1.position }) else { return .done }
        suspects[head.entity] = nil
        busy.insert(head.entity)
        (alone, patience) = (head.entity, Self.mostBeforeSuspects)
        return .send([head])
    }

    /// At the end of the walk, starts it again. Before its end, looks after each page at the part behind it, where
    /// heads may have appeared.
    private mutating func lookBehind() {
        guard walks.count == 1, mustLookAgain || appeared != nil else { return }
        dropTaken(0)
        let ahead = walks[0].heads.first?.position
        if ahead == nil, walks[0].isAtEnd {
            walks = [Walk(cursor: mustLookAgain ? .min : appeared.map(Walk.before) ?? .min)]
            (mustLookAgain, appeared) = (false, nil)
        } else if let first = appeared, ahead == nil || left <= 0 {
            // Once the found heads are sent, the machine looks for heads that appeared among them.
            let end = ahead.map(Walk.before) ?? walks[0].cursor
            appeared = ahead.map { max(first, $0) }
            guard end > .min, first <= end else { return }
            walks.append(Walk(cursor: Walk.before(first), end: end))
        } else {
            return
        }
        left = pageSize
    }

    private mutating func see(_ head: LaneHead) { seen[head.entity] = min(seen[head.entity] ?? .max, head.position) }

    /// - Parameter lane: The only lane in which a head may have appeared; nil if unknown.
    private mutating func appear(at position: Int64, in lane: String? = nil) {
        appeared = min(appeared ?? .max, position)
        if lane.map(urgentLanes.contains) ?? knowsUrgent { mustLookForUrgent = true }
    }

    private mutating func isOver(_ index: Int) -> Bool {
        dropTaken(index)
        return self[index].isAtEnd && self[index].heads.isEmpty
    }

    /// Drops the first heads, whose lanes are taken. A later walk finds them again once their lanes are free.
    private mutating func dropTaken(_ index: Int) {
        let free = self[index].heads.firstIndex { !isTaken($0.entity) } ?? self[index].heads.count
        guard free > 0 else { return }
        self[index].heads.prefix(free).forEach { see($0) }
        self[index].heads.removeFirst(free)
    }

    private mutating func look(_ index: Int) -> Step {
        asked = index
        return .look(after: self[index].cursor)
    }

    private mutating func park(_ index: Int, _ place: Int, _ reason: ParkReason) -> Step {
        let head = self[index].heads.remove(at: place)
        // The next mutation of its lane may become a head.
        appear(at: head.position, in: head.entity)
        return .park(head, reason)
    }

    /// Whether more heads would not change the selection.
    private func isFull(_ limit: BatchLimit, _ first: LaneHead, _ index: Int, _ rules: Rules) -> Bool {
        let heads = self[index].heads
        guard heads.count < limit.count else { return true }
        guard limit.bytes != nil else { return false }
        var filled = (count: 0, bytes: 0)
        return !heads.allSatisfy { !goes($0, with: first, rules) || limit.takes($0, &filled) }
    }

    /// Takes this head, and compatible heads, up to the first that exceeds the limit.
    private mutating func take(
        _ first: LaneHead, upTo limit: BatchLimit, of index: Int, _ rules: Rules
    ) -> [LaneHead] {
        let heads = self[index].heads
        var taken: [LaneHead] = []
        var rest: [LaneHead] = []
        var filled = (count: 0, bytes: 0)
        for (number, head) in heads.enumerated() {
            guard goes(head, with: first, rules) else {
                rest.append(head)
                continue
            }
            guard limit.takes(head, &filled) else {
                rest += heads[number...]
                break
            }
            busy.insert(head.entity)
            taken.append(head)
        }
        self[index].heads = rest
        return taken
    }

    private func goes(_ head: LaneHead, with first: LaneHead, _ rules: Rules) -> Bool {
        if head.position == first.position { return true }
        // A mutation that has failed goes alone; otherwise it could make all others in its request fail, for ever.
        return first.failures == 0 && head.failures == 0 && !head.isSuspect && head.kind == first.kind
            && !isTaken(head.entity)
            && !rules.isExpired(head)
    }

    /// Receives the page that ``Step/look(after:)`` asked for: in order, empty at the end.
    /// - Parameters:
    ///   - urgent: The first heads of urgent lanes.
    ///   - nextDue: When the next mutation that waits for its date may be sent; nil if there is none.
    mutating func found(_ page: [LaneHead], urgent: [LaneHead] = [], nextDue: MonotonicInstant? = nil) {
        self.nextDue = nextDue
        let index = min(asked, walks.count - 1)
        asked = 0
        hurry(urgent)
        guard index >= 0 else { return }
        let end = walks[index].end
        if let last = page.last {
            walks[index].cursor = last.position
            walks[index].isAtEnd = end.map { last.position >= $0 } ?? false
        } else {
            walks[index].isAtEnd = true
        }
        // Heads of taken lanes are found again once the lanes are free, in their state then.
        let own = page.filter { $0.position <= end ?? .max }
        let hurried = Set(self.urgent.heads.map(\.position))
        let heads = own.filter { !isTaken($0.entity) && !hurried.contains($0.position) }
        own.filter { isTaken($0.entity) }.forEach { see($0) }
        walks[index].heads += heads
        if heads.isEmpty, walks.count > 1 { turn = 1 - index }
    }

    private mutating func hurry(_ heads: [LaneHead]) {
        knowsUrgent = knowsUrgent || !heads.isEmpty
        guard isOver(Self.urgentIndex) else {
            // After these heads are sent, more are requested.
            mustLookForUrgent = true
            return
        }
        urgentLanes = Set(heads.map(\.entity))
        urgent.heads = heads.filter { !isTaken($0.entity) }
        heads.filter { isTaken($0.entity) }.forEach { see($0) }
        guard !urgent.heads.isEmpty else { return }
        let positions = Set(urgent.heads.map(\.position))
        for index in walks.indices { walks[index].heads.removeAll { positions.contains($0.position) } }
    }

    /// Called when heads were not sent, because they were no longer heads in the store.
    mutating func cameToNothing(_ heads: some Sequence<LaneHead>) {
        ended(heads)
        appear(at: .min)
    }

    /// Called when a request has ended. The results of its mutations will be in the store before the next look.
    mutating func ended(_ heads: some Sequence<LaneHead>) {
        for head in heads {
            busy.remove(head.entity)
            if alone == head.entity { alone = nil }
            see(head)
            appear(at: seen.removeValue(forKey: head.entity) ?? head.position, in: head.entity)
        }
    }

    /// Called when a policy of the pipeline rejected the head.
    mutating func rejected(_ head: LaneHead) { rejected = min(rejected ?? .max, head.position) }

    /// Holds the head's lane back until this instant.
    mutating func hold(_ head: LaneHead, until instant: MonotonicInstant) {
        held[head.entity] = instant
        see(head)
        fruitless = min(fruitless + 1, pageSize)
    }

    /// Called when a pending mutation was removed: its lane is no longer held back because of it.
    ///
    /// - Parameter isLimited: Whether the lane is held back for its own limit.
    mutating func removed(_ head: LaneHead, isLimited: Bool) {
        if suspects[head.entity]?.position == head.position { suspects[head.entity] = nil }
        if held[head.entity] != nil, !isLimited, head.position <= seen[head.entity] ?? .max {
            (held[head.entity], seen[head.entity]) = (nil, nil)
        }
        appear(at: head.position, in: head.entity)
    }

    /// Called when a mutation got through.
    mutating func delivered() { fruitless = 0 }

    /// Called when heads may have appeared anywhere.
    mutating func lookAgain() {
        mustLookAgain = true
        if knowsUrgent { mustLookForUrgent = true }
        // A newly enqueued mutation need not wait until all found heads that failed have been sent.
        if walks.lazy.flatMap(\.heads).contains(where: { $0.failures > 0 }) { walks[0].isAtEnd = false }
    }

    /// Called when heads have appeared that may be as old as any.
    mutating func revived() { appear(at: .min) }

    /// Called when a flush begins: the found heads may have changed since. It continues where the previous flush ended;
    /// otherwise mutations that fail at the start of each flush would block all others. It begins with the rejected
    /// head, but not with the same head twice in a row, since a policy may reject that head each time.
    mutating func begin() {
        for index in walks.indices {
            guard let first = walks[index].heads.first else { continue }
            walks[index].cursor = Walk.before(first.position)
            walks[index].isAtEnd = false
            walks[index].heads = []
        }
        // The suspects and the urgent heads are looked for again.
        (suspects, urgent.heads, mustLookForUrgent) = ([:], [], false)
        first = rejected == first ? nil : rejected
        if let first, first <= walks[0].cursor {
            walks = [walks[0], Walk(end: walks[0].cursor)]
            walks[1].cursor = Walk.before(first)
            turn = 1
        } else if walks.count == 1, walks[0].isAtEnd {
            walks = [Walk()]
        }
        walks[0].isAtEnd = false
        (asked, rejected, mustLookAgain) = (0, nil, false)
        appeared = walks.count > 1 || walks[0].cursor > .min ? .min : nil
    }

    mutating func releaseAll() {
        (held, seen, fruitless) = ([:], [:], 0)
        mustLookAgain = true
        appear(at: .min)
    }

    private func isTaken(_ lane: String) -> Bool {
        busy.contains(lane) || held[lane] != nil || suspects[lane] != nil
    }

    private mutating func release(at now: MonotonicInstant) {
        for (lane, until) in held where until <= now {
            held[lane] = nil
            appear(at: seen.removeValue(forKey: lane) ?? .min, in: lane)
        }
        if let nextDue, nextDue <= now {
            self.nextDue = nil
            appear(at: .min)
        }
    }
}
