import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// A gate held by 429s with long waits, compared with a list of their waits and of the probes.
private struct ProbedHold: ExplorableMachine {
    enum Input: Hashable {
        case wait(Int64)
        case ask
        /// A 429 with or without a named wait.
        case throttled(Int, named: Bool)
        case ended(Int, Verdict)
        case lose(Int)
        case holdByHand, endHold, reset
    }

    private struct Call {
        let slot: ThrottleSlot
        /// nil if the call is not a probe.
        let began: Int64?
    }

    private static let hold: Int64 = 2_000
    private static let first: Int64 = 300
    private let settings = Throttle.Settings(
        limit: .unlimited, maxWait: .zero, queue: 0, holdOnThrottled: true,
        holdBackoff: .constant(.seconds(10), jitter: .none), maxHold: .seconds(hold),
        earlyProbe: .seconds(first))
    private var machine = ThrottleStateMachine(rate: nil, burst: 1)
    private var now: Int64 = 0
    private var calls: [Call] = []
    /// When early probes went since the gate was last open, and when counted 429s with a wait came.
    private var early: [Int64] = []
    private var named: [Int64] = []
    /// The end of a hold by hand, and of a hold by the service.
    private var byHand: Int64 = .min
    private var asked: Int64 = .min

    var inputs: [Input] {
        var inputs: [Input] = [.wait(50), .wait(400), .holdByHand, .endHold, .reset]
        if calls.count < 3 { inputs.append(.ask) }
        for index in calls.indices {
            inputs += [.throttled(index, named: true), .throttled(index, named: false), .lose(index)]
            inputs += [.ended(index, .success), .ended(index, .cancelled)]
        }
        return inputs
    }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .wait(let seconds): now += seconds
        case .ask: try ask()
        case .lose(let index): calls.remove(at: index)
        case .holdByHand:
            machine.hold(until: .second(now + 1_000), counts: false)
            byHand = max(byHand, now + 1_000)
            (early, named) = ([], [])
        case .endHold:
            if machine.endHold(at: .second(now)) { (byHand, asked) = (.min, .min) }
        case .reset:
            machine.reset(at: .second(now))
            opened()
        case .throttled(let index, let isNamed):
            let wasHeld = now < max(asked, byHand)
            let call = calls.remove(at: index)
            let verdict: Verdict = .throttled(retryAfter: isNamed ? .seconds(86_400) : nil)
            guard machine.end(call.slot, cost: 1, verdict, settings, at: .second(now)) != nil else { break }
            if !wasHeld, !isNamed { (early, named) = ([], []) }
            asked = max(asked, now + (isNamed ? Self.hold : 10))
            if isNamed { named.append(now) }
        case .ended(let index, let verdict):
            _ = machine.end(calls.remove(at: index).slot, cost: 1, verdict, settings, at: .second(now))
        }
        if machine.gate == .open { opened() }
        try check()
    }

    private mutating func opened() { (early, named, byHand, asked) = ([], [], .min, .min) }

    private mutating func ask() throws {
        let slot = ThrottleSlot(PolicySlot())
        switch machine.admit(slot, cost: 1, deadline: .distantFuture, settings, at: .second(now)) {
        case .enter(let own):
            calls.append(Call(slot: own, began: own.stage == .probe ? now : nil))
            guard own.stage == .probe else { break }
            try require(byHand <= now, "a probe during a hold by hand")
            guard now < asked else { break }
            // An early probe goes after its interval, which doubles up to four times the first.
            let interval = min(4, 1 << min(early.count, 2)) * Self.first
            try require(!named.isEmpty, "an early probe though no wait was named")
            try require((early.last ?? named[0]) + interval <= now, "early probes at \(early), and now at \(now)")
            early.append(now)
        case .reject(let wait):
            guard let wait else { throw BrokenInvariant("never to come back") }
            try require(wait > .zero, "to come back at once")
            let left = max(asked, byHand, now) - now
            try require(wait <= .seconds(max(left, 60)), "to come back in \(wait), and the hold lasts \(left) s")
        case .wait: throw BrokenInvariant("it waits")
        }
    }

    /// An open gate admits every call, and a call gets the answer that the status shows.
    private func check() throws {
        let status = machine.status(at: .second(now))
        var asking = machine
        switch asking.admit(ThrottleSlot(PolicySlot()), cost: 1, deadline: .distantFuture, settings, at: .second(now)) {
        case .enter: try require(status.available > 0 && status.timeUntilNext == .zero, "\(status), and it goes")
        case .reject(let wait): try require(status.timeUntilNext, is: wait ?? .zero, "what the status says")
        case .wait: throw BrokenInvariant("it waits")
        }
    }
}

@Suite(.heavy) struct EarlyProbeExplorationTests {
    @Test("a hold with a named wait is probed at growing intervals, a hold by hand never, and the status agrees")
    func explored() throws {
        let explorer = Explorer(ProbedHold(), code: "ProbedHold()")
        let exploration = try explorer.exploreAll(depth: 5)
        #expect(exploration.transitions > 10_000)
        for seed in 1...20 as ClosedRange<UInt64> { try explorer.exploreRandomly(length: 1_000, seed: seed) }
    }
}
