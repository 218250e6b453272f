import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

/// A race compared with a list of how each copy ended.
private struct ListedCopies: ExplorableMachine {
    enum Input: Hashable {
        /// Asks what to do, and does it; `isAllowed` is the budget's answer.
        case step(isAllowed: Bool)
        case end(Verdict)
        case wait(Int64)
        case cancel
    }

    private var machine: HedgeStateMachine
    private let maxHedges: Int
    private let delay: Int64?
    private let deadline: MonotonicInstant
    private var now: MonotonicInstant
    private var ends: [Verdict] = []
    private var begun = 1
    private var latest: MonotonicInstant
    private var isStopped = false
    private var kept: Int?

    init(start: Int64, maxHedges: Int, delay: Int64?, deadline: Int64) {
        now = MonotonicInstant(nanoseconds: start)
        latest = now
        self.deadline = MonotonicInstant(nanoseconds: start.saturatingAdding(deadline))
        (self.maxHedges, self.delay) = (maxHedges, delay)
        machine = HedgeStateMachine(
            maxHedges: maxHedges, delay: delay, on: .transient, deadline: self.deadline, at: now)
    }

    private static let verdicts: [Verdict] = [
        .success, .transient, .uncertain, .throttled, .permanent, .rejected, .cancelled,
        .transient(retryAfter: .nanoseconds(3)), Verdict(.transient, shouldRetry: false),
        Verdict(.permanent, shouldRetry: true),
    ]

    private var running: Int { begun - ends.count }

    var inputs: [Input] {
        [.step(isAllowed: true), .step(isAllowed: true), .step(isAllowed: false), .wait(1), .wait(4), .cancel]
            + (running > 0 ? Self.verdicts.map { .end($0) } : [])
    }

    private static func holds(_ verdict: Verdict) -> Bool {
        verdict.kind == .success || verdict.kind == .permanent && verdict.shouldRetry != true
    }

    private var isDecided: Bool { ends.contains(where: Self.holds) }

    private static func asks(_ verdict: Verdict) -> Bool {
        let wish = verdict.saysNothing ? nil : verdict.shouldRetry
        return wish ?? (verdict.kind == .transient)
    }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .step(let isAllowed):
            let step = machine.step(at: now)
            try require(step == .end, is: isDecided || running == 0 && step != .begin, "whether the call ends")
            switch step {
            case .begin:
                try require(!isDecided && !isStopped, "a copy begins though none may")
                try require(begun <= maxHedges && now < deadline, "one copy too many, or too late")
                let isDue = delay.map { now.nanoseconds >= latest.nanoseconds.saturatingAdding($0) } ?? false
                let asked = ends.contains { Self.asks($0) && $0.retryAfter == nil }
                try require(isDue && running > 0 || ends.contains(where: Self.asks), "a copy begins without a reason")
                try require(running > 0 || asked, "a copy begins though none runs, and nothing asks for it")
                if isAllowed {
                    try require(machine.began(at: now), "what it says to begin may not begin")
                    (begun, latest) = (begun + 1, now)
                } else {
                    machine.mayBeginNoMore()
                    isStopped = true
                }
            case .wait(let until):
                try require(running > 0, "it waits for the end of nothing")
                try require(until > now || now == .distantFuture, "it waits until \(until) at \(now)")
                if until != .distantFuture {
                    let later = machine.step(at: until)
                    try require(later == .begin, "what it waits for does not come: \(later)")
                }
            case .end:
                try require(kept != nil, "the call ends as nothing")
            }
        case .end(let verdict):
            // A shortened history may end more copies than have begun.
            guard running > 0 else { return }
            let wasDecided = isDecided
            let isKept = machine.ended(verdict, at: now)
            ends.append(verdict)
            if wasDecided { try require(!isKept, "the end of a copy that has lost counts") }
            let stops = verdict.saysNothing || verdict.kind == .throttled || verdict.shouldRetry == false
            if stops, !Self.asks(verdict) { isStopped = true }
            if isKept { kept = ends.count - 1 }
            if Self.holds(verdict), !wasDecided { try require(isKept, "a good end does not count") }
        case .wait(let length):
            now = MonotonicInstant(nanoseconds: now.nanoseconds.saturatingAdding(length))
        case .cancel:
            machine.mayBeginNoMore()
            isStopped = true
        }
        if let kept {
            // The kept end is not less informative than another.
            let tells = ends[kept]
            let better = ends.first { tells.saysNothing && !$0.saysNothing }
            try require(better == nil, "\(tells) hides \(better.map { "\($0)" } ?? "")")
            if let wish = ends.first(where: { $0.kind == .throttled || $0.retryAfter != nil }), !isDecided {
                let isWish = tells.kind == .throttled || tells.retryAfter != nil || tells.shouldRetry == false
                try require(isWish, "\(tells) hides \(wish)")
            }
        } else {
            try require(ends.isEmpty, "no end is kept")
        }
    }
}

@Suite(.heavy) struct HedgeExplorationTests {
    @Test(
        "whatever the copies do, each begins for a reason, within limit and deadline, and the race can always continue",
        arguments: [0, -7, Int64.max - 12, Int64.min], [1, 3])
    func listed(start: Int64, maxHedges: Int) throws {
        for delay in [nil, 0, 4, .max] as [Int64?] {
            let explorer = Explorer(
                ListedCopies(start: start, maxHedges: maxHedges, delay: delay, deadline: 9),
                code: "ListedCopies(start: \(start), maxHedges: \(maxHedges), delay: \(delay as Any), deadline: 9)")
            try explorer.exploreAll(depth: 5, transitions: 20_000 * Effort.level)
            for seed in UInt64(1)...10 { try explorer.exploreRandomly(length: 200, seed: seed) }
        }
    }
}
