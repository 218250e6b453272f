#if Demo
    import Foundation
    import Resilience
    import ResilienceSync
    import Testing

    #if canImport(FoundationXML)
        import FoundationXML
    #endif

    @testable import RetryStorm

    @Suite struct ReportTests {
        private func report() -> Report {
            var report = Report(mutations: 1000, rate: 25, burst: 25, timeScale: 1)
            report.naive = RunResult(requests: 12_345, throttled: 11_445, delivered: 900, lost: 100, seconds: 37.204)
            report.toolkit = RunResult(
                requests: 1039, throttled: 39, delivered: 1000, seconds: 40.123, ratioToBest: 1.029)
            return report
        }

        @Test(
            "the best possible time belongs to a run that sends the burst at once, and the other requests at the rate",
            arguments: [(1000, 39.0), (25, 0), (0, 0), (26, 0.04)])
        func theBestPossibleIsTheBurstAtOnceAndTheRestAtTheRate(mutations: Int, seconds: Double) {
            #expect(Report(mutations: mutations, rate: 25, burst: 25, timeScale: 1).bestSeconds == seconds)
        }

        @Test("the table shows the runs side by side")
        func theTableHasTheRunsSideBySide() {
            #expect(
                "\(Table(report: report()))" == """
                                     naive   toolkit
                    ────────────────────────────────
                    requests sent   12,345     1,039
                    429s            11,445        39
                    delivered          900     1,000
                    duplicates           0         0
                    lost               100         0
                    drain time      37.2 s    40.1 s
                    best possible   39.0 s    39.0 s
                    time ÷ best          –      1.03
                    """)
            #expect(
                Table(report: report()).conclusion == """
                    By hand: 12.35 requests per mutation, 100 of 1,000 lost.
                    Through the toolkit: 1.04 requests per mutation, 0 of 1,000 lost.
                    """)
        }

        @Test("the picture has one bar for admitted requests and one for rejected ones, on one scale for both runs")
        func picture() throws {
            var report = report()
            report.naive.perSecond = [.init(admitted: 25, throttled: 75), .init(), .init(admitted: 50)]
            report.toolkit.perSecond = [.init(admitted: 50)]
            let svg = Picture(report: report).svg
            #expect(svg.matches(of: /<rect [^>]*width="116\.3"/).count == 4)
            #expect(svg.contains(##"y="130.5" width="116.3" height="27.5" fill="#2563eb"/>"##))
            #expect(svg.contains(##"y="48.0" width="116.3" height="82.5" fill="#ea580c"/>"##))
            #expect(svg.contains(##"y="287.0" width="116.3" height="55.0" fill="#2563eb"/>"##))
            #expect(svg.contains(##"<path d="M44 130.5H480" stroke="#1f2937" stroke-dasharray="4 3"/>"##))
            #expect(svg.contains("12,345 requests, 900 delivered, 100 lost"))
            #expect(svg.contains("1,039 requests, 1,000 delivered, 0 lost"))
            report.naive.perSecond = []
            report.toolkit.perSecond = []
            #expect(!Picture(report: report).svg.contains("NaN"))
        }

        @Test("the picture has two files, one for dark pages, and both are well-formed")
        func pictureFiles() throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            defer { try? FileManager.default.removeItem(at: folder) }
            var report = report()
            report.naive.perSecond = [.init(admitted: 25, throttled: 75)]
            try Picture.write(report, to: folder.appendingPathComponent("storm.svg").path)
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(names.sorted() == ["storm.svg", "storm~dark.svg"])
            for name in names {
                let parser = XMLParser(data: try Data(contentsOf: folder.appendingPathComponent(name)))
                #expect(parser.parse(), "\(name)")
            }
            #expect(throws: (any Error).self) { try Picture.write(report, to: folder.path + "/none/storm.svg") }
        }

        @Test("the ledger counts each second from the first request on, and each key's effect once")
        func ledger() {
            var ledger = Ledger()
            for (key, isAdmitted, now) in [
                ("a", true, 5), ("a", true, 6), ("b", false, 7), ("b", true, 2_500_000_005),
            ] as [(String, Bool, Int64)] {
                ledger.received(key, isAdmitted: isAdmitted, at: MonotonicInstant(nanoseconds: now))
            }
            #expect(ledger.perSecond == [.init(admitted: 2, throttled: 1), .init(), .init(admitted: 1)])
            #expect(ledger.requests == 4 && ledger.throttled == 1)
            #expect(ledger.delivered == 2 && ledger.duplicates == 1)
            let result = RunResult(
                ledger, of: Report(mutations: 2, rate: 1, burst: 1, timeScale: 1), took: .milliseconds(2_500))
            #expect(result.lost == 0 && result.seconds == 2.5 && result.ratioToBest == 2.5)
            let lost = RunResult(ledger, of: Report(mutations: 9, rate: 1, burst: 1, timeScale: 1), took: .zero)
            #expect(lost.lost == 7 && lost.ratioToBest == nil)
        }

        @Test("the JSON contains the figures of both runs")
        func json() throws {
            let object = try #require(
                JSONSerialization.jsonObject(with: Data(report().json.utf8)) as? [String: Any])
            #expect(
                Set(object.keys) == [
                    "mutations", "rate", "burst", "time_scale", "naive", "toolkit", "best_seconds",
                ])
            #expect(object["best_seconds"] as? Double == 39)
            let toolkit = try #require(object["toolkit"] as? [String: Any])
            #expect(
                Set(toolkit.keys) == [
                    "requests", "throttled", "delivered", "duplicates", "lost", "seconds", "ratio_to_best",
                ])
            #expect(toolkit["seconds"] as? Double == 40.123)
        }
    }

    @Suite struct MutationGeneratorTests {
        @Test(
            "a seed always makes the same mutations, with distinct ids and keys; some mutations change existing entities"
        )
        func mutations() {
            #expect(MutationGenerator.mutations(50, seed: 7) == MutationGenerator.mutations(50, seed: 7))
            let mutations = MutationGenerator.mutations(1000, seed: .max)
            #expect(Set(mutations.map(\.id)).count == 1000 && Set(mutations.map(\.idempotencyKey)).count == 1000)
            let updates = mutations.count { $0.kind == "update" }
            #expect((60...200).contains(updates) && Set(mutations.map(\.entity)).count == 1000 - updates)
            #expect(mutations.allSatisfy { (try? JSONSerialization.jsonObject(with: $0.payload)) != nil })
        }
    }
#endif
