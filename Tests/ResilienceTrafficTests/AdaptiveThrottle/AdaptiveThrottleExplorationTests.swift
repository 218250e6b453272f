import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

/// An adaptive throttle compared with a list of all calls, each with the tenth of a window that counted it.
private struct ListedCalls: ExplorableMachine {
    enum Input: Hashable {
        /// A call comes, and this number is drawn.
        case call(UInt64)
        case ended(isAccepted: Bool)
        case endedThrottled
        case endedSilently
        case wait(Int64)
        case reset
        case other
    }

    private struct Drawn: RandomNumberGenerator {
        let number: UInt64

        func next() -> UInt64 { number }
    }

    private typealias Settings = AdaptiveThrottleStateMachine.Settings

    private static let all: [Settings] = [
        Settings(
            multiplier: 2, over: .nanoseconds(100), minimumCalls: 2, maxRejection: 1, failing: [.transient, .throttled]),
        Settings(
            multiplier: 1, over: .nanoseconds(100), minimumCalls: 1, maxRejection: 0.5,
            failing: [.transient, .throttled]),
    ]

    private var machine: AdaptiveThrottleStateMachine
    private var settings: Settings
    private enum End {
        case accepted, failed, throttled, rejected
    }

    private var calls: [(tenth: Int64, end: End)] = []
    private var now: MonotonicInstant
    private var latest = Int64.min
    private var silent: [Int64] = []
    private var overload = 0.0
    private var latestSilent = Int64.min
    private var isRejecting = false

    init(start: Int64) {
        settings = Self.all[0]
        machine = AdaptiveThrottleStateMachine(settings)
        now = MonotonicInstant(nanoseconds: start)
    }

    let inputs: [Input] = [
        .call(0), .call(1 << 52), .call(.max), .ended(isAccepted: true), .ended(isAccepted: false), .endedThrottled,
        .endedSilently,
        .wait(1), .wait(10), .wait(95), .wait(-15), .reset, .other,
    ]

    mutating func apply(_ input: Input) throws {
        switch input {
        case .call(let number):
            let share = share
            let rejects = share > 0 && unit(number) < share
            var drawn = Drawn(number: number)
            let answer = machine.admits(at: now, using: &drawn)
            try require(answer.isAdmitted, is: !rejects, "whether it is let through")
            try require(answer.1, is: change(to: share > 0), "what has changed")
            if rejects { count(.rejected) }
        case .ended(let isAccepted):
            let told = machine.ended(isAccepted ? .success : .transient, at: now)
            count(isAccepted ? .accepted : .failed)
            if !isAccepted { overload = throttledShare ?? 0 }
            try require(told, is: change(to: share > 0), "what has changed")
        case .endedThrottled:
            let told = machine.ended(.throttled, at: now)
            count(.throttled)
            overload = throttledShare ?? 0
            try require(told, is: change(to: share > 0), "what has changed")
        case .endedSilently:
            let told = machine.ended(.cancelled, at: now)
            latestSilent = max(latestSilent, present)
            silent.append(latestSilent)
            try require(told, is: change(to: share > 0), "what has changed")
        case .wait(let length):
            now = MonotonicInstant(nanoseconds: now.nanoseconds.saturatingAdding(length))
        case .reset:
            machine.reset()
            (calls, latest, silent, latestSilent, overload) = ([], .min, [], .min, 0)
        case .other:
            settings = Self.all[settings == Self.all[0] ? 1 : 0]
            machine.change(to: settings)
        }
        try require(machine.rejection(at: now), is: share, "the share that is rejected")
        try require(machine.counts(at: now).calls, is: counted.count, "the calls of the window")
    }

    /// The result of `Double.random(in: 0..<1)` if the generator draws this number.
    private func unit(_ number: UInt64) -> Double {
        var drawn = Drawn(number: number)
        return Double.random(in: 0..<1, using: &drawn)
    }

    /// For counts the clock never runs backwards.
    private var tenth: Int64 { max(latest, present) }
    private var present: Int64 { now.nanoseconds.flooredDivision(by: 10).quotient }

    private var counted: [(tenth: Int64, end: End)] {
        let present = tenth
        return calls.filter { $0.tenth > present - 10 }
    }

    private var share: Double {
        let counted = counted
        guard counted.count >= settings.minimumCalls else { return 0 }
        let accepted = number(of: .accepted)
        // Rejections count by the share of failures that mean too many calls: the present share, or else the last.
        let all =
            accepted + number(of: .throttled) + number(of: .failed)
            + number(of: .rejected) * (throttledShare ?? overload)
        let share =
            (all - settings.multiplier * accepted)
            / (all + Double(silent.count { $0 > max(latestSilent, present) - 10 }) + 1)
        return min(max(share, 0), settings.maxRejection)
    }

    private var throttledShare: Double? {
        let failures = number(of: .throttled) + number(of: .failed)
        return failures == 0 ? nil : number(of: .throttled) / failures
    }

    private func number(of end: End) -> Double { Double(counted.count { $0.end == end }) }

    private mutating func count(_ end: End) {
        latest = tenth
        calls.append((latest, end))
    }

    private mutating func change(to rejects: Bool) -> AdaptiveThrottleStateMachine.Change? {
        defer { isRejecting = rejects }
        return rejects == isRejecting ? nil : rejects ? .began : .ended
    }
}

@Suite(.heavy) struct AdaptiveThrottleExplorationTests {
    @Test(
        "as far as the effort allows, an adaptive throttle rejects the same calls as a model that lists all calls",
        arguments: [0, -1_005, Int64.max - 300, Int64.min])
    func listed(start: Int64) throws {
        let explorer = Explorer(ListedCalls(start: start), code: "adaptive throttle from \(start)")
        try explorer.exploreAll(depth: 4)
        try explorer.exploreRandomly(length: 4_000, seed: 15)
    }
}
