import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

/// An adaptive limit, checked by the few rules that hold at every step: its bounds, and input that must not change it.
private struct BoundedLimit: ExplorableMachine {
    enum Input: Hashable {
        /// This many calls of this latency, in sequence; either all permits are in use, or one.
        case calls(Int, latency: Int64, isBusy: Bool)
        case overload(hadBegun: Bool)
        case cut(latency: Int64)
        case other
        case wait(Int64)
        case set(Int)
    }

    private let range: ClosedRange<Int>
    private var machine: AdaptiveLimitStateMachine
    private var now: Int64
    private var latestOverload: Int64?
    private var longest = 1.0
    private var highest: Int

    init(_ settings: AdaptiveLimit, start: Int64) {
        range = settings.range
        machine = AdaptiveLimitStateMachine(settings)
        now = start
        highest = settings.initial
    }

    let inputs: [Input] = [
        .calls(40, latency: 100, isBusy: true), .calls(40, latency: 300, isBusy: true),
        .calls(40, latency: 100, isBusy: false), .calls(7, latency: 0, isBusy: true), .overload(hadBegun: true),
        .overload(hadBegun: false), .cut(latency: 50), .cut(latency: 5000), .other, .wait(1000), .wait(.max), .set(1),
        .set(30),
    ]

    mutating func apply(_ input: Input) throws {
        let (before, wasSearching) = (machine.permits, machine.isSearching)
        switch input {
        case .calls(let count, let latency, let isBusy):
            longest = max(longest, Double(latency))
            for _ in 0..<count {
                now = now.saturatingAdding(10)
                let permits = machine.permits
                let isChanged = machine.ended(
                    .success, began: now.saturatingSubtracting(latency), at: now, inUse: isBusy ? permits : 1)
                try require(isChanged, is: machine.permits != permits, "whether the limit has changed")
                highest = max(highest, machine.permits)
            }
        case .overload(let hadBegun):
            let began = hadBegun ? latestOverload.map { $0 &- 1 } ?? now : now
            let isAnother = latestOverload.map { began >= $0 } ?? true
            _ = machine.ended(.overload, began: began, at: now, inUse: 1)
            if isAnother {
                latestOverload = now
                try require(!machine.isSearching, "it searches after an overload")
                try require(machine.permits <= highest, "an overload raised the limit")
            } else {
                // A search may have taken too long.
                guard !wasSearching || machine.isSearching else { break }
                try require(machine.permits, is: before, "the limit after an overload of calls that had begun")
            }
        case .cut(let latency):
            longest = max(longest, Double(latency))
            _ = machine.ended(.cut, began: now.saturatingSubtracting(latency), at: now, inUse: 1)
        case .other:
            let isChanged = machine.ended(.other, began: now &- 5, at: now, inUse: 1)
            try require(!isChanged || wasSearching && !machine.isSearching, "what says nothing said something")
        case .wait(let time):
            now = now.saturatingAdding(time)
        case .set(let limit):
            machine.set(to: limit, at: now)
            highest = max(highest, machine.permits)
            try require(machine.permits, is: min(max(limit, range.lowerBound), range.upperBound), "the limit set")
        }
        try require(range.contains(machine.permits), "\(machine.permits) is out of bounds")
        for latency in [machine.baseline, machine.latency].compactMap({ $0 }) {
            try require((1...longest).contains(latency), "a latency of \(latency), which no call had")
        }
    }
}

@Suite(.heavy) struct AdaptiveLimitExplorationTests {
    private static let limits: [AdaptiveLimit] = [
        .gradient(initial: 8, in: 2...20, window: .nanoseconds(1)),
        .vegas(initial: 8, in: 2...20, window: .nanoseconds(100)),
        .aimd(initial: 8, in: 2...20, window: .nanoseconds(1)),
        .gradient(initial: 1, in: 1...1, window: .nanoseconds(1)),
    ]

    @Test(
        "in any history an adaptive limit keeps its bounds, and input without information does not change it",
        arguments: limits.indices, [0, -1_005, Int64.max - 5_000, Int64.min])
    func bounded(index: Int, start: Int64) throws {
        let explorer = Explorer(
            BoundedLimit(Self.limits[index], start: start), code: "adaptive limit \(index) from \(start)")
        try explorer.exploreAll(depth: 3)
        try explorer.exploreRandomly(length: 2_000, seed: 4)
    }
}
