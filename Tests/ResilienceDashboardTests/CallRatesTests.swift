#if Dashboard
    import Resilience
    import ResilienceTesting
    import Testing

    @testable import ResilienceDashboard

    @Suite struct CallRatesTests {
        private var rates = CallRates(history: 600_000)

        private func calls(_ calls: Int, failed: Int = 0, rejected: Int = 0) -> CallCounts {
            CallCounts(calls: calls, failures: failed, rejections: rejected)
        }

        @Test("calls are counted by pipeline and by result; attempts and policies are not calls")
        func counts() async throws {
            let counter = EventCounter()
            let clock = ManualClock()
            func pipeline(_ name: String) -> Pipeline {
                Pipeline(
                    name, timeBase: clock, observers: PolicyObservers(counter)
                ) {
                    Retry(maxRetries: 1, backoff: .none)
                    CircuitBreaker("breaker", tripping: .consecutiveFailures(2), timeBase: clock)
                }
            }
            let (one, other) = (pipeline("one"), pipeline("other"))
            try await one.run {}
            try? await one.run { throw InjectedFault(policy: "test", verdict: .cancelled) }
            // Two attempts of the first call open the circuit.
            for _ in 0..<3 { try? await one.run { throw InjectedFault(policy: "test", verdict: .transient) } }
            try await other.run {}
            let counted = CallCounts.byPipeline(counter.counts)
            #expect(counted == ["one": calls(5, failed: 1, rejected: 2), "other": calls(1)])
        }

        @Test("a pipeline without its own counter has no rates, instead of zero per second")
        mutating func partial() {
            for time in [0, 5_000] { rates.note(["p": calls(time)], at: time) }
            rates.isPartial = true
            #expect(rates.rates(of: "p")?.calls == 1_000 && rates.rates(of: "other") == nil)
        }

        @Test("there is no rate before the second reading; calls before the first reading do not count")
        mutating func first() {
            #expect(rates.rates(of: "p") == nil && rates.barsEnd == nil)
            rates.note(["p": calls(1_000)], at: 0)
            #expect(rates.rates(of: "p") == nil)
            rates.note(["p": calls(1_010, failed: 5, rejected: 1)], at: 5_000)
            let first = rates.rates(of: "p")
            #expect(first?.calls == 2 && first?.failures == 1 && first?.rejections == 0.2)
            #expect(rates.rates(of: "other")?.calls == 0 && rates.rates(of: "other")?.bars == [])
        }

        @Test("rates cover the last half minute; bars cover the whole time that the page shows")
        mutating func window() {
            for step in 0...200 {
                let count = min(step, 100)
                rates.note(["p": calls(10 * count, failed: 5 * count)], at: 5_000 * step)
                switch step {
                case 1...100:
                    #expect(rates.rates(of: "p")?.calls == 2 && rates.rates(of: "p")?.failures == 1, "\(step)")
                case 103: #expect(rates.rates(of: "p")?.calls == 1)
                case 106...200: #expect(rates.rates(of: "p")?.calls == 0, "\(step)")
                default: break
                }
            }
            let bars = rates.rates(of: "p")?.bars ?? []
            // Earlier bars are dropped: a bar is 5 s, and the page shows 120 of them.
            #expect(bars.count == 120 && bars.prefix(20).allSatisfy { $0 == [10, 5, 0] })
            #expect(bars.suffix(100).allSatisfy { $0 == [0, 0, 0] })
            #expect(rates.barsEnd == 1_000_000)
        }

        @Test("a pipeline has no bars if all its calls are too old for the page; after a new call it has bars again")
        mutating func idle() {
            rates.note([:], at: 0)
            rates.note(["p": calls(1)], at: 5_000)
            for step in 2...130 { rates.note(["p": calls(1)], at: 5_000 * step) }
            #expect(rates.rates(of: "p")?.bars == [])
            rates.note(["p": calls(4)], at: 655_000)
            #expect(rates.rates(of: "p")?.bars == [[3, 0, 0]] && rates.rates(of: "p")?.calls == 0.1)
        }

        @Test("after a reset of the counter, only the calls since the reset count")
        mutating func reset() {
            rates.note(["p": calls(100, failed: 50), "q": calls(7)], at: 0)
            rates.note(["p": calls(10, failed: 5)], at: 5_000)
            #expect(rates.rates(of: "p")?.bars == [[10, 5, 0]] && rates.rates(of: "q")?.bars == [])
            rates.note(["p": calls(20, failed: 5), "q": calls(8)], at: 10_000)
            #expect(
                rates.rates(of: "p")?.bars == [[10, 5, 0], [10, 0, 0]] && rates.rates(of: "q")?.bars == [[8, 0, 0]])
        }

        @Test("a late reading divides by the time that has passed, and leaves bars without calls")
        mutating func late() {
            rates.note([:], at: 0)
            rates.note(["p": calls(10)], at: 5_000)
            rates.note(["p": calls(30)], at: 20_000)
            #expect(rates.rates(of: "p")?.calls == 1.5)
            #expect(rates.rates(of: "p")?.bars == [[10, 0, 0], [0, 0, 0], [0, 0, 0], [20, 0, 0]])
            // After an hour's sleep none of these bars is left.
            rates.note(["p": calls(31)], at: 3_600_000)
            #expect(rates.rates(of: "p")?.bars == [[1, 0, 0]])
        }

        @Test(
            "the bars cover the page's time in whole steps",
            arguments: [
                (60_000, 5_000), (600_000, 5_000), (600_001, 10_000), (3_600_000, 30_000), (86_400_000, 720_000),
            ])
        func bars(history: Int, length: Int) {
            #expect(CallRates(history: history).barLength == length)
        }

        @Test("after random readings all bounds hold, and no call is lost or counted twice")
        func walk() {
            var generator = SeededGenerator(seed: 35)
            for _ in 0..<200 {
                var rates = CallRates(history: [60_000, 600_000, 3_600_000].randomElement(using: &generator)!)
                var (total, counted, time) = (CallCounts(), 0, 0)
                rates.note([:], at: 0)
                for _ in 0..<60 {
                    let new = Int.random(in: 0...20, using: &generator)
                    let failed = Int.random(in: 0...new, using: &generator)
                    total += CallCounts(calls: new, failures: failed, rejections: new - failed)
                    counted += new
                    time += [0, 1, 4_999, 5_000, 5_001, 7_000].randomElement(using: &generator)!
                    rates.note(["p": total], at: time)
                    guard let shown = rates.rates(of: "p") else { continue }
                    #expect(shown.bars.count <= CallRates.barCount)
                    #expect(shown.bars.allSatisfy { $0[0] == $0[1] + $0[2] })
                    // The longest walk is shorter than ten minutes.
                    if rates.barLength * CallRates.barCount >= 600_000 {
                        #expect(shown.bars.reduce(0) { $0 + $1[0] } == counted)
                    }
                    #expect(abs(shown.calls - shown.failures - shown.rejections) < 0.02)
                }
            }
        }

        @Test("huge times and counts do not trap")
        mutating func extremes() {
            for time in [Int.min, -1, 0, .max, .max, 5] {
                rates.note(["p": calls(.max, failed: .max), "q": calls(.min)], at: time)
                rates.note(["p": calls(0)], at: time)
                #expect(rates.rates(of: "p")?.calls.isFinite ?? true)
            }
        }
    }
#endif
