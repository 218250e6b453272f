#if Dashboard
    import Resilience
    import ResilienceObservability
    import ResilienceTesting
    import Testing

    @testable import ResilienceDashboard

    /// A hub is made inside the run, so that the tasks that follow its circuits belong to the run.
    @Suite(.timeLimit(.minutes(20))) struct DashboardHubTests {
        private let clock = ManualClock()
        private let breaker: CircuitBreaker

        init() {
            breaker = CircuitBreaker("b", openFor: .seconds(10), timeBase: clock)
        }

        private func hub(_ configuration: DashboardConfiguration = DashboardConfiguration()) -> DashboardHub {
            DashboardHub(HealthMonitor("s") { breaker }, configuration, timeBase: clock)
        }

        @Test("the hub reads states while somebody watches, and runs nothing otherwise")
        func sampling() throws {
            let hub = hub()
            #expect(!hub.isSampling)
            try clock.run { [clock] in
                let one = try #require(hub.join())
                let two = try #require(hub.join())
                #expect(hub.clientCount == 2 && hub.isSampling)
                var (states, others) = (one.states.makeAsyncIterator(), two.states.makeAsyncIterator())
                let start = clock.now
                #expect(await states.next()?.rows.count == 1)
                _ = await states.next()
                #expect(start.duration(to: clock.now) <= .milliseconds(500))
                _ = await others.next()
                one.leave()
                #expect(hub.clientCount == 1 && hub.isSampling)
                #expect(await states.next() == nil)
                two.leave()
                two.leave()
                #expect(hub.clientCount == 0 && !hub.isSampling)
            }
            // All waiters are gone: no alarm is set.
            #expect(!clock.advanceToNextSleeper())
        }

        @Test("a circuit's change is shown at once, and so is the end of its break")
        func transitions() throws {
            try clock.run { [clock, breaker] in
                let hub = hub()
                let seat = try #require(hub.join())
                var states = seat.states.makeAsyncIterator()
                #expect(await states.next()?.rows.first?.timeline?.state == .closed)
                try await clock.sleep(for: .seconds(3))
                let before = clock.now
                breaker.trip()
                while await states.next()?.rows.first?.timeline?.state != .open {}
                #expect(before.duration(to: clock.now) <= .milliseconds(100))
                var marks: [CircuitTimeline.Mark]?
                while marks?.last?.state != .halfOpen { marks = await states.next()?.rows.first?.timeline?.marks }
                #expect(before.duration(to: clock.now) <= .milliseconds(10_100))
                #expect(marks?.map(\.state) == [.open, .halfOpen])
                #expect(marks.map { $0[1].at - $0[0].at } == 10_000)
                seat.leave()
            }
        }

        @Test("calls are counted without viewers, and a page that opens later shows their rates")
        func rates() throws {
            let counter = EventCounter()
            let pipeline = Pipeline("p", timeBase: clock, observers: PolicyObservers(counter)) { breaker }
            try clock.run { [clock] in
                let hub = DashboardHub(
                    HealthMonitor("s") { pipeline }, DashboardConfiguration(), counting: counter, timeBase: clock)
                for _ in 0..<10 {
                    try await pipeline.run {}
                    try await clock.sleep(for: .milliseconds(1001))
                }
                #expect(!hub.isSampling)
                let section = await hub.present().sections.first
                #expect(section?.rates?.calls == 1 && section?.rates?.bars == [[5, 0, 0], [5, 0, 0]])
            }
        }

        @Test("without a counter there are no rates, and without viewers nothing waits")
        func noCounter() async {
            let hub = hub()
            let state = await hub.present()
            #expect(state.sections.first?.rates == nil && state.summary.barsEnd == nil)
            #expect(!clock.advanceToNextSleeper())
        }

        @Test("changes are recorded without viewers")
        func recording() throws {
            try clock.run { [clock, breaker] in
                let hub = hub()
                breaker.trip()
                // A little longer than the break, so that its end is reported.
                try await clock.sleep(for: .seconds(11))
                let marks = await hub.present().rows.first?.timeline?.marks
                #expect(marks?.map(\.state) == [.open, .halfOpen] && !hub.isSampling)
            }
        }

        @Test("a slow reader gets the latest state, not the states in between")
        func slowReader() throws {
            try clock.run { [clock, breaker] in
                let hub = hub()
                let seat = try #require(hub.join())
                for _ in 0..<50 {
                    breaker.trip()
                    try await clock.sleep(for: .seconds(1))
                    breaker.reset(keepingGrowth: false)
                    try await clock.sleep(for: .seconds(1))
                }
                var states = seat.states.makeAsyncIterator()
                let first = await states.next()
                #expect(first?.rows.first?.timeline?.state == .closed && (first?.now ?? 0) >= 99_000)
                let second = await states.next()
                #expect(second.map { $0.now >= 100_000 } == true)
                seat.leave()
            }
        }

        @Test("there are at most ten samples per second, however much happens")
        func storm() throws {
            try clock.run { [clock, breaker] in
                let hub = hub()
                let seat = try #require(hub.join())
                let samples = Task {
                    var count = 0
                    for await _ in seat.states { count += 1 }
                    return count
                }
                for number in 0..<1000 {
                    if number.isMultiple(of: 2) { breaker.trip() } else { breaker.reset(keepingGrowth: true) }
                    try await clock.sleep(for: .milliseconds(1))
                }
                seat.leave()
                let count = await samples.value
                #expect((9...12).contains(count), "\(count)")
            }
        }

        @Test("pages beyond the limit get no place until another page leaves")
        func full() throws {
            let hub = hub(DashboardConfiguration(maxClients: 1))
            try clock.run {
                let one = try #require(hub.join())
                #expect(hub.join() == nil)
                one.leave()
                let two = try #require(hub.join())
                two.leave()
            }
        }

        @Test("a viewer's place that is dropped is free again, and a dropped dashboard is released")
        func dropped() throws {
            weak var dropped: DashboardHub?
            do {
                let hub = DashboardHub(HealthMonitor { breaker }, DashboardConfiguration(), timeBase: clock)
                dropped = hub
                try clock.run {
                    var seat = hub.join()
                    #expect(hub.clientCount == 1 && seat != nil)
                    seat = nil
                    #expect(hub.clientCount == 0)
                }
            }
            #expect(dropped == nil)
        }

        @Test("actions change only an existing circuit")
        func actions() throws {
            let monitor = HealthMonitor {
                breaker
                Bulkhead("room", limit: 2, timeBase: clock)
            }
            func act(_ kind: String, on component: String = "0", _ place: Int = 0) -> Bool {
                DashboardAction(component: component, place: place, action: kind).perform(on: monitor)
            }
            #expect(act("open") && breaker.state == .open)
            #expect(act("close") && breaker.state == .closed)
            #expect(act("isolate") && breaker.mode == .isolated)
            #expect(!act("open"))
            #expect(act("automatic") && breaker.mode == .automatic && breaker.state == .closed)
            #expect(!act("endHold"))
            #expect(!act("open", on: "1") && !act("open", on: "x") && !act("open", .max) && !act("isolate", on: "0", 1))
        }

        @Test("a throttle's hold can be ended while it lasts")
        func endHold() async throws {
            let throttle = Throttle(limit: .unlimited, timeBase: clock)
            let monitor = HealthMonitor { Pipeline("p", timeBase: clock) { throttle } }
            let action = DashboardAction(component: "0", place: 0, action: "endHold")
            #expect(!action.perform(on: monitor))
            throttle.hold(for: .seconds(3600))
            for kind in ["open", "close", "isolate", "automatic"] {
                let other = DashboardAction(component: "0", place: 0, action: kind)
                #expect(!other.perform(on: monitor) && !throttle.status.isAllowed, "\(kind)")
            }
            #expect(action.perform(on: monitor))
            #expect(!action.perform(on: monitor))
            try await throttle.run {
                // One call probes: there is no hold to end.
                #expect(throttle.status.isProbing && !action.perform(on: monitor))
            }
            #expect(!action.perform(on: monitor))
        }
    }
#endif
