#if Dashboard
    import Foundation
    import Resilience
    import ResilienceTraffic
    import ResilienceObservability
    import ResilienceSync
    import Testing

    @testable import ResilienceDashboard

    @Suite struct DashboardStateTests {
        private func component(
            _ id: String, _ detail: any PolicyStatusDetail, name: String = "c", status: HealthStatus = .up,
            group: String? = nil
        ) -> HealthComponent {
            HealthComponent(
                id: id, name: name, group: group, status: status,
                policies: [
                    PolicyHealth(PolicyStatus(policy: name, detail: detail), at: MonotonicInstant(nanoseconds: 0))
                ])
        }

        private func state(
            _ components: [HealthComponent], _ timelines: Timelines = Timelines(), status: HealthStatus = .up,
            at now: Int
        ) -> DashboardState {
            DashboardState(
                HealthReport(name: "s", status: status, totals: HealthTotals(), components: components), timelines,
                since: now - 1000, at: now)
        }

        private func open(for remaining: Duration) -> CircuitBreakerStatus {
            CircuitBreakerStatus(state: .open, failureCount: 5, timeRemaining: remaining)
        }

        private func pipeline(
            _ id: String, _ name: String, group: String? = nil, status: HealthStatus = .up,
            _ details: (String, any PolicyStatusDetail)...
        ) -> HealthComponent {
            HealthComponent(
                id: id, name: name, group: group, pipeline: name, status: status,
                policies: details.map {
                    PolicyHealth(PolicyStatus(policy: $0.0, detail: $0.1), at: MonotonicInstant(nanoseconds: 0))
                })
        }

        private func facts(_ detail: any PolicyStatusDetail, at now: Int = 0) -> DashboardRow.Facts {
            state([component("0", detail)], at: now).rows[0].facts
        }

        /// The facts as text: "held 10000 [waiting 0]".
        private func text(_ facts: DashboardRow.Facts) -> String {
            let readings = facts.readings.map { reading in
                let unit = reading.unit == .count ? "" : " \(reading.unit)"
                return "\(reading.label) \(reading.value.description.dropSuffix(".0"))"
                    + (reading.limit.map { " of \($0)" } ?? "") + unit
            }
            return
                ([facts.state, facts.level.rawValue] + (facts.until.map { ["until \($0)"] } ?? [])
                + readings + facts.actions.map { "!\($0.name)" })
                .joined(separator: ", ")
        }

        @Test(
            "pipelines come first, with their policies in order, then registries, then everything else, in any state")
        func order() {
            let closed = CircuitBreakerStatus(state: .closed, failureCount: 0)
            let all = state(
                [
                    component("2/b", open(for: .seconds(1)), name: "b", status: .down, group: "endpoints"),
                    component("10", closed, name: "lone"), component("1/x", closed, name: "x"),
                    component("2/a", closed, name: "a", group: "endpoints"),
                    pipeline(
                        "3/eu", "eu", group: "tenants", ("circuit", closed), ("eu rate", ThrottleStatus(available: 1))),
                    pipeline(
                        "0", "orders", status: .degraded,
                        ("room", BulkheadStatus(limit: 1, inUse: 0, queueLimit: 0, queued: 0))),
                ], at: 0)
            #expect(all.sections.map(\.name) == ["orders", "eu", "endpoints", nil])
            #expect(all.sections.map(\.group) == [nil, "tenants", nil, nil])
            #expect(all.sections.map(\.status) == [.degraded, .up, .down, .up])
            #expect(
                all.sections.map(\.rows) == [["0#0"], ["3/eu#0", "3/eu#1"], ["2/a#0", "2/b#0"], ["1/x#0", "10#0"]])
            #expect(all.rows.map(\.name) == ["room", "circuit", "eu rate", "a", "b", "x", "lone"])
            #expect(
                all.rows.map(\.fullName)[0...3] == [
                    "orders room", "tenants eu circuit", "tenants eu rate", "endpoints a",
                ])
        }

        @Test("a section has its pipeline's rates; pipelines with one name are counted together, and show no rates")
        func rates() {
            var rates = CallRates(history: 600_000)
            rates.note([:], at: 0)
            rates.note(["eu": CallCounts(calls: 10, failures: 5, rejections: 1)], at: 5_000)
            let components = ["eu", "us"].map { pipeline("0/\($0)", $0) }
            func sections(_ components: [HealthComponent], _ rates: CallRates?) -> [DashboardState.Section] {
                let report = HealthReport(name: "s", status: .up, totals: HealthTotals(), components: components)
                return DashboardState(report, Timelines(), rates, since: 0, at: 0).sections
            }
            #expect(sections(components, rates).map { $0.rates?.calls } == [2, 0])
            #expect(sections(components + [pipeline("1", "eu")], rates).map { $0.rates?.calls } == [nil, 0, nil])
            #expect(sections(components, nil).allSatisfy { $0.rates == nil })
        }

        @Test("a countdown that continues is not a change; a new countdown is")
        func countdown() {
            let first = state([component("0", open(for: .seconds(9)))], at: 1000)
            #expect(text(first.rows[0].facts) == "open, down, next probe 10000 until, failures 5, !close, !isolate")
            let later = state([component("0", open(for: .milliseconds(8_450)))], at: 1500).settled(on: first)
            #expect(later.rows == first.rows)
            #expect(DashboardMessage.Change(from: first, to: later).isEmpty)
            let anew = state([component("0", open(for: .seconds(9)))], at: 2000).settled(on: later)
            #expect(DashboardMessage.Change(from: later, to: anew).rows.map(\.id) == ["0#0"])
        }

        @Test("a slow drift is noticed: the state is compared with the client's state, not with the last measurement")
        func drift() {
            var last = state([component("0", open(for: .seconds(100)))], at: 0)
            for step in 1...10 {
                last = state([component("0", open(for: .milliseconds(100_000 + 100 * step)))], at: 0).settled(on: last)
            }
            #expect(abs((last.rows[0].facts.readings.first?.value ?? 0) - 101_000) < 250)
        }

        @Test("a hold that runs on to the same end is not a change; a hold that now ends later is")
        func holds() {
            func held(_ seconds: Int64) -> ThrottleStatus {
                ThrottleStatus(available: 0, heldUntil: MonotonicInstant(nanoseconds: seconds * 1_000_000_000))
            }
            let first = state([component("0", held(9))], at: 1000)
            #expect(state([component("0", held(8))], at: 2001).settled(on: first).rows == first.rows)
            #expect(state([component("0", held(9))], at: 2000).settled(on: first).rows != first.rows)
        }

        @Test("a change contains new and changed rows, and the order only if the sections differ")
        func changes() {
            let closed = CircuitBreakerStatus(state: .closed, failureCount: 0)
            let one = state([pipeline("0", "a", ("b", closed)), pipeline("1", "c", ("b", closed))], at: 0)
            #expect(DashboardMessage.Change(from: one, to: one).isEmpty)
            let gone = state([pipeline("1", "c", ("b", closed))], at: 1)
            let change = DashboardMessage.Change(from: one, to: gone)
            #expect(change.order == ["1"] && !change.isEmpty)
            #expect(change.sections.isEmpty && change.rows.isEmpty && change.summary == nil)
            let new = state(
                [pipeline("0", "a", ("b", closed)), pipeline("1", "c", ("b", open(for: .zero)), ("d", closed))],
                status: .degraded, at: 2)
            let back = DashboardMessage.Change(from: gone, to: new)
            #expect(back.rows.map(\.id) == ["0#0", "1#0", "1#1"] && back.order == ["0", "1"])
            #expect(back.sections.map(\.id) == ["0", "1"] && back.sections[1].rows == ["1#0", "1#1"])
            #expect(back.summary?.status == .degraded)
            // A row that is gone is reported only by its absence from its section.
            let less = state([pipeline("0", "a", ("b", closed)), pipeline("1", "c", ("b", open(for: .zero)))], at: 2)
            let last = DashboardMessage.Change(from: new, to: less)
            #expect(last.sections.map(\.rows) == [["1#0"]] && last.rows.isEmpty && last.order == nil)
        }

        @Test("a row has its circuit's timeline for the time that the page shows")
        func timeline() {
            var timelines = Timelines()
            for (time, to) in [(100, CircuitState.open), (5000, .halfOpen), (5500, .closed)] {
                timelines.note(
                    CircuitTransition(from: .closed, to: to, time: MonotonicInstant(nanoseconds: 0)),
                    of: .init(component: "0", place: 0), at: time)
            }
            let closed = CircuitBreakerStatus(state: .closed, failureCount: 0)
            let circuit = state([component("0", closed)], timelines, at: 6000).rows[0].timeline
            #expect(circuit?.before == .open && circuit?.marks.map(\.at) == [5000, 5500])
            #expect(circuit?.state == .closed && circuit?.since == 100)
        }

        @Test(
            "a circuit's row has its state or its mode, and the possible actions",
            arguments: [
                (CircuitState.closed, CircuitBreaker.Mode.automatic, "closed, up, failures 5, !open, !isolate"),
                (.halfOpen, .automatic, "half-open, degraded, failures 5, !close, !isolate"),
                (.open, .automatic, "open, down, failures 5, !close, !isolate"),
                (.open, .isolated, "isolated, down, failures 5, !automatic"),
                (.closed, .disabled, "disabled, byHand, failures 5"),
                (.open, .observing, "observing, byHand, failures 5"),
            ])
        func circuit(circuit: CircuitState, mode: CircuitBreaker.Mode, shown: String) {
            #expect(text(facts(CircuitBreakerStatus(state: circuit, failureCount: 5, mode: mode))) == shown)
        }

        @Test("a throttle's row has its hold, which can be ended by hand, or its probe")
        func throttle() {
            let held = ThrottleStatus(available: 0, heldUntil: MonotonicInstant(nanoseconds: 9_000_000_000), queued: 2)
            #expect(text(facts(held, at: 500)) == "held, degraded, until 9500, available 0, waiting 2, !endHold")
            let probing = ThrottleStatus(
                available: .max, heldUntil: MonotonicInstant(nanoseconds: 9_000_000_000), isProbing: true)
            #expect(text(facts(probing)) == "probing, degraded, waiting 0")
            let over = ThrottleStatus(available: 7, heldUntil: MonotonicInstant(nanoseconds: -1))
            #expect(text(facts(over)) == "flowing, up, available 7, waiting 0")
        }

        @Test("a policy without a limit shows no number")
        func unlimited() {
            let open = facts(BulkheadStatus(limit: .max, inUse: 3, queueLimit: .max, queued: 1))
            #expect(text(open) == "free, up, in use 3, waiting 1")
            #expect(text(facts(HedgeStatus(delay: nil, samples: 7, hedgesLeft: .max))) == "ready, up, measured calls 7")
        }

        @Test("an adaptive throttle's row has its rejected share")
        func adaptiveThrottle() {
            let texts = [0, 0.001, 0.5, 0.51].map {
                text(facts(AdaptiveThrottleStatus(calls: 9, accepted: 4, rejection: $0)))
            }
            #expect(
                texts == [
                    "accepting, up, rejected 0 share, accepted 4 of 9",
                    "rejecting, degraded, rejected 0.001 share, accepted 4 of 9",
                    "rejecting, degraded, rejected 0.5 share, accepted 4 of 9",
                    "rejecting, degraded, rejected 0.51 share, accepted 4 of 9",
                ])
        }

        @Test("a hedge's row has its delay, if it is known")
        func hedge() {
            #expect(
                text(facts(HedgeStatus(delay: nil, samples: 7, hedgesLeft: 3)))
                    == "ready, up, measured calls 7, hedges left 3")
            #expect(
                text(facts(HedgeStatus(delay: .microseconds(1_500), samples: 7, hedgesLeft: 0)))
                    == "no hedges left, busy, after 1.5 seconds, measured calls 7, hedges left 0")
        }

        @Test("a pool's row has its endpoints, how many are ejected, and the calls in flight")
        func endpointPool() {
            func pool(_ ejected: [Bool], isUsed: Bool? = nil, isPanicking: Bool = false) -> String {
                let endpoints = ejected.map {
                    EndpointStatus(endpoint: "a", isUsed: isUsed, isEjected: $0, inFlight: 2)
                }
                return text(facts(EndpointPoolStatus(endpoints: endpoints, isPanicking: isPanicking)))
            }
            #expect(pool([false, false]) == "none ejected, up, ejected 0 of 2, in flight 4")
            #expect(pool([true, false]) == "some ejected, busy, ejected 1 of 2, in flight 4")
            #expect(
                pool([true, false], isUsed: true, isPanicking: true)
                    == "too few left, using all, degraded, ejected 1 of 2, in flight 4")
            #expect(pool([]) == "no endpoint, degraded, ejected 0 of 0, in flight 0")
        }

        @Test("while chaos is on, a chaos policy's row shows when it ends")
        func chaos() {
            let isOn = ChaosStatus(isOn: true, timeLeft: .seconds(60), faults: 2, delays: 3, delayed: 1)
            #expect(text(facts(isOn, at: 1_000)) == "on, degraded, until 61000, touched 5, delayed now 1")
            #expect(text(facts(ChaosStatus(isOn: false, faults: 2))) == "off, off, touched 2, delayed now 0")
        }

        @Test("a bulkhead's row has its use, its learned limit, and whether it rejects")
        func bulkhead() {
            func bulkhead(_ inUse: Int, _ queued: Int, of queueLimit: Int = 9, isShedding: Bool = false) -> String {
                text(
                    facts(
                        BulkheadStatus(
                            limit: 4, inUse: inUse, queueLimit: queueLimit, queued: queued, isShedding: isShedding)))
            }
            #expect(bulkhead(3, 0) == "free, up, in use 3 of 4, waiting 0 of 9")
            #expect(bulkhead(4, 8) == "full, busy, in use 4 of 4, waiting 8 of 9")
            #expect(bulkhead(5, 9) == "full, rejecting, degraded, in use 5 of 4, waiting 9 of 9")
            #expect(bulkhead(4, 0, of: 0) == "full, rejecting, degraded, in use 4 of 4")
            #expect(bulkhead(1, 0, isShedding: true).hasPrefix("overloaded, shedding, degraded, in use 1 of 4"))
            let known = AdaptiveLimitStatus(
                range: 1...9, latency: .microseconds(1_500), baseline: .milliseconds(1), isSearching: false)
            let adaptive = AdaptiveBulkheadStatus(
                bulkhead: BulkheadStatus(limit: 4, inUse: 0, queueLimit: 0, queued: 0), adaptive: known)
            #expect(
                text(facts(adaptive))
                    == "free, up, in use 0 of 4, calls take 1.5 seconds, without a queue 1 seconds")
        }

        private struct OwnStatus: PolicyStatusDetail {
            static var kind: String { "ownQuota" }
            var isAllowed: Bool
        }

        @Test("a custom policy's row shows whether it allows calls")
        func own() {
            #expect(text(facts(OwnStatus(isAllowed: true))) == "allows calls, up")
            #expect(text(facts(OwnStatus(isAllowed: false))) == "allows no call, degraded")
            let row = state([pipeline("0", "p", ("ownQuota", OwnStatus(isAllowed: true)))], at: 0).rows[0]
            #expect(row.kind == "own quota" && row.name == "own quota" && row.fullName == "p own quota")
        }

        @Test("a queue's row has its depth and its pace, or the reason why there is no answer")
        func queue() {
            func queue(_ status: SyncStatus) -> String {
                text(state([component("0", status, name: "outbox")], at: 1_000).rows[0].facts)
            }
            let start = MonotonicInstant(nanoseconds: 0)
            let sending = SyncStatus(
                pending: 5, bytes: 900, dead: 1, inFlight: 2, isFlushing: true, rate: 2.5, oldestAge: .seconds(1),
                estimatedTimeLeft: .seconds(2))
            #expect(
                queue(sending)
                    == "sending, up, pending 5, size 900 bytes, in flight 2, dead 1, oldest 0 since, pace 2.5 perSecond, "
                    + "time left 2000 seconds")
            let paused = SyncStatus(pending: 0, pausedUntil: start + .seconds(4))
            #expect(
                queue(paused)
                    == "paused, degraded, until 5000, pending 0, in flight 0, dead 0")
            let problem = HealthComponent(id: "0", name: "outbox", problem: "disk full")
            let lost = state([problem], at: 1_000).rows[0]
            #expect(text(lost.facts) == "no answer, down" && lost.facts.problem == "disk full")
            #expect(lost.kind == "queue" && lost.name == "outbox" && lost.timeline == nil)
        }

        @Test("unbounded numbers and endless times do not prevent a change from being written")
        func extremes() throws {
            let rows = state(
                [
                    component("0", ThrottleStatus(available: .max, heldUntil: .distantFuture)),
                    component("1", open(for: .seconds(Int64.max))),
                    component(
                        "2",
                        SyncStatus(
                            pending: .max, pausedUntil: .distantFuture, rate: .infinity,
                            oldestAge: .seconds(Int64.max), estimatedTimeLeft: .seconds(Int64.max))),
                ], at: 5)
            #expect(rows.rows[0].facts.readings.map(\.label) == ["waiting"])
            #expect(!rows.rows[2].facts.readings.map(\.label).contains("pace"))
            let text = try DashboardMessage.change(.init(from: state([], at: 0), to: rows)).text
            #expect(text.hasPrefix("event: change\ndata: {"))
        }

        private struct HugeStatus: PolicyStatusDetail {
            static var kind: String { "huge" }
            var isAllowed: Bool { true }
            func readings(at now: MonotonicInstant) -> [StatusReading] {
                StatusReading.Unit.allCases.flatMap { unit in
                    [Double.greatestFiniteMagnitude, -Double.greatestFiniteMagnitude].map {
                        StatusReading("huge", "", title: "huge", unit: unit, $0)
                    }
                }
            }
        }

        @Test("a finite number that overflows in milliseconds is left out, and the page is still written")
        func huge() throws {
            let rows = state([component("0", HugeStatus())], at: 5)
            #expect(rows.rows[0].facts.readings.count == 8)
            #expect(try DashboardMessage.change(.init(from: state([], at: 0), to: rows)).text.contains("huge"))
        }

        @Test(
            "no name can end an event or begin another event",
            arguments: ["\n\nevent: x\ndata: {}", "\r\n\r\n", "\r", "\0", "</script>"])
        func hostile(name: String) throws {
            let closed = CircuitBreakerStatus(state: .closed, failureCount: 0)
            let rows = state([component("0/\(name)", closed, name: name)], at: 0)
            let text = try DashboardMessage.change(.init(from: state([], at: 0), to: rows)).text
            let lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }
            #expect(lines.count == 4 && lines[2].isEmpty && lines[3].isEmpty && !text.contains("\0"))
            let data = Data(lines[1].dropFirst("data: ".count).utf8)
            let object = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
            let row = try #require((object["rows"] as? [[String: Any]])?.first)
            #expect(row["name"] as? String == name)
        }
    }

    extension String {
        fileprivate func dropSuffix(_ suffix: String) -> Substring {
            hasSuffix(suffix) ? dropLast(suffix.count) : self[...]
        }
    }
#endif
