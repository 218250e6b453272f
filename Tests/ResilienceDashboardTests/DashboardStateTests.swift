#if Dashboard
    import Foundation
    import Resilience
    import ResilienceObservability
    import ResilienceSync
    import Testing

    @testable import ResilienceDashboard

    @Suite struct DashboardStateTests {
        private func component(
            _ id: String, _ detail: any PolicyStatusDetail, name: String = "c", status: HealthStatus = .up
        ) -> HealthComponent {
            HealthComponent(
                id: id, name: name, status: status,
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

        @Test("rows stand in the order of the monitor and by name, however bad they are")
        func order() {
            let closed = CircuitBreakerStatus(state: .closed, failureCount: 0)
            let rows = state(
                [
                    component("2/b", open(for: .seconds(1)), name: "b", status: .down), component("10", closed),
                    component("2/a", closed, name: "a"), component("0", closed),
                ], at: 0
            ).rows
            #expect(rows.map(\.component) == ["0", "2/a", "2/b", "10"])
        }

        @Test("a countdown that runs is no change; one that begins anew is")
        func countdown() {
            let first = state([component("0", open(for: .seconds(9)))], at: 1000)
            #expect(first.rows[0].circuit?.probeAt == 10_000)
            let later = state([component("0", open(for: .milliseconds(8_450)))], at: 1500).settled(on: first)
            #expect(later.rows == first.rows)
            #expect(DashboardMessage.Change(from: first, to: later).isEmpty)
            let anew = state([component("0", open(for: .seconds(9)))], at: 2000).settled(on: later)
            #expect(DashboardMessage.Change(from: later, to: anew).rows.map(\.id) == ["0#0"])
        }

        @Test("a slow drift does not go unnoticed: what a client has is compared, not what was measured last")
        func drift() {
            var last = state([component("0", open(for: .seconds(100)))], at: 0)
            for step in 1...10 {
                last = state([component("0", open(for: .milliseconds(100_000 + 100 * step)))], at: 0).settled(on: last)
            }
            #expect(abs((last.rows[0].circuit?.probeAt ?? 0) - 101_000) < 250)
        }

        @Test("a change tells of new, changed and gone rows, and of the order only if there are new ones")
        func changes() {
            let closed = CircuitBreakerStatus(state: .closed, failureCount: 0)
            let one = state([component("0", closed), component("1", closed)], at: 0)
            let gone = state([component("1", closed)], at: 1)
            let change = DashboardMessage.Change(from: one, to: gone)
            #expect(change.gone == ["0#0"] && change.rows.isEmpty && change.order == nil && change.summary == nil)
            let new = state([component("0", closed), component("1", open(for: .zero))], status: .degraded, at: 2)
            let back = DashboardMessage.Change(from: gone, to: new)
            #expect(back.rows.map(\.id) == ["0#0", "1#0"] && back.order == ["0#0", "1#0"])
            #expect(back.summary?.status == .degraded && back.gone.isEmpty)
        }

        @Test("a row has the timeline of its circuit, as far back as the page shows")
        func timeline() {
            var timelines = Timelines()
            for (time, to) in [(100, CircuitState.open), (5000, .halfOpen), (5500, .closed)] {
                timelines.note(
                    CircuitTransition(from: .closed, to: to, time: MonotonicInstant(nanoseconds: 0)),
                    of: .init(component: "0", place: 0), at: time)
            }
            let closed = CircuitBreakerStatus(state: .closed, failureCount: 0)
            let circuit = state([component("0", closed)], timelines, at: 6000).rows[0].circuit
            #expect(circuit?.before == .open && circuit?.marks.map(\.at) == [5000, 5500])
        }

        @Test("a hedge's row has its delay in whole milliseconds, none as long as it is not known")
        func hedge() {
            let delays: [(Duration?, Int?)] = [
                (nil, nil), (.zero, 0), (.microseconds(1), 1), (.milliseconds(1), 1), (.microseconds(1_001), 2),
                (.seconds(Int64.max), Int(Int64.max / 1_000_000)),
            ]
            for (delay, shown) in delays {
                let row = state([component("0", HedgeStatus(delay: delay, samples: 7, hedgesLeft: 3))], at: 0).rows[0]
                #expect(row.hedge == DashboardRow.Hedge(delay: shown, samples: 7, left: 3))
                #expect(row.kind == "hedge" && row.isAllowed)
            }
        }

        @Test("a pool's row has how many endpoints there are, how many are ejected, and the calls in flight")
        func endpointPool() {
            let status = EndpointPoolStatus(
                endpoints: [
                    EndpointStatus(endpoint: "a", isUsed: true, isEjected: true, inFlight: 2),
                    EndpointStatus(endpoint: "b", inFlight: 3),
                ], isPanicking: true)
            let row = state([component("0", status)], at: 0).rows[0]
            #expect(
                row.endpointPool == DashboardRow.EndpointPool(count: 2, ejected: 1, inFlight: 5, isPanicking: true))
            #expect(row.kind == "endpointPool" && row.isAllowed)
        }

        @Test("a chaos policy's row has its end, as long as it is on")
        func chaos() {
            let isOn = ChaosStatus(isOn: true, timeLeft: .seconds(60), faults: 2, delays: 3, delayed: 1)
            let row = state([component("0", isOn)], at: 1_000).rows[0]
            #expect(row.chaos == DashboardRow.Chaos(isOn: true, touched: 5, delayed: 1, endsAt: 61_000))
            #expect(row.kind == "chaos" && row.isAllowed)
            let isOff = state([component("0", ChaosStatus(isOn: false, faults: 2))], at: 1_000).rows[0]
            #expect(isOff.chaos == DashboardRow.Chaos(isOn: false, touched: 2, delayed: 0, endsAt: nil))
        }

        @Test("a bulkhead's row has what its limit has learned, in microseconds, and whether it sheds")
        func bulkhead() {
            let known = AdaptiveLimitStatus(
                range: 1...9, latency: .microseconds(1_500), baseline: .seconds(Int64.max), isSearching: false)
            for (adaptive, latency, baseline) in [(nil, nil, nil), (known, 1_500, Int(Int64.max / 1_000))]
                as [(AdaptiveLimitStatus?, Int?, Int?)]
            {
                let status = BulkheadStatus(
                    limit: 4, inUse: 3, queueLimit: 9, queued: 2, adaptive: adaptive, isShedding: adaptive == nil)
                let row = state([component("0", status)], at: 0).rows[0]
                let shown = DashboardRow.Bulkhead(
                    limit: 4, inUse: 3, waitLimit: 9, waiting: 2, isShedding: adaptive == nil, latency: latency,
                    baseline: baseline)
                #expect(row.bulkhead == shown)
            }
        }

        @Test("numbers without bounds, and times beyond all bounds, are written")
        func extremes() throws {
            let rows = state(
                [
                    component("0", ThrottleStatus(available: .max, heldUntil: .distantFuture)),
                    component("1", open(for: .seconds(Int64.max))),
                    HealthComponent(
                        id: "2", name: "q",
                        queue: QueueHealth(
                            SyncStatus(
                                pending: .max, pausedUntil: .distantFuture, rate: .infinity,
                                oldestAge: .seconds(Int64.max), estimatedTimeLeft: .seconds(Int64.max)),
                            at: .distantPast)),
                ], at: 5)
            #expect(rows.rows[0].throttle?.available == nil && rows.rows[2].queue?.rate == nil)
            let text = try DashboardMessage.change(.init(from: state([], at: 0), to: rows)).text
            #expect(text.hasPrefix("event: change\ndata: {"))
        }

        @Test(
            "no name ends an event or begins another",
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
#endif
