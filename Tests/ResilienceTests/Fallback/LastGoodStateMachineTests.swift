import TestSupport
import Testing

@testable import Resilience

@Suite struct LastGoodStateMachineTests {
    @Test("the machine keeps the last value, and returns it until maxAge has passed")
    func age() {
        var machine = LastGoodStateMachine<Int>(maxAge: .seconds(10))
        #expect(machine.value(at: .second(0)) == nil && machine.age(at: .second(0)) == nil)
        #expect(machine.keep(1, at: .second(1)) == nil)
        #expect(machine.keep(2, at: .second(3)) == 1)
        #expect(machine.value(at: .second(13)) == 2)
        #expect(machine.value(at: .second(13) + .nanoseconds(1)) == nil)
        #expect(machine.age(at: .second(14)) == .seconds(11))
    }

    @Test("a forgotten value is no longer returned")
    func forgotten() {
        var machine = LastGoodStateMachine<Int>(maxAge: .seconds(10))
        #expect(machine.forget() == nil)
        _ = machine.keep(1, at: .second(1))
        #expect(machine.forget() == 1)
        #expect(machine.value(at: .second(1)) == nil && machine.age(at: .second(1)) == nil)
    }

    @Test("an out-of-order clock reading makes no value's age negative or too great")
    func outOfOrder() {
        var machine = LastGoodStateMachine<Int>(maxAge: .seconds(10))
        _ = machine.keep(1, at: .second(5))
        _ = machine.keep(2, at: .second(4))
        #expect(machine.age(at: .second(3)) == .zero && machine.value(at: .second(3)) == 2)
        #expect(machine.value(at: .second(15)) == 2)
    }

    @Test("with an infinite maxAge a value never expires")
    func infinite() {
        var machine = LastGoodStateMachine<Int>(maxAge: .infinite)
        _ = machine.keep(1, at: .second(1))
        #expect(machine.value(at: .distantFuture) == 1)
    }
}
