import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// A throttle some of whose calls never leave, compared with a list of the calls that left.
private struct RecordedReturns: ExplorableMachine {
    enum Input: Hashable {
        case wait(Int64)
        case ask(cost: Int)
        /// An inner policy rejected a call with a permit.
        case giveBack(Int)
        /// The call left.
        case leave(Int)
        case reset
    }

    private struct Taken {
        let number: Int
        let cost: Int
        let at: Int64
        let receipt: ShareReceipt
        let generation: UInt64
    }

    private(set) var machine: ThrottleStateMachine
    private let rate: ThrottleRate?
    private let window: ThrottleLimit?
    private let burst: Int
    private let costs: [Int]
    private let waits: [Int64]
    private var now: Int64 = 0
    private var inside: [Taken] = []
    private var took = 0
    /// The calls that were not refunded, with time and cost.
    private var kept: [Taken] = []
    private var all: BucketHistory
    private var wasReset = false

    init(_ rate: ThrottleRate, burst: Int, costs: [Int], waits: [Int64]) {
        (self.rate, self.burst, self.costs, self.waits) = (rate, burst, costs, waits)
        window = nil
        machine = ThrottleStateMachine(rate: rate, burst: burst)
        all = BucketHistory(rate, burst: burst)
    }

    init(_ window: ThrottleLimit, costs: [Int], waits: [Int64]) {
        (self.window, self.costs, self.waits) = (window, costs, waits)
        (rate, burst) = (nil, window.calls)
        machine = ThrottleStateMachine(window)
        all = BucketHistory(nil, burst: 1)
    }

    private var instant: MonotonicInstant { MonotonicInstant(nanoseconds: now) }

    var inputs: [Input] {
        waits.map { .wait($0) } + (inside.count < 3 ? costs.map { .ask(cost: $0) } : [])
            + inside.indices.flatMap { [.giveBack($0), .leave($0)] } + (wasReset ? [] : [.reset])
    }

    var identity: [Int64]? { nil }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .wait(let length):
            now += length
        case .ask(let cost):
            guard machine.ask(cost: cost, at: instant) == .go else { break }
            took += 1
            let taken = Taken(
                number: took, cost: cost, at: now, receipt: machine.receipt, generation: machine.generation)
            inside.append(taken)
            kept.append(taken)
            all.events.append(.taken(at: instant, cost: cost))
        case .giveBack(let index):
            let taken = inside.remove(at: index)
            let before = machine.available(at: instant)
            machine.giveBack(taken.cost, taken.receipt, inGeneration: taken.generation, at: instant)
            let after = machine.available(at: instant)
            try require(after >= before, "a share was lost by giving one back")
            // A refund right after the last acquisition leaves no trace.
            if taken.number == took, taken.at == now, taken.generation == machine.generation {
                try require(after, is: before + taken.cost, "what is free after the last share was given back at once")
            }
            kept.removeAll { $0.number == taken.number }
        case .leave(let index):
            inside.remove(at: index)
        case .reset:
            machine.reset(at: instant)
            kept = []
            wasReset = true
            all.events = []
        }
        try check()
    }

    /// The calls that left stay within the limit over any period, and refunds never reduce the free permits.
    private func check() throws {
        if let rate {
            let least = all.events.isEmpty ? burst : Int(max(0, all.level(at: instant)) / all.price)
            try require(machine.available(at: instant) >= least, "less is free than if nothing had come back")
            for first in kept.indices {
                let cost = kept[first...].map(\.cost).reduce(0, +)
                let time = (kept.last?.at ?? 0) - kept[first].at
                let allowed =
                    Int128(burst) * Int128(rate.period.saturatedNanoseconds) + Int128(time) * Int128(rate.calls)
                try require(Int128(cost) * Int128(rate.period.saturatedNanoseconds) <= allowed, "\(cost) in \(time) ns")
            }
        }
        if let window {
            let period = window.period.saturatedNanoseconds
            for taken in kept where window.isSliding {
                let stretch = kept.filter { $0.at >= taken.at && $0.at < taken.at + period }
                let cost = stretch.map(\.cost).reduce(0, +)
                try require(cost <= window.calls, "\(cost) in one window")
            }
            let present = kept.filter { $0.at > now - period }.map(\.cost).reduce(0, +)
            if window.isSliding {
                try require(machine.available(at: instant), is: window.calls - present, "what is free")
            }
        }
    }
}

@Suite(.heavy) struct ShareReturnExplorationTests {
    @Test("with refunds, calls never exceed the rate, and an immediate refund loses nothing")
    func rates() throws {
        for rate in [
            ThrottleRate(1, per: .nanoseconds(4)), ThrottleRate(3, per: .nanoseconds(7)),
            ThrottleRate(2, per: .nanoseconds(1)),
        ] {
            let explorer = Explorer(
                RecordedReturns(rate, burst: 3, costs: [0, 1, 2, 3], waits: [1, 5]),
                code: "RecordedReturns(\(rate), burst: 3, costs: [0, 1, 2, 3], waits: [1, 5])")
            try explorer.exploreRandomly(length: 500, seed: 3)
        }
    }

    @Test("with refunds, calls never exceed a fixed or a sliding window")
    func windows() throws {
        for window in [
            ThrottleLimit.slidingWindow(3, per: .nanoseconds(7)), .fixedWindow(3, per: .nanoseconds(7)),
        ] {
            let explorer = Explorer(
                RecordedReturns(window, costs: [0, 1, 2, 3], waits: [1, 5]),
                code: "RecordedReturns(\(window), costs: [0, 1, 2, 3], waits: [1, 5])")
            try explorer.exploreRandomly(length: 500, seed: 3)
        }
    }
}
