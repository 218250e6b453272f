import Resilience

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Which mutations go next: the heads of the lanes in order, one of each lane at a time, and a lane that failed not before
/// its time.
///
/// It walks through the store's heads a page at a time, and again from the start if heads may have appeared behind it.
struct LanesStateMachine: Sendable, Hashable {
    /// Heads found at a time; and, while nobody gets through, most lanes held back: then there is no use in trying more.
    let pageSize: Int
    /// Most lanes held back at all.
    let mostHeld: Int

    /// Found and not yet sent.
    private var heads: [LaneHead] = []
    /// Lanes with a mutation in flight.
    private(set) var busy: Set<String> = []
    /// Until when.
    private(set) var held: [String: Instant] = [:]
    /// The first that a policy of ours refused since the flush began: it was not tried.
    private var refused: Int64?
    /// Failures since somebody got through; more than a page of them is all the same.
    private var fruitless = 0
    private var cursor = Int64.min
    private var isAtEnd = false
    /// Heads may have appeared before the cursor.
    private var mustLookAgain = false

    /// Whether there is one that may be sent, as far as it has looked.
    var hasHeads: Bool { !heads.isEmpty }

    init(pageSize: Int, mostHeld: Int = 10_000) {
        self.pageSize = pageSize
        self.mostHeld = mostHeld
    }

    /// What may be sent together.
    struct Rules: Sendable, Hashable {
        /// Mutations in one request, by kind.
        var batchLimits: [String: Int]
        /// For all other kinds; nil if nobody sends them.
        var otherKinds: Int?
        /// What was queued before this is too old to be sent.
        var oldest: Date?

        func batchLimit(for kind: String) -> Int? { batchLimits[kind] ?? otherKinds }

        func isExpired(_ head: LaneHead) -> Bool { oldest.map { head.queuedAt < $0 } ?? false }
    }

    enum Step: Sendable, Equatable {
        /// These, in one request. Their lanes are busy until ``ended(_:)``.
        case send([LaneHead])
        case park(LaneHead, ParkReason)
        /// The next page of heads is wanted: ``found(_:)``.
        case look(after: Int64)
        /// Nothing before this instant, or a request's end.
        case wait(until: Instant)
        /// All that is left is held back, at least until this instant.
        case stalled(until: Instant)
        /// Nothing is left.
        case done
    }

    enum ParkReason: String, Sendable, Equatable {
        case noHandler = "No handler for its kind."
        case expired = "It is older than the age limit."
    }

    /// - Parameter pace: whether another request may go.
    mutating func next(at now: Instant, pace: SendPace.Answer, rules: Rules) -> Step {
        release(at: now)
        let due = held.values.min() ?? .distantFuture
        if held.count >= (fruitless < pageSize ? mostHeld : pageSize) {
            return busy.isEmpty ? .stalled(until: due) : .wait(until: due)
        }
        while let head = heads.first {
            // It is found again when its lane is free.
            if isTaken(head.entity) {
                heads.removeFirst()
                continue
            }
            guard let limit = rules.batchLimit(for: head.kind) else { return park(.noHandler) }
            if rules.isExpired(head) { return park(.expired) }
            if limit > heads.count, !isAtEnd { return .look(after: cursor) }
            switch pace {
            case .now: return .send(take(upTo: limit, with: head, rules))
            case .notBefore(let instant): return .wait(until: min(instant, due))
            case .afterAnEnd: return .wait(until: due)
            }
        }
        if isAtEnd, mustLookAgain { lookFromStart() }
        if !isAtEnd { return .look(after: cursor) }
        if !busy.isEmpty { return .wait(until: due) }
        return held.isEmpty ? .done : .stalled(until: due)
    }

    private mutating func park(_ reason: ParkReason) -> Step {
        // The next of its lane may be a head then.
        mustLookAgain = true
        return .park(heads.removeFirst(), reason)
    }

    /// This head, and those that go with it.
    private mutating func take(upTo limit: Int, with first: LaneHead, _ rules: Rules) -> [LaneHead] {
        var taken: [LaneHead] = []
        var rest: [LaneHead] = []
        for head in heads {
            // One that has failed goes alone: else it could fail for all that go with it, for ever.
            let goes =
                taken.isEmpty
                || taken.count < limit && first.failures == 0 && head.failures == 0 && head.kind == first.kind
                    && !isTaken(head.entity) && !rules.isExpired(head)
            if goes {
                busy.insert(head.entity)
                taken.append(head)
            } else {
                rest.append(head)
            }
        }
        heads = rest
        return taken
    }

    /// The page that ``Step/look(after:)`` asked for: in order, empty at the end.
    mutating func found(_ page: [LaneHead]) {
        guard let last = page.last else {
            isAtEnd = true
            return
        }
        cursor = last.position
        // Those of lanes that are taken are found again when these are free, and as they are then.
        heads += page.filter { !isTaken($0.entity) }
    }

    /// A request has ended, and what became of its mutations is going to be in the store before the next look.
    mutating func ended(_ lanes: some Sequence<String>) {
        busy.subtract(lanes)
        mustLookAgain = true
    }

    /// A policy of ours refused it.
    mutating func refused(_ head: LaneHead) { refused = min(refused ?? .max, head.position) }

    /// A lane is not sent from before this instant.
    mutating func hold(_ lane: String, until instant: Instant) {
        held[lane] = instant
        fruitless = min(fruitless + 1, pageSize)
    }

    /// Somebody got through.
    mutating func delivered() { fruitless = 0 }

    /// Heads may have appeared anywhere.
    mutating func lookAgain() { mustLookAgain = true }

    /// A flush begins: what was found may have changed since. It goes on where the one before it was, or what fails at the
    /// start of each would keep all others away.
    mutating func begin() {
        if let first = [heads.first?.position, refused].compactMap(\.self).min() {
            (cursor, isAtEnd) = (max(first, .min + 1) - 1, false)
        }
        (heads, refused) = ([], nil)
        if isAtEnd { lookFromStart() } else { mustLookAgain = cursor > .min }
    }

    mutating func releaseAll() {
        (held, fruitless) = ([:], 0)
        mustLookAgain = true
    }

    private func isTaken(_ lane: String) -> Bool { busy.contains(lane) || held[lane] != nil }

    private mutating func release(at now: Instant) {
        for (lane, until) in held where until <= now {
            held[lane] = nil
            mustLookAgain = true
        }
    }

    private mutating func lookFromStart() {
        cursor = .min
        isAtEnd = false
        mustLookAgain = false
    }
}
