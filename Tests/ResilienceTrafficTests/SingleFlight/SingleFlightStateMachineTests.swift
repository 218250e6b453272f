import Testing

@testable import Resilience
@testable import ResilienceTraffic

@Suite struct SingleFlightStateMachineTests {
    private typealias Machine = SingleFlightStateMachine<String, Int>

    private var machine = Machine(joinWindow: nil)

    private static func at(_ nanoseconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: nanoseconds) }

    /// - Returns: The flight's number, and whether it began.
    private static func join(_ machine: inout Machine, _ key: String, at now: Int64 = 0) -> (Int, Bool) {
        let joined = machine.join(key, at: at(now), ifAllowed: { _ in true }, make: { 7 })
        #expect(joined.payload == 7)
        return (joined.number, joined.isFirst)
    }

    private static func isAwaited(_ end: Machine.End) -> Bool { if case .awaited = end { true } else { false } }

    @Test("calls for one key join one flight, and those for another key another one")
    func joins() {
        var machine = machine
        let first = machine.join("a", at: Self.at(0), ifAllowed: { _ in true }, make: { 1 })
        let second = machine.join("a", at: Self.at(9), ifAllowed: { $0 == 1 }, make: { 2 })
        let other = machine.join("b", at: Self.at(9), ifAllowed: { _ in false }, make: { 3 })
        #expect(first.isFirst && first.waiting == 1 && first.payload == 1)
        #expect(!second.isFirst && second.waiting == 2 && second.payload == 1 && second.number == first.number)
        #expect(other.isFirst && other.waiting == 1 && other.payload == 3 && other.number != first.number)
        #expect(machine.status == SingleFlightStatus(flights: 2, waiting: 3, abandoned: 0))
    }

    @Test(
        "a flight that has ended is joined by nobody: the next call begins one, even before those who waited have gone")
    func ended() {
        var machine = machine
        let (first, _) = Self.join(&machine, "a")
        _ = Self.join(&machine, "a")
        let end = machine.ended(first, at: Self.at(5))
        #expect(Self.isAwaited(end))
        #expect(machine.status == SingleFlightStatus(flights: 0, waiting: 0, abandoned: 0))
        let (second, isFirst) = Self.join(&machine, "a")
        #expect(isFirst && second != first)
        // One of those who waited for the first notices only now that its time is over.
        let left = machine.left(first, at: Self.at(6))
        #expect(left == nil)
        #expect(machine.status == SingleFlightStatus(flights: 1, waiting: 1, abandoned: 0))
    }

    @Test("one that leaves takes neither the flight nor its key away from the others")
    func oneLeaves() {
        var machine = machine
        let (number, _) = Self.join(&machine, "a")
        _ = Self.join(&machine, "a")
        let first = machine.left(number, at: Self.at(1))
        #expect(first == nil)
        let (again, isFirst) = Self.join(&machine, "a")
        #expect(again == number && !isFirst)
        #expect(machine.status == SingleFlightStatus(flights: 1, waiting: 2, abandoned: 0))
    }

    @Test("a flight that the last one has left is joined by nobody, and its end is late")
    func lastLeaves() {
        var machine = machine
        let (number, _) = Self.join(&machine, "a")
        let left = machine.left(number, at: Self.at(3))
        #expect(left?.key == "a" && left?.payload == 7 && left?.began == Self.at(0))
        #expect(machine.status == SingleFlightStatus(flights: 0, waiting: 0, abandoned: 1))
        let (next, isFirst) = Self.join(&machine, "a", at: 4)
        #expect(isFirst && next != number)
        let end = machine.ended(number, at: Self.at(10))
        guard case .late(let delay) = end else { return #expect(Bool(false), "\(end)") }
        #expect(delay == .nanoseconds(7))
        // The end of the old one takes nothing away from the new one.
        let (joined, _) = Self.join(&machine, "a", at: 11)
        #expect(joined == next)
        #expect(machine.status == SingleFlightStatus(flights: 1, waiting: 2, abandoned: 0))
    }

    @Test("an end that is measured before the last one left is not late by less than nothing")
    func lateBeforeLeft() {
        var machine = machine
        let (number, _) = Self.join(&machine, "a")
        _ = machine.left(number, at: Self.at(3))
        guard case .late(let delay) = machine.ended(number, at: Self.at(1)) else { return #expect(Bool(false)) }
        #expect(delay == .zero)
    }

    @Test("an operation begins only if somebody waits; one that does not begin is not counted as abandoned")
    func mayBegin() {
        var machine = machine
        let (number, _) = Self.join(&machine, "a")
        let mayBegin = machine.mayBegin(number)
        #expect(mayBegin)
        _ = machine.left(number, at: Self.at(0))
        #expect(machine.status.abandoned == 1)
        let mayStillBegin = machine.mayBegin(number)
        #expect(!mayStillBegin && machine.status == SingleFlightStatus(flights: 0, waiting: 0, abandoned: 0))
    }

    @Test(
        "a forgotten flight is joined by nobody, those who wait have its result, and its end leaves the next one alone")
    func forgotten() {
        var machine = machine
        let (first, _) = Self.join(&machine, "a")
        machine.forget("a")
        let (second, isFirst) = Self.join(&machine, "a")
        #expect(isFirst && machine.status.flights == 2 && machine.status.waiting == 2)
        let end = machine.ended(first, at: Self.at(1))
        #expect(Self.isAwaited(end))
        let (third, _) = Self.join(&machine, "a")
        #expect(third == second)
        machine.forgetAll()
        let (fourth, _) = Self.join(&machine, "a")
        #expect(fourth != second)
        // So does the last who leaves.
        _ = machine.left(second, at: Self.at(1))
        _ = machine.left(second, at: Self.at(1))
        let (fifth, _) = Self.join(&machine, "a")
        #expect(fifth == fourth)
    }

    @Test("to forget a key that has no flight does nothing")
    func forgottenTwice() {
        var machine = machine
        machine.forget("a")
        machine.forgetAll()
        #expect(machine.status == SingleFlightStatus(flights: 0, waiting: 0, abandoned: 0))
    }

    @Test("after the window a call begins a flight of its own; the earlier one goes on")
    func window() {
        var machine = Machine(joinWindow: .nanoseconds(10))
        let (first, _) = Self.join(&machine, "a", at: 100)
        // Readings of two threads may come in the other order.
        for now in [100, 109, 90] as [Int64] {
            let (number, _) = Self.join(&machine, "a", at: now)
            #expect(number == first)
        }
        let (second, isFirst) = Self.join(&machine, "a", at: 110)
        #expect(isFirst && machine.status.flights == 2)
        let (third, _) = Self.join(&machine, "a", at: 119)
        #expect(third == second)
        _ = machine.ended(first, at: Self.at(120))
        #expect(machine.status == SingleFlightStatus(flights: 1, waiting: 2, abandoned: 0))
    }

    @Test("a call that may not join begins a flight for itself: the others go on joining the one that is there")
    func alone() {
        var machine = machine
        let (first, _) = Self.join(&machine, "a")
        let alone = machine.join("a", at: Self.at(1), ifAllowed: { _ in false }, make: { 8 })
        #expect(alone.isFirst && alone.number != first && alone.payload == 8 && alone.waiting == 1)
        let (third, isFirst) = Self.join(&machine, "a")
        #expect(third == first && !isFirst)
        let end = machine.ended(alone.number, at: Self.at(2))
        #expect(Self.isAwaited(end) && machine.status == SingleFlightStatus(flights: 1, waiting: 2, abandoned: 0))
        let (fourth, _) = Self.join(&machine, "a")
        #expect(fourth == first)
    }

    @Test(
        "at the ends of time calls still join, if there is no window; with one nothing traps",
        arguments: [Int64.min, .max])
    func ends(start: Int64) {
        var machine = machine
        let (first, _) = Self.join(&machine, "a", at: start)
        for now in [Int64.max, .min] {
            let (number, _) = Self.join(&machine, "a", at: now)
            #expect(number == first)
        }
        for window in [Duration.nanoseconds(1), .infinite] {
            var machine = Machine(joinWindow: window)
            let (first, _) = Self.join(&machine, "a", at: start)
            _ = Self.join(&machine, "a", at: .max)
            _ = Self.join(&machine, "a", at: .min)
            _ = machine.left(first, at: Self.at(.min))
            _ = machine.ended(first, at: Self.at(.max))
        }
    }
}
