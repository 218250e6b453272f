import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// A timeout compared with the list of its inputs: the first decides.
private struct ListedTimeout: ExplorableMachine {
    enum Input: CaseIterable { case limitPassed, callerCancelled, insideEnded, insideThrewEarly, insideThrewLate }

    var machine = TimeoutStateMachine.running
    private var happened: [Input] = []
    private let limit = MonotonicInstant(nanoseconds: 5)

    let inputs = Input.allCases
    var identity: [AnyHashable]? { [machine, happened.first] }

    mutating func apply(_ input: Input) throws {
        happened.append(input)
        let isFirst = happened.count == 1
        switch input {
        case .limitPassed: try require(machine.limitPassed(), is: isFirst ? .cancelInside : .nothing)
        case .callerCancelled: try require(machine.callerCancelled(), is: isFirst ? .cancelInside : .nothing)
        case .insideEnded: machine.insideEnded()
        case .insideThrewEarly: machine.insideThrew(at: limit, expiry: limit + .nanoseconds(1))
        case .insideThrewLate: machine.insideThrew(at: limit, expiry: limit)
        }
        let expected: TimeoutStateMachine =
            switch happened[0] {
            case .limitPassed, .insideThrewLate: .expired
            case .callerCancelled: .cancelled
            case .insideEnded, .insideThrewEarly: .ended
            }
        try require(machine, is: expected, "the state")
    }
}

/// Two timeouts compared with the list of what happened to each: the first event decides for each.
private struct ListedNestedTimeouts: ExplorableMachine {
    enum Input: Hashable {
        /// The alarm at the earlier limit.
        case alarm
        case cancelled(at: Int64)
        case insideEnded
        case insideThrew(at: Int64)
    }

    enum Fact { case innerPassed, outerPassed, cancelled, over }

    let limits: NestedLimits
    var machine = NestedTimeoutsStateMachine()
    private var facts: [Fact] = []

    let inputs: [Input] =
        [.alarm, .insideEnded] + [0, 6, 8, 10].flatMap { [.cancelled(at: $0), .insideThrew(at: $0)] }

    init(inner: Int64, outer: Int64) {
        limits = NestedLimits(
            inner: MonotonicInstant(nanoseconds: inner), outer: MonotonicInstant(nanoseconds: outer))
    }

    var identity: [AnyHashable]? { [machine.inner, machine.outer, facts.first, firstOfOuter] }

    private var firstOfOuter: Fact? { facts.first { $0 == .outerPassed || $0 == .cancelled } }

    mutating func apply(_ input: Input) throws {
        let before = machine.inner
        switch input {
        case .alarm:
            facts.append(limits.outer <= limits.inner ? .outerPassed : .innerPassed)
            try check(machine.limitPassed(of: limits), before)
        case .cancelled(let time):
            let now = MonotonicInstant(nanoseconds: time)
            // After the inner limit, the outer limit has no alarm.
            facts.append(facts.first == .innerPassed && now >= limits.outer ? .outerPassed : .cancelled)
            try check(machine.callerCancelled(at: now, limits), before)
        case .insideEnded:
            facts.append(.over)
            machine.insideEnded()
        case .insideThrew(let time):
            let now = MonotonicInstant(nanoseconds: time)
            let passed = [(limits.outer, Fact.outerPassed), (limits.inner, .innerPassed)].filter { now >= $0.0 }
            // Sorting keeps the order of simultaneous events.
            facts += passed.sorted { $0.0 < $1.0 }.map(\.1) + [.over]
            machine.insideThrew(at: now, limits)
        }
        let outer: TimeoutStateMachine =
            switch firstOfOuter {
            case .outerPassed: .expired
            case .cancelled: .cancelled
            default: .running
            }
        let inner: TimeoutStateMachine =
            switch facts[0] {
            case .innerPassed: .expired
            case .outerPassed, .cancelled: .cancelled
            case .over: .ended
            }
        try require(machine.outer, is: outer, "the outer timeout")
        try require(machine.inner, is: inner, "the inner timeout")
        try require(NestedTimeoutsStateMachine(rawValue: machine.rawValue), is: machine, "the machine as a number")
    }

    private func check(_ answer: TimeoutStateMachine.Answer, _ before: TimeoutStateMachine) throws {
        try require(answer, is: before == .running ? .cancelInside : .nothing)
    }
}

@Suite(.heavy) struct TimeoutExplorationTests {
    @Test(
        "with two timeouts on one task, the first event for each timeout decides how that timeout ends",
        arguments: [(5, 8), (8, 5), (6, 6), (5, .max)] as [(Int64, Int64)])
    func nested(inner: Int64, outer: Int64) throws {
        let explorer = Explorer(
            ListedNestedTimeouts(inner: inner, outer: outer),
            code: "ListedNestedTimeouts(inner: \(inner), outer: \(outer))")
        let exploration = try explorer.explore()
        #expect(exploration.isComplete && (exploration.states ?? 0) > 5)
        try explorer.exploreRandomly(length: 3_000, seed: 1)
    }

    @Test("for any inputs, even repeated, the first input decides, and the operation is cancelled at most once")
    func complete() throws {
        let explorer = Explorer(ListedTimeout(), code: "ListedTimeout()")
        let exploration = try explorer.explore()
        #expect(exploration.isComplete && exploration.states == 6 && exploration.transitions == 30)
        try explorer.exploreRandomly(length: 3_000, seed: 1)
    }
}
