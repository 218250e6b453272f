#if Dashboard
    import Resilience
    import Testing

    @testable import ResilienceDashboard

    @Suite struct CircuitTimelineTests {
        private func transition(_ from: CircuitState, _ to: CircuitState) -> CircuitTransition {
            CircuitTransition(from: from, to: to, time: MonotonicInstant(nanoseconds: 0))
        }

        @Test("a timeline has the changes in order, and the state before the first change")
        func order() {
            var timeline = CircuitTimeline(before: .closed)
            timeline.note(.open, at: 10)
            timeline.note(.halfOpen, at: 20)
            #expect(timeline.before == .closed && timeline.since == nil)
            #expect(timeline.marks == [.init(at: 10, state: .open), .init(at: 20, state: .halfOpen)])
        }

        @Test("old changes are dropped, and the state at the beginning is kept")
        func forgetting() {
            var timeline = CircuitTimeline(before: .closed)
            for (time, state) in [(10, CircuitState.open), (20, .halfOpen), (30, .closed)] {
                timeline.note(state, at: time)
            }
            timeline.forget(before: 20)
            #expect(timeline.before == .open && timeline.marks.map(\.at) == [20, 30])
            timeline.forget(before: .max)
            #expect(timeline.before == .closed && timeline.marks.isEmpty)
            timeline.forget(before: .min)
        }

        @Test("a flapping circuit does not exceed its memory limit")
        func ring() {
            var timeline = CircuitTimeline(before: .closed)
            for time in 0..<1000 { timeline.note(time.isMultiple(of: 2) ? .open : .closed, at: time) }
            #expect(timeline.marks.count == CircuitTimeline.limit && timeline.marks.last?.at == 999)
            // The state before the first mark is the state of the mark that was dropped last.
            let first = timeline.marks[0].at
            #expect(timeline.before == ((first - 1).isMultiple(of: 2) ? .open : .closed))
            // The time before that is unknown.
            #expect(timeline.since == first - 1)
        }

        @Test("a change that is reported late does not come before the last one")
        func late() {
            var timeline = CircuitTimeline(before: .closed)
            timeline.note(.open, at: 30)
            timeline.note(.closed, at: 20)
            #expect(timeline.marks.map(\.at) == [30, 30])
        }

        @Test("when there are too many circuits, the timeline whose last change is the oldest is dropped")
        func manyCircuits() {
            var timelines = Timelines(limit: 2)
            func circuit(_ name: String) -> Timelines.Circuit { .init(component: name, place: 0) }
            timelines.note(transition(.closed, .open), of: circuit("a"), at: 1)
            timelines.note(transition(.closed, .open), of: circuit("b"), at: 2)
            timelines.note(transition(.open, .closed), of: circuit("a"), at: 3)
            timelines.note(transition(.closed, .open), of: circuit("c"), at: 4)
            #expect(timelines.count == 2)
            #expect(timelines.timeline(of: circuit("b"), since: 0) == nil)
            #expect(timelines.timeline(of: circuit("a"), since: 2)?.before == .open)
            #expect(timelines.timeline(of: circuit("c"), since: 0)?.marks.count == 1)
            #expect(timelines.timeline(of: .init(component: "c", place: 1), since: 0) == nil)
        }
    }

    @Suite struct DashboardGateTests {
        private let gate: DashboardGate = {
            var generator = SplitMix64(seed: 7)
            return DashboardGate(using: &generator)
        }()

        @Test("a request from the page passes, whatever the letter case of its host")
        func passes() {
            #expect(gate.token.count == 32 && gate.token.allSatisfy(\.isHexDigit))
            for (origin, site) in [
                ("http://a.example:80", nil), ("https://A.example:80", "same-origin"), ("http://a.EXAMPLE:80", nil),
            ] as [(String, String?)] {
                #expect(gate.allows(token: gate.token, origin: origin, authority: "a.example:80", site: site))
            }
        }

        @Test(
            "any other request is rejected",
            arguments: [
                (nil, "http://a", "a", nil), ("", "http://a", "a", nil), ("x", "http://a", "a", nil),
                ("TOKEN", nil, "a", nil), ("TOKEN", "null", "a", nil), ("TOKEN", "http://b", "a", nil),
                ("TOKEN", "http://a:81", "a:80", nil), ("TOKEN", "http://a", nil, nil), ("TOKEN", "://", "", nil),
                ("TOKEN", "http://a", "a", "cross-site"), ("TOKEN", "http://a", "a", "same-site"),
                ("TOKEN", "http://a", "a", "none"), ("TOKEN", "a", "a", nil), ("TOKEN", "http://a.evil", "a", nil),
                ("TOKENX", "http://a", "a", nil),
            ] as [(String?, String?, String?, String?)])
        func blocked(token: String?, origin: String?, authority: String?, site: String?) {
            let token = token?.replacing("TOKEN", with: gate.token)
            #expect(!gate.allows(token: token, origin: origin, authority: authority, site: site))
        }

        @Test("every mount has its own token, of full length even if the random numbers are small")
        func tokens() {
            struct Zero: RandomNumberGenerator { mutating func next() -> UInt64 { 5 } }
            var zero = Zero()
            #expect(DashboardGate.random(using: &zero) == "00000000000000050000000000000005")
            var system = SystemRandomNumberGenerator()
            #expect(DashboardGate(using: &system).token != DashboardGate(using: &system).token)
        }
    }
#endif
