#if Lab
    import Foundation
    import Resilience
    import ResilienceSimulation
    import ResilienceTesting

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// One outage twice: in real time over loopback, and simulated.
    struct RealityCheck {
        /// The counts of one second.
        struct Second: Sendable {
            var (attempts, succeeded, failed) = (0, 0, 0)
        }

        struct Seconds: Sendable {
            var counts: [Second]
            /// The attempts' times before the outage.
            var latency = LatencyHistogram()

            init(_ length: Int) { counts = Array(repeating: Second(), count: length) }

            mutating func count(_ path: WritableKeyPath<Second, Int>, at second: Int) {
                if counts.indices.contains(second) { counts[second][keyPath: path] += 1 }
            }
        }

        /// In seconds.
        let length = 20
        let outage = 5..<10
        let interval = Duration.milliseconds(25)

        private func pipeline(_ timeBase: any TimeBase) -> Pipeline {
            Pipeline("calls", timeBase: timeBase, isIdempotent: true) {
                Retry(maxRetries: 2, backoff: .constant(.milliseconds(200)))
                CircuitBreaker(
                    tripping: .consecutiveFailures(10), openFor: .constant(.seconds(1)), timeBase: timeBase)
                Timeout(limit: .milliseconds(500))
            }
        }

        /// The counts of all calls, and when they began.
        private final class Record: Sendable {
            let began = SystemTimeBase.shared.now
            private let seconds: Locked<Seconds>

            init(_ length: Int) { seconds = Locked(Seconds(length)) }

            var second: Int { Int(began.duration(to: SystemTimeBase.shared.now) / .seconds(1)) }
            var counts: Seconds { seconds.withLock { $0 } }

            func count(_ path: any WritableKeyPath<Second, Int> & Sendable) {
                let second = second
                seconds.withLock { $0.count(path, at: second) }
            }

            func note(_ latency: Duration) { seconds.withLock { $0.latency.add(latency) } }
        }

        /// Against a server of its own, which does not answer during the outage.
        func real() async throws -> Seconds {
            let server = try await StubServer.start(fallback: .json(200, "{}"))
            let session = URLSession(configuration: .ephemeral)
            let (pipeline, record) = (pipeline(SystemTimeBase.shared), Record(length))
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    try? await SystemTimeBase.shared.sleep(until: record.began + .seconds(outage.lowerBound))
                    server.hold()
                    try? await SystemTimeBase.shared.sleep(until: record.began + .seconds(outage.upperBound))
                    server.release()
                }
                for number in 1...Int(Duration.seconds(length) / interval) {
                    try? await SystemTimeBase.shared.sleep(until: record.began + interval * number)
                    group.addTask { await call(server.url, session, pipeline, record) }
                }
            }
            await server.stop()
            return record.counts
        }

        private func call(_ url: URL, _ session: URLSession, _ pipeline: Pipeline, _ record: Record) async {
            do {
                try await pipeline.run {
                    let isBefore = record.second < outage.lowerBound
                    let start = SystemTimeBase.shared.now
                    record.count(\.attempts)
                    _ = try await session.data(from: url)
                    if isBefore { record.note(start.duration(to: SystemTimeBase.shared.now)) }
                }
                record.count(\.succeeded)
            } catch {
                record.count(\.failed)
            }
        }

        /// - Parameter latency: The service's time.
        func simulated(latency: Duration) throws -> Seconds {
            let simulation = Simulation(seed: 1)
            let calls = try SimulatedPipeline(in: simulation) { pipeline($0) }
            let service = SimulatedService(
                ServiceModel(serviceTime: .constant(latency), workers: 10_000, queue: 100_000),
                troubles: [
                    // Requests wait, and are answered at its end, as the real server does.
                    Trouble(.capacity(share: 0), at: .seconds(outage.lowerBound), for: .seconds(outage.count))
                ], in: simulation)
            var seconds = Seconds(length)
            let began = simulation.now
            func second() -> Int { Int(began.duration(to: simulation.now) / .seconds(1)) }
            for number in 1...Int(Duration.seconds(length) / interval) {
                simulation.after(interval * number) {
                    calls.call { attempt in
                        seconds.count(\.attempts, at: second())
                        service.serve(attempt)
                    } completion: { end in
                        seconds.count(end.verdict.kind == .success ? \.succeeded : \.failed, at: second())
                    }
                }
            }
            simulation.run(for: .seconds(length + 5))
            return seconds
        }

        func report() async throws -> LabReport {
            let real = try await real()
            let latency = real.latency.quantile(0.5) ?? .milliseconds(1)
            return Self.report(real, try simulated(latency: latency), latency, outage)
        }

        static func report(
            _ real: Seconds, _ simulated: Seconds, _ latency: Duration, _ outage: Range<Int>
        ) -> LabReport {
            let counts: [(String, KeyPath<Second, Int>)] = [
                ("attempts", \.attempts), ("calls that succeed", \.succeeded), ("calls that fail", \.failed),
            ]
            func sum(_ seconds: Seconds, _ path: KeyPath<Second, Int>) -> Int {
                seconds.counts.reduce(0) { $0 + $1[keyPath: path] }
            }
            func series(_ name: String, _ seconds: Seconds, _ path: KeyPath<Second, Int>, _ style: ReportPage.Style)
                -> ReportPage.Series
            {
                ReportPage.Series(
                    name: name,
                    points: seconds.counts.enumerated().map { (Double($0), Double($1[keyPath: path])) }, style: style)
            }
            let band = ReportPage.Band(
                from: Double(outage.lowerBound), to: Double(outage.upperBound), name: "no answers")
            let rows = counts.map { name, path in
                let (real, simulated) = (sum(real, path), sum(simulated, path))
                let difference = real == 0 ? "–" : "\((100 * Double(simulated - real) / Double(real)).text(1)) %"
                return [name, "\(real)", "\(simulated)", difference]
            }
            return LabReport(
                figures: counts.flatMap { name, path in
                    [
                        ("real: \(name)", Optional(Double(sum(real, path)))),
                        ("simulated: \(name)", Double(sum(simulated, path))),
                    ]
                },
                page: ReportPage(
                    title: "One outage, in reality and simulated",
                    lead: """
                        40 calls a second for 20 seconds, of which the server does not answer for five: once with a \
                        real server on loopback in real time, and once simulated, with the real server's median time \
                        of \(latency.text).
                        """,
                    sections: [
                        ReportPage.Section(
                            title: "Both on top of each other",
                            text: """
                                In reality, a connection is made and a task begins a moment later than its call, so \
                                that an attempt may fall into the next second.
                                """,
                            tables: [ReportPage.Table(head: ["", "real", "simulated", "difference"], rows: rows)],
                            charts: counts.map { name, path in
                                ReportPage.Chart(
                                    title: name, unit: "a second",
                                    series: [
                                        series("real", real, path, .line),
                                        series("simulated", simulated, path, .dashed),
                                    ], bands: [band])
                            })
                    ]))
        }
    }
#endif
