import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

@Suite(.timeLimit(.minutes(20))) struct TransitionTests {
    let clock = ManualClock()
    let breaker: CircuitBreaker

    init() { breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock) }

    private func end(_ verdict: Verdict) { try? breaker.tryAcquire().complete(verdict) }

    @Test("a stream reports every change of state, in order and with its time, and nothing else (A11)")
    func stream() async {
        let start = clock.now
        let transitions = breaker.transitions()
        end(.success)
        end(.transient)
        clock.advance(by: .seconds(60))
        end(.transient)
        clock.advance(by: .seconds(60))
        end(.success)
        breaker.reset()
        end(.transient)
        breaker.reset()
        var seen: [CircuitTransition] = []
        for await transition in transitions {
            seen.append(transition)
            if seen.count == 7 { break }
        }
        let times = [0, 60, 60, 120, 120, 120, 120].map { start + .seconds($0) }
        let states: [CircuitState] = [.closed, .open, .halfOpen, .open, .halfOpen, .closed, .open, .closed]
        #expect(
            seen
                == zip(zip(states, states.dropFirst()), times).map { CircuitTransition(from: $0.0, to: $0.1, time: $1) }
        )
    }

    @Test("the end of a break is reported on time, even if no call comes (A11, P50)")
    func breakEnds() async {
        var transitions = breaker.transitions().makeAsyncIterator()
        end(.transient)
        #expect(await transitions.next()?.to == .open)
        clock.advance(by: .seconds(60))
        #expect(
            await transitions.next() == CircuitTransition(from: .open, to: .halfOpen, time: clock.now))
        #expect(breaker.state == .halfOpen && breaker.status.isAllowed)
    }

    @Test("the end of a ramp, and of a gate's break, is reported on time")
    func rampAndGate() async {
        let ramped = CircuitBreaker(
            circuit: ThreeStateCircuit(tripping: .consecutiveFailures(1), ramp: .seconds(10)), timeBase: clock)
        var transitions = ramped.transitions().makeAsyncIterator()
        try? ramped.tryAcquire().complete(.transient)
        clock.advance(by: .seconds(60))
        try? ramped.tryAcquire().complete(.success)
        clock.advance(by: .seconds(10))
        var states: [CircuitState?] = []
        for _ in 0..<3 { states.append(await transitions.next()?.to) }
        #expect(states == [.open, .halfOpen, .closed])

        let gate = CircuitBreaker(circuit: BackoffGate(), timeBase: clock)
        transitions = gate.transitions().makeAsyncIterator()
        gate.trip()
        clock.advance(by: .seconds(30))
        states = []
        for _ in 0..<2 { states.append(await transitions.next()?.to) }
        #expect(states == [.open, .closed])
    }

    @Test("without watchers no alarm is set; when the last watcher leaves, the alarm is cancelled")
    func alarms() async {
        end(.transient)
        #expect(clock.sleepers.isEmpty)
        var streams = [breaker.transitions(), breaker.transitions()]
        #expect(clock.sleepers == [clock.now + .seconds(60)])
        for isLast in [false, true] {
            let task = Task { [stream = streams.removeLast()] in for await _ in stream {} }
            task.cancel()
            await task.value
            #expect(clock.sleepers.isEmpty == isLast)
        }
    }

    @Test("a watcher that begins after a break's end still gets that end")
    func late() async {
        end(.transient)
        clock.advance(by: .seconds(61))
        var transitions = breaker.transitions().makeAsyncIterator()
        #expect(await transitions.next()?.to == .halfOpen)
        #expect(clock.sleepers.isEmpty)
    }

    @Test("watchers see an isolation as an open circuit, and see its end (P36)")
    func isolated() async {
        var transitions = breaker.transitions().makeAsyncIterator()
        for mode in [CircuitBreaker.Mode.isolated, .automatic, .disabled, .observing, .automatic] {
            breaker.setMode(mode)
        }
        breaker.trip()
        var states: [CircuitState?] = []
        for _ in 0..<3 { states.append(await transitions.next()?.to) }
        #expect(states == [.open, .closed, .open])
    }

    @Test("a watched breaker admits the same calls as an unwatched one (P36)")
    func decidesAlike() throws {
        for ramp in [Duration.zero, .seconds(3)] {
            let both = (0..<2).map { _ in
                CircuitBreaker(
                    circuit: ThreeStateCircuit(
                        tripping: .consecutiveFailures(2), openFor: .exponential(from: .seconds(2)),
                        closing: .successes(2, of: 3), ramp: ramp),
                    timeBase: clock)
            }
            let held = [HeldPermits(), HeldPermits()]
            let stream = both[0].transitions()
            var random = SeededGenerator(seed: 7)
            for _ in 0..<2_000 {
                clock.advance(by: .milliseconds(Int.random(in: 0..<900, using: &random)))
                let verdict = [Verdict.success, .transient, .cancelled].randomElement(using: &random)!
                // One call stays in flight while others begin and end.
                if Bool.random(using: &random) { for permits in held { permits.completeFirst(verdict) } }
                let admitted = both.indices.map { place in
                    do {
                        let permit = try both[place].tryAcquire()
                        if held[place].isEmpty { held[place].add(permit) } else { permit.complete(verdict) }
                        return true
                    } catch {
                        return false
                    }
                }
                try #require(admitted[0] == admitted[1])
                try #require(both[0].status.timeless == both[1].status.timeless)
            }
            _ = stream
        }
    }

    @Test("the status has the time of the last change of state, and when the circuit was last closed")
    func since() throws {
        func at(_ seconds: Int) -> MonotonicInstant { start + .seconds(seconds) }
        let start = clock.now
        #expect(breaker.status.since == nil && breaker.status.lastClosed == nil)
        clock.advance(to: at(5))
        end(.transient)
        for second in [5, 64] {
            clock.advance(to: at(second))
            #expect(breaker.status.since == at(5) && breaker.status.lastClosed == at(5))
        }
        clock.advance(to: at(70))
        #expect(breaker.status.state == .halfOpen && breaker.status.since == at(65))
        end(.transient)
        #expect(breaker.status.since == at(70) && breaker.status.lastClosed == at(5))
        clock.advance(to: at(150))
        end(.success)
        #expect(breaker.status.since == at(150) && breaker.status.lastClosed == nil)
        breaker.setMode(.isolated)
        clock.advance(to: at(200))
        #expect(breaker.status.since == at(150) && breaker.status.lastClosed == at(150))
        breaker.setMode(.automatic)
        #expect(breaker.status.since == at(200) && breaker.status.lastClosed == nil)
        breaker.trip()
        try breaker.restore(try #require(breaker.snapshot()))
        #expect(breaker.status.state == .open && breaker.status.since == nil && breaker.status.lastClosed == nil)
    }

    @Test("an action by hand after a break's end leads to the same times with and without watchers")
    func byHandAfterBreak() {
        let machines: [@Sendable () -> any CircuitStateMachine] = [
            { ThreeStateCircuit() }, { ThreeStateCircuit(probes: 1, ramp: .seconds(20)) }, { BackoffGate() },
        ]
        let actions: [(name: String, act: @Sendable (CircuitBreaker) -> Void)] = [
            ("reset", { $0.reset() }), ("trip", { $0.trip(for: .seconds(60)) }),
            ("isolate", { $0.setMode(.isolated) }), ("disable", { $0.setMode(.disabled) }),
            ("observe", { $0.setMode(.observing) }),
            ("reconfigure", { _ = $0.reconfigure(machine: $0.inner.withLock { $0.circuit.machine }) }),
        ]
        for (machine, action) in machines.flatMap({ machine in actions.map { (machine, $0) } }) {
            for hasProbe in [false, true] {
                let all = [false, true].map { isWatched in
                    let (clock, recorder) = (ManualClock(), EventRecorder())
                    let start = clock.now
                    let breaker = CircuitBreaker(
                        circuit: machine(), timeBase: clock, observers: PolicyObservers(recorder))
                    let stream = isWatched ? breaker.transitions() : nil
                    breaker.trip(for: .seconds(60))
                    clock.advance(by: .seconds(60))
                    if hasProbe { try? breaker.tryAcquire().complete(.success) }
                    clock.advance(by: .seconds(40))
                    action.act(breaker)
                    let status = breaker.status
                    _ = stream
                    let (since, lastClosed) = (status.since, status.lastClosed)
                    let times = [since, lastClosed].map { $0.map { "\(start.duration(to: $0))" } ?? "-" }
                    // On reconfigure, only a watched breaker reports a new round at once.
                    let told = action.name == "reconfigure" ? [] : recorder.events() as [CircuitBreaker.Event]
                    return "\(status.state) \(times) \(told)"
                }
                #expect(all[0] == all[1], "\(action.name), \(machine()), with a probe: \(hasProbe)")
            }
        }
    }

    @Test(
        "after a break's end, `since` is the time of an action by hand that changes the state, or the break's end"
    )
    func sinceByHand() {
        let actions: [(act: (CircuitBreaker) -> Void, since: Int)] = [
            ({ $0.reset() }, 100), ({ $0.trip(for: .seconds(60)) }, 100), ({ $0.setMode(.isolated) }, 100),
            ({ $0.setMode(.disabled) }, 60), ({ $0.setMode(.observing) }, 100),
        ]
        for (act, since) in actions {
            let breaker = CircuitBreaker(timeBase: clock)
            let start = clock.now
            breaker.trip(for: .seconds(60))
            clock.advance(by: .seconds(100))
            act(breaker)
            #expect(breaker.status.since == start + .seconds(since))
        }
        breaker.trip(for: .seconds(60))
        clock.advance(by: .seconds(30))
        breaker.setMode(.isolated)
        clock.advance(by: .seconds(70))
        breaker.setMode(.automatic)
        // The isolation hid the half-open state until now.
        #expect(breaker.status.state == .halfOpen && breaker.status.since == clock.now)
    }

    @Test("if a break ends while the breaker is disabled, the break's end is reported, with its own time (P36)")
    func endsWhileDisabled() async {
        let start = clock.now
        var transitions = breaker.transitions().makeAsyncIterator()
        breaker.trip(for: .seconds(60))
        clock.advance(by: .seconds(30))
        breaker.setMode(.disabled)
        clock.advance(by: .seconds(70))
        #expect(breaker.status.state == .halfOpen && breaker.status.since == start + .seconds(60))
        #expect(breaker.status.isAllowed)
        _ = await transitions.next()
        #expect(
            await transitions.next()
                == CircuitTransition(from: .open, to: .halfOpen, time: start + .seconds(60)))
        breaker.setMode(.automatic)
        #expect(breaker.status.since == start + .seconds(60))
    }

    @Test("a break's end that is detected late is reported with its true time, as in the status")
    func toldLate() async {
        let start = clock.now
        var transitions = breaker.transitions().makeAsyncIterator()
        end(.transient)
        clock.jump(by: .seconds(100))
        #expect(await transitions.next()?.time == start)
        #expect(
            await transitions.next()
                == CircuitTransition(from: .open, to: .halfOpen, time: start + .seconds(60)))
        #expect(breaker.status.since == start + .seconds(60))
    }

    @Test("an action by hand after a break's end is reported after that end")
    func toldInOrder() async {
        let recorder = EventRecorder()
        let breaker = CircuitBreaker(timeBase: clock, observers: PolicyObservers(recorder))
        breaker.trip(for: .seconds(60))
        clock.advance(by: .seconds(100))
        breaker.reset()
        #expect(recorder.events() as [CircuitBreaker.Event] == [.tripped(for: .seconds(60)), .halfOpened, .reset])
        breaker.trip(for: .seconds(60))
        clock.advance(by: .seconds(100))
        recorder.reset()
        #expect(breaker.reconfigure())
        #expect(recorder.events() as [CircuitBreaker.Event] == [.halfOpened])
    }

    @Test(
        "each reader has its own stream; a slow reader loses the oldest changes; an ended stream leaves nothing behind"
    )
    func readers() async {
        let (all, two) = (breaker.transitions(), breaker.transitions(bufferingNewest: 2))
        for _ in 0..<3 {
            end(.transient)
            breaker.reset()
        }
        func take(_ count: Int, from stream: AsyncStream<CircuitTransition>) async -> [CircuitState] {
            var states: [CircuitState] = []
            for await transition in stream {
                states.append(transition.to)
                if states.count == count { break }
            }
            return states
        }
        #expect(await take(6, from: all) == [.open, .closed, .open, .closed, .open, .closed])
        #expect(await take(2, from: two) == [.open, .closed])
        let task = Task { [breaker] in
            for await _ in breaker.transitions() {}
        }
        task.cancel()
        await task.value
        #expect(breaker.inner.withLock { $0.extras?.watchers.all.count ?? 0 } == 2)
        _ = (all, two)
    }

    @Test("a watcher may read the breaker, change it, and add another watcher, without deadlock and in order (P7)")
    func reentrant() {
        let seen = Locked<[String]>([])
        let added = Locked(false)
        breaker.watch(CircuitBreaker.nextWatcherID()) { [breaker] transition in
            seen.withLock { $0.append("1: \(transition.to)") }
            if transition.to == .open { breaker.reset() }
            if !added.withLock({ isAdded in
                defer { isAdded = true }
                return isAdded
            }) {
                breaker.watch(CircuitBreaker.nextWatcherID()) { transition in
                    seen.withLock { $0.append("2: \(transition.to)") }
                }
            }
        }
        end(.transient)
        #expect(seen.withLock { $0 } == ["1: open", "1: closed", "2: closed"])
    }

    @Test("changes by many concurrent threads are reported in order")
    func manyThreads() async {
        let seen = Locked<[CircuitTransition]>([])
        breaker.watch(CircuitBreaker.nextWatcherID()) { transition in seen.withLock { $0.append(transition) } }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { [breaker] in
                    for _ in 0..<500 {
                        try? breaker.tryAcquire().complete(.transient)
                        breaker.reset()
                    }
                }
            }
        }
        let all = seen.withLock { $0 }
        #expect(all.count >= 2 && zip(all, all.dropFirst()).allSatisfy { $0.to == $1.from })
    }

    @Test(
        "a slow reader keeps the newest 100 changes, or the requested number, but at least one",
        arguments: [nil, 5, 1, 0, -7])
    func kept(limit: Int?) async {
        let stream = limit.map { breaker.transitions(bufferingNewest: $0) } ?? breaker.transitions()
        for _ in 0..<60 {
            end(.transient)
            breaker.reset()
        }
        withExtendedLifetime(breaker) {}
        var count = 0
        for await transition in stream {
            count += 1
            if count == max(1, limit ?? 100) {
                #expect(transition.to == .closed)
                break
            }
        }
        // No old change is left in the stream: the next change is new.
        var rest = stream.makeAsyncIterator()
        end(.transient)
        #expect(await rest.next()?.to == .open)
    }

    @Test("if two threads plan an alarm concurrently, only the later plan's alarm stays set (P36)")
    func plannedTwice() throws {
        let base = InterruptedClock(clock)
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: base)
        let stream = breaker.transitions()
        base.meanwhile { [breaker] in breaker.trip(for: .seconds(5)) }
        try breaker.tryAcquire().complete(.transient)
        #expect(clock.sleepers == [clock.now + .seconds(5)])
        withExtendedLifetime(stream) {}
    }
}
