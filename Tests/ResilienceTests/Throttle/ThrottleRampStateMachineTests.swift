import Testing

@testable import Resilience

/// How calls resume after a hold: at a growing rate, or, if there is no rate, with a slow start.
@Suite struct ThrottleRampStateMachineTests {
    @Test(
        "over a ramp R the nth call comes √(2·n·I·R) after the good probe, then at the full rate", arguments: [1, 20])
    func growing(burst: Int) {
        var machine = recovered(Limiter(.perSecond(10, burst: burst)), ramp: .seconds(20))
        #expect(machine.ask(at: at(100)) == .go)
        // 2·I·R is 4 s².
        for call in 1...100 {
            let turn = at(100) + .nanoseconds(Int64((4e18 * Double(call)).squareRoot().rounded(.up)))
            guard case .notBefore(let named) = machine.ask(at: at(100)) else {
                Issue.record("call \(call) goes at once")
                return
            }
            #expect(abs(named.nanoseconds - turn.nanoseconds) <= 4, "call \(call)")
            #expect(machine.ask(at: MonotonicInstant(nanoseconds: named.nanoseconds - 1)) == .notBefore(named))
            #expect(machine.ask(at: named) == .go)
        }
        // The hundredth call came at the ramp's end; after it, calls come every 100 ms.
        for call in 1...30 as ClosedRange<Int64> {
            #expect(machine.ask(at: at(120)) == .notBefore(at(120) + .milliseconds(100 * call)))
            #expect(machine.ask(at: at(120) + .milliseconds(100 * call)) == .go)
        }
    }

    @Test("during a ramp the bucket fills with the square of the time, and never beyond the burst")
    func filling() {
        var machine = recovered(Limiter(.perSecond(10, burst: 20)), ramp: .seconds(20))
        _ = machine.ask(at: at(100))
        for (seconds, calls) in [(2, 1), (4, 4), (8, 16), (9, 20), (30, 20)] as [(Int64, Int)] {
            #expect(machine.available(at: at(100 + seconds)) == calls, "after \(seconds) s")
        }
        #expect(!machine.isAtRest(at: at(119)) && machine.isAtRest(at: at(120)))
        #expect(machine.allowed(asks: 99, at: at(130)) == 20)
    }

    @Test("a line moves at the ramp's rate, and a hold during the ramp begins a new ramp")
    func lineInRamp() {
        var machine = recovered(Limiter(.perSecond(10, burst: 1)), ramp: .seconds(20))
        _ = machine.ask(at: at(100))
        let tickets = (0..<4).map { _ in machine.join(at: at(100)) }
        #expect(machine.admitted(at: at(102)) == [tickets[0]])
        for (ticket, now) in zip(tickets[1...], [104, 106, 108] as [Int64]) {
            #expect(machine.admitted(at: at(now)) == [ticket])
        }
        #expect(machine.ask(at: at(108)) == .notBefore(MonotonicInstant(nanoseconds: 108_246_211_252)))
        machine.hold(until: at(110))
        #expect(machine.ask(at: at(110)) == .probe)
        machine.probeEnded(decided: true, inGeneration: 2, at: at(110))
        #expect(machine.ask(at: at(110)) == .go)
        #expect(machine.ask(at: at(110)) == .notBefore(at(112)))
    }

    @Test("if `goAtOnce` admits no call it changes nothing, and does not end a ramp whose time is over")
    func atOnceInRamp() {
        var machine = recovered(Limiter(.perSecond(10, burst: 1)), ramp: .seconds(20))
        for now in [at(100), at(119), at(121)] {
            let before = machine
            #expect(machine.goAtOnce(cost: 1, at: now) == false)
            #expect(machine == before)
        }
        #expect(machine.ask(at: at(121)) == .go)
        #expect(machine.goAtOnce(cost: 1, at: at(122)) == true)
    }

    @Test("after a hold, calls that waited and later calls all go at the ramp's rate, however long the wait was")
    func longInLine() {
        var machine = ThrottleStateMachine(Limiter(.perSecond(10, burst: 1)), ramp: .seconds(20))
        machine.hold(until: at(100))
        let tickets = (0..<4).map { _ in machine.join(at: at(0)) }
        #expect(machine.admitted(at: at(100)) == [tickets[0]])
        machine.probeEnded(decided: true, inGeneration: 1, at: at(100))
        #expect(machine.admitted(at: at(100)) == [tickets[1]])
        #expect(machine.head?.answer == .notBefore(at(102)))
        // √(2·n·I·R) for n = 3: it is the third call after the call that was available.
        #expect(machine.ask(at: at(100)) == .notBefore(MonotonicInstant(nanoseconds: 103_464_101_616)))
        #expect(machine.admitted(at: at(102)) == [tickets[2]])
    }

