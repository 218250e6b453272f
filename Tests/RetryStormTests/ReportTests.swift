#if Demo
    import Foundation
    import Testing

    #if canImport(FoundationXML)
        import FoundationXML
    #endif

    @testable import RetryStorm

    @Suite struct ReportTests {
        private func report() -> Report {
            var report = Report(mutations: 1000, limit: .init(rate: 25, burst: 25), timeScale: 1)
            report.naive = RunResult(
                .init(requests: 12_345, throttled: 11_445, delivered: 900, duplicates: 0), lost: 100,
                took: .milliseconds(37_204))
            report.toolkit = RunResult(
                .init(requests: 1039, throttled: 39, delivered: 1000, duplicates: 0), lost: 0, dead: 0,
                took: .microseconds(40_123_499))
            return report
        }

        @Test(
            "the best possible is the burst at once and the rest at the rate",
            arguments: [(1000, 39.0), (25, 0), (0, 0), (26, 0.04)])
        func theBestPossibleIsTheBurstAtOnceAndTheRestAtTheRate(mutations: Int, seconds: Double) {
            #expect(Report.Limit(rate: 25, burst: 25).bestSeconds(for: mutations) == seconds)
        }

        @Test("the table has the runs side by side")
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
                    As the app did it: 12.35 requests a mutation, 100 of 1,000 lost.
                    Through the toolkit: 1.04 requests a mutation, 0 of 1,000 lost.
                    """)
        }

        @Test("the picture has a bar for what was admitted and one for what was not, on one scale for both runs")
        func picture() throws {
            var report = report()
            report.naive?.perSecond = [.init(admitted: 25, throttled: 75), .init(), .init(admitted: 50)]
            report.toolkit?.perSecond = [.init(admitted: 50)]
            let svg = Picture(report: report).svg
            #expect(svg.matches(of: /<rect [^>]*width="190\.9"/).count == 4)
            #expect(svg.contains(##"y="112.5" width="190.9" height="27.5" fill="#2563eb"/>"##))
            #expect(svg.contains(##"y="30.0" width="190.9" height="82.5" fill="#ea580c"/>"##))
            #expect(svg.contains(##"y="251.0" width="190.9" height="55.0" fill="#2563eb"/>"##))
            #expect(svg.contains("12,345 requests, 900 delivered, 100 lost"))
            #expect(svg.contains("1,039 requests, 1,000 delivered, 0 lost"))
            report.naive = nil
            report.toolkit?.perSecond = []
            #expect(!Picture(report: report).svg.contains("NaN"))
        }

        @Test("the picture is two files, one for dark pages; both are well-formed")
        func pictureFiles() throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            defer { try? FileManager.default.removeItem(at: folder) }
            var report = report()
            report.naive?.perSecond = [.init(admitted: 25, throttled: 75)]
            try Picture.write(report, to: folder.appendingPathComponent("storm.svg").path)
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(names.sorted() == ["storm.svg", "storm~dark.svg"])
            for name in names {
                let parser = XMLParser(data: try Data(contentsOf: folder.appendingPathComponent(name)))
                #expect(parser.parse(), "\(name)")
            }
            #expect(throws: (any Error).self) { try Picture.write(report, to: folder.path + "/none/storm.svg") }
        }

        @Test("the ledger counts each second from the first request on")
        func perSecond() {
            var ledger = Ledger(TokenBucket(rate: 1, burst: 2))
            for (key, now) in [("a", 5), ("b", 6), ("c", 1_000_000_004), ("d", 2_500_000_005)] {
                _ = ledger.received(key: key, at: Int64(now))
            }
            #expect(
                ledger.perSecond == [.init(admitted: 2, throttled: 1), .init(), .init(admitted: 1)])
        }

        @Test("a run alone and an unknown limit leave out what is not known")
        func aRunAloneAndAnUnknownLimitLeaveOutWhatIsNotKnown() {
            var report = report()
            report.naive = nil
            report.limit = nil
            report.toolkit?.dead = 2
            #expect(
                "\(Table(report: report))" == """
                                    toolkit
                    ───────────────────────
                    requests sent     1,039
                    429s                 39
                    delivered         1,000
                    duplicates            0
                    lost                  0
                    dead                  2
                    drain time       40.1 s
                    """)
        }

        @Test("the JSON has every key always")
        func theJSONHasEveryKeyAlways() throws {
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
                    "requests", "throttled", "delivered", "duplicates", "lost", "dead", "seconds", "ratio_to_best",
                ])
            #expect(toolkit["seconds"] as? Double == 40.123)
            var unknown = report()
            unknown.naive = nil
            unknown.limit = nil
            let json = try unknown.json
            for key in ["naive", "rate", "burst", "best_seconds"] { #expect(json.contains("\"\(key)\" : null")) }
        }

        @Test(
            "numbers are grouped",
            arguments: [
                (0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567"), (-1000, "-1,000"),
                (.min, "-9,223,372,036,854,775,808"),
            ])
        func numbersAreGrouped(number: Int, text: String) { #expect(Table.grouped(number) == text) }

        @Test(
            "numbers are rounded",
            arguments: [
                (0, 1, "0.0"), (0.049, 1, "0.0"), (0.05, 1, "0.1"), (9.999, 2, "10.00"), (-1.25, 1, "-1.3"),
                (7.5, 0, "8"),
                (1e300, 1, "1e+300"), (.infinity, 1, "inf"), (.nan, 1, "nan"),
            ])
        func numbersAreRounded(number: Double, decimals: Int, text: String) {
            #expect(Table.fixed(number, decimals) == text)
        }
    }

    @Suite struct ProgressLineTests {
        private let line = ProgressLine(
            name: "toolkit", total: 1000, delivered: 250, requests: 261, throttled: 11, elapsed: .seconds(10))

        @Test("tells how far it is")
        func tellsHowFarItIs() {
            #expect("\(line)" == "toolkit ━━━━╌╌╌╌╌╌╌╌╌╌╌╌ 250/1000  261 requests  11 × 429  30 s left")
            var paused = line
            paused.pausedFor = .milliseconds(730)
            #expect("\(paused)" == "toolkit ━━━━╌╌╌╌╌╌╌╌╌╌╌╌ 250/1000  261 requests  11 × 429  paused 0.7 s")
            paused.isOver = true
            #expect("\(paused)" == "toolkit ━━━━╌╌╌╌╌╌╌╌╌╌╌╌ 250/1000  261 requests  11 × 429  in 10.0 s")
        }

        @Test("fits a terminal whatever the counts", arguments: [(0, 0), (1000, 1000), (0, 5), (1_000_000, 1_000_000)])
        func fitsATerminalWhateverTheCounts(total: Int, delivered: Int) {
            let line = ProgressLine(
                name: "naive", total: total, delivered: delivered, requests: .max, throttled: .max,
                elapsed: .seconds(1e9), pausedFor: .seconds(1e9))
            #expect("\(line)".count <= 79)
        }

        @Test("plain lines come at every tenth and after a silence")
        func plainLinesComeAtEveryTenthAndAfterASilence() {
            var cadence = PlainCadence()
            func speaks(_ delivered: Int, _ seconds: Int64) -> Bool {
                var line = line
                line.delivered = delivered
                line.elapsed = .seconds(seconds)
                return cadence.speaks(line)
            }
            #expect(!speaks(0, 0))
            #expect(!speaks(99, 1))
            #expect(speaks(100, 2))
            #expect(!speaks(199, 6))
            #expect(speaks(199, 7))
            #expect(speaks(999, 8))
            #expect(!speaks(999, 9))
            #expect(!speaks(1000, 99))
        }
    }
#endif
