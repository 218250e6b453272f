import Resilience

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Which mutations go next: the heads of the lanes in order, one of each lane at a time, and a lane that failed not before
/// its time.
///
/// It walks through the store's heads a page at a time. While that takes, heads may appear behind it: the next of a lane, one
/// whose time has come, one that was refused. So after a page a second walk follows, over what lies behind, and the two take
/// turns: neither what fails again and again nor what arrives faster than it can be sent keeps others away.
struct LanesStateMachine: Sendable, Hashable {
    /// Heads found at a time; and, while nobody gets through, most lanes held back: then there is no use in trying more.
    let pageSize: Int
    /// Most lanes held back at all.
    let mostHeld: Int

    /// A walk through the store's heads.
    private struct Walk: Sendable, Hashable {
        /// Found and not yet sent.
        var heads: [LaneHead] = []
        var cursor = Int64.min
        /// Nothing after this is its own; nil for the first walk.
        var end: Int64?
        var isAtEnd = false

        static func before(_ position: Int64) -> Int64 { max(position, .min + 1) - 1 }
    }

    /// One to the end, and at times another, over what lies behind it.
    private var walks = [Walk()]
    private var turn = 0
    /// The walk whose page was asked for.
    private var asked = 0
    /// Heads may have appeared anywhere: once the end is reached, it is looked from the start.
    private var mustLookAgain = false
    /// Heads may have appeared behind the first walk, but not before this.
    private var appeared: Int64?
    /// The first that a policy of ours refused since the flush began: it was not tried. And the one that this flush began with
    /// for that reason.
    private var refused: Int64?
    private var first: Int64?
    /// Lanes with a mutation in flight.
    private(set) var busy: Set<String> = []
    /// Until when.
    private(set) var held: [String: MonotonicInstant] = [:]
    /// Of lanes that are busy or held: the first place where a head was seen that could not be sent. An older one may have been
    /// revived before the one in flight.
    private var seen: [String: Int64] = [:]
    /// Failures since somebody got through; more than a page of them is all the same.
    private var fruitless = 0

    /// Whether there is one that may be sent, as far as it has looked.
    var hasHeads: Bool { walks.contains { !$0.heads.isEmpty } }

    init(pageSize: Int, mostHeld: Int = 10_000) {
        self.pageSize = pageSize
        self.mostHeld = mostHeld
    }

    /// What may be sent together.
    struct Rules: Sendable, Hashable {
        /// How much goes in one request, by kind.
        var batchLimits: [String: BatchLimit]
        /// For all other kinds; nil if nobody sends them.
        var otherKinds: BatchLimit?
        /// What was queued before this is too old to be sent.
        var oldest: Date?

        func batchLimit(for kind: String) -> BatchLimit? { batchLimits[kind] ?? otherKinds }

        func isExpired(_ head: LaneHead) -> Bool { oldest.map { head.queuedAt < $0 } ?? false }
    }

    enum Step: Sendable, Equatable {
        /// These, in one request. Their lanes are busy until ``ended(_:)``.
        case send([LaneHead])
        case park(LaneHead, ParkReason)
        /// The next page of heads is wanted: ``found(_:)``.
        case look(after: Int64)
        /// Nothing before this instant, or a request's end.
        case wait(until: MonotonicInstant)
        /// All that is left is held back, at least until this instant.
        case stalled(until: MonotonicInstant)
        /// Nothing is left.
        case done
    }

    enum ParkReason: String, Sendable, Equatable {
        case noHandler = "No handler for its kind."
        case expired = "It is older than the age limit."
    }

