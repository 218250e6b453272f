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

    @Test("calls for one key join one flight, and calls for another key join another")
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

    @Test("nobody joins a flight that its last caller has left, and its later end reports the delay since then")
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
        // The old flight's end does not change the new flight.
        let (joined, _) = Self.join(&machine, "a", at: 11)
        #expect(joined == next)
        #expect(machine.status == SingleFlightStatus(flights: 1, waiting: 2, abandoned: 0))
    }

    @Test("if a flight's end was measured before its last caller left, its delay is zero, not negative")
    func lateBeforeLeft() {
        var machine = machine
        let (number, _) = Self.join(&machine, "a")
        _ = machine.left(number, at: Self.at(3))
        guard case .late(let delay) = machine.ended(number, at: Self.at(1)) else { return #expect(Bool(false)) }
        #expect(delay == .zero)
    }

    @Test("after the window a call begins its own flight; the earlier one continues")
    func window() {
        var machine = Machine(joinWindow: .nanoseconds(10))
        let (first, _) = Self.join(&machine, "a", at: 100)
        // Readings of two threads may come in reverse order.
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

    @Test(
        "at the clock's first and last instants, calls still join if there is no window, and with a window nothing traps",
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