    @Test("without a rate two calls go at first, and two more for each call that ends", arguments: [true, false])
    func slowStart(isGate: Bool) {
        let limiter = isGate ? Limiter(.unlimited) : Limiter(.slidingWindow(100, per: .seconds(1)))
        var machine = recovered(limiter, ramp: .seconds(20))
        #expect(machine.available(at: at(100)) == 2)
        #expect(machine.ask(at: at(100)) == .pace)
        #expect(machine.ask(at: at(100)) == .pace)
        #expect(machine.ask(at: at(100)) == .probing(until: at(120)))
        #expect(machine.ask(cost: 0, at: at(100)) == .go)
        machine.paceEnded(decided: true, inGeneration: machine.generation)
        #expect(machine.goAtOnce(cost: 1, at: at(101)) == false)
        #expect(machine.ask(at: at(101)) == .pace)
        #expect(machine.ask(at: at(101)) == .pace)
        #expect(machine.ask(at: at(101)) == .probing(until: at(120)))
        machine.paceEnded(decided: false, inGeneration: machine.generation)
        #expect(machine.available(at: at(101)) == 1)
        #expect(machine.ask(at: at(101)) == .pace)
        machine.paceEnded(decided: true, inGeneration: machine.generation - 1)
        #expect(machine.ask(at: at(101)) == .probing(until: at(120)))
    }

    @Test("a slow start ends when the ramp's time is over, even with calls in flight")
    func slowStartEnds() {
        var machine = recovered(Limiter(.unlimited), ramp: .seconds(20))
        _ = machine.ask(at: at(100))
        _ = machine.ask(at: at(100))
        let tickets = (0..<3).map { _ in machine.join(at: at(100)) }
        #expect(machine.ask(at: at(100)) == .probing(until: at(120)))
        #expect(machine.admitted(at: at(119)) == [])
        #expect(machine.head?.answer == .probing(until: at(120)))
        machine.paceEnded(decided: true, inGeneration: machine.generation)
        #expect(machine.admitted(at: at(119)) == Array(tickets[..<2]))
        #expect(!machine.isAtRest(at: at(119)))
        #expect(machine.admitted(at: at(120)) == [tickets[2]])
        #expect(machine.ask(at: at(120)) == .go)
        #expect(machine.isAtRest(at: at(120)))
        machine.paceEnded(decided: true, inGeneration: machine.generation)
        #expect(machine.available(at: at(120)) == .max)
    }

    @Test("a window's own limit also applies during a slow start, and uses no credit")
    func windowInSlowStart() {
        var machine = recovered(Limiter(.slidingWindow(2, per: .seconds(20))), ramp: .seconds(60))
        #expect(machine.ask(cost: 2, at: at(100)) == .notBefore(at(110)))
        #expect(machine.ask(at: at(100)) == .pace)
        #expect(machine.ask(at: at(100)) == .notBefore(at(110)))
        #expect(machine.ask(at: at(110)) == .pace)
        #expect(machine.ask(at: at(110)) == .probing(until: at(160)))
        machine.reset(at: at(110))
        #expect(machine.ask(at: at(110)) == .go)
    }

    @Test("in a slow start a call waits for its credit or for the window, whichever comes later")
    func creditAndWindow() {
        var machine = recovered(Limiter(.slidingWindow(3, per: .seconds(20))), ramp: .seconds(5))
        #expect(machine.ask(cost: 2, at: at(100)) == .pace)
        _ = machine.join(at: at(100))
        #expect(machine.head?.answer == .notBefore(at(110)))
        machine = recovered(Limiter(.slidingWindow(3, per: .seconds(20))), ramp: .seconds(5))
        for _ in 0..<2 { #expect(machine.ask(at: at(100)) == .pace) }
        #expect(machine.ask(at: at(100)) == .probing(until: at(110)))
    }

    @Test("until a slow start ends the throttle is not at rest, and paces calls", arguments: [true, false])
    func restAfterSlowStart(isGate: Bool) {
        let limiter = isGate ? Limiter(.unlimited) : Limiter(.slidingWindow(100, per: .seconds(1)))
        let machine = recovered(limiter, ramp: .seconds(20))
        let last = MonotonicInstant(nanoseconds: at(120).nanoseconds - 1)
        #expect(!machine.isAtRest(at: last) && machine.isAtRest(at: at(120)))
        #expect(machine.available(at: last) == 2 && machine.available(at: at(120)) == (isGate ? .max : 100))
    }

    @Test("without a ramp all calls go at once after a good probe")
    func noRamp() {
        var machine = recovered(Limiter(.unlimited), ramp: .zero)
        #expect(machine.isAtRest(at: at(100)) && machine.available(at: at(100)) == .max)
        #expect(machine.allowed(asks: 99, at: at(100)) == 99)
    }

    @Test("an endless ramp and a ramp of a nanosecond do not overflow, and do not hang")
    func extremes() {
        for ramp in [Duration.nanoseconds(1), .seconds(Int64.max)] {
            for limiter in [
                Limiter(.perSecond(1_000_000_000, burst: 1)), Limiter(.rate(1, per: .infinite, burst: 3)),
            ] {
                var machine = recovered(limiter, ramp: ramp)
                for now in [100, 101, 1 << 32] as [Int64] { _ = machine.ask(at: at(now)) }
                _ = machine.join(at: at(1 << 32))
                #expect(machine.ask(at: .distantFuture) != .never)
            }
        }
    }

    /// The state after a hold until 90 and a good probe that ended at 100.
    private func recovered(_ limiter: Limiter, ramp: Duration) -> ThrottleStateMachine {
        var machine = ThrottleStateMachine(limiter, ramp: ramp)
        machine.hold(until: at(90))
        _ = machine.ask(at: at(90))
        machine.probeEnded(decided: true, inGeneration: 1, at: at(100))
        return machine
    }

    private func at(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: seconds * 1_000_000_000) }
}
