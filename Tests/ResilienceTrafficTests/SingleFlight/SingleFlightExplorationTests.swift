import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

/// Flights compared with a list of all calls so far.
private struct ListedCalls: ExplorableMachine {
    enum Input: Hashable {
        case join(Int)
        /// A call inside the latest flight joins.
        case joinFromInside(Int)
        /// The call at this place in the list leaves.
        case leave(Int)
        case begin(flight: Int)
        case end(flight: Int)
        case forget(Int)
        case forgetAll
        case wait(Int64)
    }

    private struct Flight: Hashable {
        let number: Int
        let key: Int
        let began: MonotonicInstant
        var isForgotten = false
        var hasEnded = false
        var leftAt: MonotonicInstant?
    }

    private struct Call: Hashable {
        let flight: Int
        var waits = true
    }

    private var machine: SingleFlightStateMachine<Int, Int>
    private let window: Int64?
    private var now: MonotonicInstant
    private var flights: [Flight] = []
    private var calls: [Call] = []

    init(start: Int64, window: Int64?) {
        now = MonotonicInstant(nanoseconds: start)
        self.window = window
        machine = SingleFlightStateMachine(joinWindow: window.map { .nanoseconds($0) })
    }

    var inputs: [Input] {
        var inputs: [Input] = [.join(1), .join(2), .joinFromInside(1), .forget(1), .forgetAll, .wait(3)]
        inputs += calls.indices.suffix(4).filter { calls[$0].waits }.map { .leave($0) }
        for flight in flights.indices.suffix(3) where !flights[flight].hasEnded {
            inputs.append(.begin(flight: flight))
            inputs.append(.end(flight: flight))
        }
        return inputs
    }

    private func isOpen(since began: MonotonicInstant) -> Bool {
        window.map { began.nanoseconds.saturatingAdding($0) > now.nanoseconds } ?? true
    }

    private func waiting(for flight: Int) -> Int { calls.count { $0.flight == flight && $0.waits } }

    private mutating func join(_ key: Int, isInside: Bool) throws {
        let open = flights.lastIndex {
            $0.key == key && !$0.hasEnded && !$0.isForgotten && $0.leftAt == nil
                && isOpen(since: $0.began)
        }
        let (latest, offered) = (flights.count - 1, flights.count)
        let expected = isInside && open == latest ? nil : open
        let joined = machine.join(
            key, at: now, ifAllowed: { !isInside || $0 != latest }, make: { offered })
        try require(joined.payload, is: expected ?? offered, "which flight it joins")
        try require(joined.isFirst, is: expected == nil, "whether the flight begins")
        if expected == nil {
            // If another flight is open, it stays open; otherwise this one opens.
            for index in flights.indices where flights[index].key == key && open == nil {
                flights[index].isForgotten = true
            }
            flights.append(Flight(number: joined.number, key: key, began: now, isForgotten: open != nil))
        }
        calls.append(Call(flight: joined.payload))
        try require(joined.waiting, is: waiting(for: joined.payload), "how many wait")
    }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .join(let key): try join(key, isInside: false)
        case .joinFromInside(let key): try join(key, isInside: true)
        case .leave(let call):
            // A shortened history may contain fewer calls.
            guard calls.indices.contains(call), calls[call].waits else { return }
            calls[call].waits = false
            let flight = calls[call].flight
            let isLast = waiting(for: flight) == 0
            let left = machine.left(flights[flight].number, at: now)
            try require(left?.payload, is: isLast ? flight : nil, "whether the flight is abandoned")
            if isLast { flights[flight].leftAt = now }
        case .begin(let flight):
            guard flights.indices.contains(flight), !flights[flight].hasEnded else { return }
            let mayBegin = machine.mayBegin(flights[flight].number)
            try require(mayBegin, is: flights[flight].leftAt == nil, "whether the operation may begin")
            if !mayBegin { flights[flight].hasEnded = true }
        case .end(let flight):
            guard flights.indices.contains(flight), !flights[flight].hasEnded else { return }
            flights[flight].hasEnded = true
            switch machine.ended(flights[flight].number, at: now) {
            case .awaited(let ended):
                try require(flights[flight].leftAt == nil, "an abandoned flight has a result for somebody")
                try require(ended.waiting, is: waiting(for: flight), "how many have the result")
                for index in calls.indices where calls[index].flight == flight { calls[index].waits = false }
            case .late(let delay):
                try require(flights[flight].leftAt.map { $0.duration(to: now) }, is: delay, "how late it ended")
            }
        case .forget(let key):
            machine.forget(key)
            for index in flights.indices where flights[index].key == key { flights[index].isForgotten = true }
        case .forgetAll:
            machine.forgetAll()
            for index in flights.indices { flights[index].isForgotten = true }
        case .wait(let length):
            now = MonotonicInstant(nanoseconds: now.nanoseconds.saturatingAdding(length))
        }
        let running = flights.filter { !$0.hasEnded }
        let status = SingleFlightStatus(
            flights: running.count { $0.leftAt == nil }, waiting: calls.count(where: \.waits),
            abandoned: running.count { $0.leftAt != nil })
        try require(machine.status, is: status, "the status")
    }
}

@Suite(.heavy) struct SingleFlightExplorationTests {
    @Test(
        "while calls come and leave and keys are forgotten, each call joins the right flight; only the last abandons it",
        arguments: [0, Int64.max - 7, .min], [nil, 5] as [Int64?])
    func listed(start: Int64, window: Int64?) throws {
        let explorer = Explorer(
            ListedCalls(start: start, window: window),
            code: "ListedCalls(start: \(start), window: \(window as Any))")
        try explorer.exploreAll(depth: 4, transitions: 20_000 * Effort.level)
        for seed in UInt64(1)...50 { try explorer.exploreRandomly(length: 200, seed: seed) }
    }
}