    /// - Parameter pace: whether another request may go.
    mutating func next(at now: MonotonicInstant, pace: SendPace.Answer, rules: Rules) -> Step {
        release(at: now)
        let due = held.values.min() ?? .distantFuture
        if held.count >= (fruitless < pageSize ? mostHeld : pageSize) {
            return busy.isEmpty ? .stalled(until: due) : .wait(until: due)
        }
        while true {
            while walks.count > 1, isOver(1) { (turn, walks) = (0, [walks[0]]) }
            lookBehind()
            for index in walks.count > 1 ? [turn, 1 - turn] : [0] {
                if let step = next(of: index, pace, rules, due: due) { return step }
            }
            if walks.count > 1 || mustLookAgain || appeared != nil { continue }
            if !busy.isEmpty { return .wait(until: due) }
            return held.isEmpty ? .done : .stalled(until: due)
        }
    }

    /// - Returns: nil once the walk is over.
    private mutating func next(
        of index: Int, _ pace: SendPace.Answer, _ rules: Rules, due: MonotonicInstant
    ) -> Step? {
        dropTaken(index)
        guard let head = walks[index].heads.first else { return walks[index].isAtEnd ? nil : look(index) }
        guard let limit = rules.batchLimit(for: head.kind) else { return park(index, .noHandler) }
        if rules.isExpired(head) { return park(index, .expired) }
        if !walks[index].isAtEnd, !isFull(limit, index, rules) { return look(index) }
        switch pace {
        case .now:
            if walks.count > 1 { turn = 1 - index }
            return .send(take(upTo: limit, of: index, rules))
        case .notBefore(let instant): return .wait(until: min(instant, due))
        case .afterAnEnd: return .wait(until: due)
        }
    }

    /// From the start once the end is reached; and before that, after a page, where heads may have appeared behind it.
    private mutating func lookBehind() {
        guard walks.count == 1, mustLookAgain || appeared != nil else { return }
        dropTaken(0)
        guard walks[0].heads.isEmpty else { return }
        if walks[0].isAtEnd {
            walks = [Walk(cursor: mustLookAgain ? .min : appeared.map(Walk.before) ?? .min)]
            (mustLookAgain, appeared) = (false, nil)
        } else if let first = appeared {
            appeared = nil
            guard walks[0].cursor > .min, first <= walks[0].cursor else { return }
            walks.append(Walk(cursor: Walk.before(first), end: walks[0].cursor))
        }
    }

    private mutating func see(_ head: LaneHead) { seen[head.entity] = min(seen[head.entity] ?? .max, head.position) }

    private mutating func appear(at position: Int64) { appeared = min(appeared ?? .max, position) }

    private mutating func isOver(_ index: Int) -> Bool {
        dropTaken(index)
        return walks[index].isAtEnd && walks[index].heads.isEmpty
    }

    /// They are found again when their lanes are free.
    private mutating func dropTaken(_ index: Int) {
        let free = walks[index].heads.firstIndex { !isTaken($0.entity) } ?? walks[index].heads.count
        walks[index].heads.prefix(free).forEach { see($0) }
        walks[index].heads.removeFirst(free)
    }

    private mutating func look(_ index: Int) -> Step {
        asked = index
        return .look(after: walks[index].cursor)
    }

    private mutating func park(_ index: Int, _ reason: ParkReason) -> Step {
        let head = walks[index].heads.removeFirst()
        // The next of its lane may be a head then.
        appear(at: head.position)
        return .park(head, reason)
    }

    /// Whether more heads would make no difference to what is taken.
    private func isFull(_ limit: BatchLimit, _ index: Int, _ rules: Rules) -> Bool {
        let heads = walks[index].heads
        guard heads.count < limit.count else { return true }
        guard limit.bytes != nil else { return false }
        var filled = (count: 0, bytes: 0)
        return !heads.allSatisfy { !goes($0, with: heads[0], rules) || limit.takes($0, &filled) }
    }

