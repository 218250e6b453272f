#if Redis
    import Resilience
    import ResilienceTesting
    import TestServers
    import TestSupport
    import Testing

    @testable import ResilienceFleet

    /// The decisions of a breaker's script, on a real server and a test's clock.
    @Suite(.enabled(if: RedisServer.isInstalled, Comment(rawValue: RedisServer.isMissing)))
    struct BreakerScriptTests {
        let bench: ScriptBench
        let fleet: Fleet

        init() throws {
            bench = try ScriptBench()
            fleet = Fleet("f", engine: SimulatedEngine(bench: bench, clock: ManualClock()), expectedMembers: 3)
        }

        private func tell(
            _ member: String, at seconds: Double, _ change: (inout FleetCircuit.Report) -> Void = { _ in }
        )
            throws -> BreakerAnswer
        {
            var report = FleetCircuit.Report(openFor: .seconds(1))
            change(&report)
            let arguments = report.arguments(of: member, in: fleet, rule: FleetTripRule())
            let words = try bench.run(.breaker, "b", arguments, at: Int64((1_700_000_000 + seconds) * 1e6))
            return try #require(BreakerAnswer(words), "\(words)")
        }

        @Test("the second outage is like the first: breaks count from the beginning, and earlier results are ignored")
        func outages() throws {
            var epoch: Int64 = 0
            for now in [0.0, 100] {
                for member in ["a", "b", "c"] {
                    let answer = try tell(member, at: now) {
                        ($0.calls, $0.failures, $0.isOpen, $0.epoch) = (50, 50, true, epoch)
                    }
                    #expect(answer.state == (member == "a" ? .closed : .open))
                }
                let broken = try tell("c", at: now)
                #expect((broken.state, broken.trips, broken.epoch) == (.open, 1, epoch + 1))
                // After a failed probe, another member probes after the next break.
                #expect(try tell("a", at: now + 1) { $0.wantsProbe = true }.state == .probing)
                #expect(try tell("b", at: now + 1) { $0.wantsProbe = true }.state == .open)
                let again = try tell("a", at: now + 1.1) { ($0.result, $0.epoch) = (.failing, epoch + 1) }
                #expect((again.state, again.trips, again.epoch) == (.open, 2, epoch + 2))
                #expect(try tell("b", at: now + 2.2) { $0.wantsProbe = true }.state == .probing)
                #expect(try tell("a", at: now + 2.2) { $0.wantsProbe = true }.state == .open)
                // An unclear result, or a result of an earlier break, decides nothing.
                #expect(try tell("a", at: now + 2.3) { ($0.result, $0.epoch) = (.well, epoch + 2) }.state == .open)
                #expect(try tell("b", at: now + 2.3) { ($0.result, $0.epoch) = (.well, epoch + 1) }.state == .probing)
                for member in ["a", "c"] {
                    _ = try tell(member, at: now + 2.3) {
                        ($0.calls, $0.failures, $0.isOpen, $0.epoch) = (50, 50, true, epoch + 2)
                    }
                }
                let well = try tell("b", at: now + 2.4) { ($0.result, $0.epoch) = (.well, epoch + 2) }
                #expect((well.state, well.trips, well.epoch) == (.closed, 0, epoch + 3))
                for member in ["a", "c"] {
                    let late = try tell(member, at: now + 2.5) {
                        ($0.calls, $0.failures, $0.isOpen, $0.epoch) = (50, 50, true, epoch + 2)
                    }
                    #expect((late.state, late.epoch) == (.closed, epoch + 3))
                }
                epoch += 3
            }
        }
    }
#endif