    /// The first head, and those that go with it, up to the one that is too much.
    private mutating func take(upTo limit: BatchLimit, of index: Int, _ rules: Rules) -> [LaneHead] {
        let heads = walks[index].heads
        var taken: [LaneHead] = []
        var rest: [LaneHead] = []
        var filled = (count: 0, bytes: 0)
        for (number, head) in heads.enumerated() {
            guard goes(head, with: heads[0], rules) else {
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
        walks[index].heads = rest
        return taken
    }

    private func goes(_ head: LaneHead, with first: LaneHead, _ rules: Rules) -> Bool {
        if head.position == first.position { return true }
        // One that has failed goes alone: else it could fail for all that go with it, for ever.
        return first.failures == 0 && head.failures == 0 && head.kind == first.kind && !isTaken(head.entity)
            && !rules.isExpired(head)
    }

    /// The page that ``Step/look(after:)`` asked for: in order, empty at the end.
    mutating func found(_ page: [LaneHead]) {
        let index = min(asked, walks.count - 1)
        asked = 0
        let end = walks[index].end
        if let last = page.last {
            walks[index].cursor = last.position
            walks[index].isAtEnd = end.map { last.position >= $0 } ?? false
        } else {
            walks[index].isAtEnd = true
        }
        // Those of lanes that are taken are found again when these are free, and as they are then.
        let own = page.filter { $0.position <= end ?? .max }
        let heads = own.filter { !isTaken($0.entity) }
        own.filter { isTaken($0.entity) }.forEach { see($0) }
        walks[index].heads += heads
        if heads.isEmpty, walks.count > 1 { turn = 1 - index }
    }

    /// They were not sent: the store has others as heads now, or none.
    mutating func cameToNothing(_ heads: some Sequence<LaneHead>) {
        ended(heads)
        appear(at: .min)
    }

    /// A request has ended, and what became of its mutations is going to be in the store before the next look.
    mutating func ended(_ heads: some Sequence<LaneHead>) {
        for head in heads {
            busy.remove(head.entity)
            see(head)
            appear(at: seen.removeValue(forKey: head.entity) ?? head.position)
        }
    }

    /// A policy of ours refused it.
    mutating func refused(_ head: LaneHead) { refused = min(refused ?? .max, head.position) }

    /// The head's lane is not sent from before this instant.
    mutating func hold(_ head: LaneHead, until instant: MonotonicInstant) {
        held[head.entity] = instant
        see(head)
        fruitless = min(fruitless + 1, pageSize)
    }

    /// Somebody got through.
    mutating func delivered() { fruitless = 0 }

    /// Heads may have appeared anywhere.
    mutating func lookAgain() { mustLookAgain = true }

    /// Heads have appeared that may be as old as any.
    mutating func revived() { appear(at: .min) }

    /// A flush begins: what was found may have changed since. It goes on where the one before it was, or what fails at the
    /// start of each would keep all others away; and first with what was refused, but not with the same twice in a row, since
    /// that may be refused each time.
    mutating func begin() {
        for index in walks.indices {
            guard let first = walks[index].heads.first else { continue }
            walks[index].cursor = Walk.before(first.position)
            walks[index].isAtEnd = false
            walks[index].heads = []
        }
        first = refused == first ? nil : refused
        if let first, first <= walks[0].cursor {
            walks = [walks[0], Walk(end: walks[0].cursor)]
            walks[1].cursor = Walk.before(first)
            turn = 1
        } else if walks.count == 1, walks[0].isAtEnd {
            walks = [Walk()]
        }
        (asked, refused, mustLookAgain) = (0, nil, false)
        appeared = walks.count > 1 || walks[0].cursor > .min ? .min : nil
    }

    mutating func releaseAll() {
        (held, seen, fruitless) = ([:], [:], 0)
        mustLookAgain = true
        appear(at: .min)
    }

    private func isTaken(_ lane: String) -> Bool { busy.contains(lane) || held[lane] != nil }

    private mutating func release(at now: MonotonicInstant) {
        for (lane, until) in held where until <= now {
            held[lane] = nil
            appear(at: seen.removeValue(forKey: lane) ?? .min)
        }
    }
}
