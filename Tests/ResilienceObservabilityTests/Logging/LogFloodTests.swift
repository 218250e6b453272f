#if Logging
    import Logging
    import Resilience
    @testable import ResilienceObservability
    import ResilienceTesting
    import Testing

    @Suite struct LogFloodTests {
        private typealias Flood = LogFlood<String, Int>

        private func flood(lines: Int = 2, longest: Int = 10, keys: Int = 2) -> Flood {
            Flood(Flood.Limits(lines: lines, window: .seconds(10), longest: .seconds(longest), keys: keys))
        }

        private func at(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: seconds * 1_000_000_000) }

        @Test("the first lines are written, and the first omitted line sets the alarm for the window's end")
        func first() {
            var flood = flood()
            #expect(flood.receive(1, of: "a", .info, at: at(0)) == .write)
            #expect(flood.receive(2, of: "a", .info, at: at(1)) == .write)
            #expect(flood.receive(3, of: "a", .info, at: at(2)) == .leaveOut(alarm: at(10)))
            #expect(flood.receive(4, of: "a", .info, at: at(3)) == .leaveOut(alarm: nil))
            #expect(flood.receive(5, of: "b", .info, at: at(3)) == .write)
        }

        @Test("the summary has the number of omitted lines, the start, the worst level and the last line")
        func summary() throws {
            var flood = flood(lines: 1)
            for (number, level) in [(1, Logger.Level.info), (2, .debug), (3, .warning), (4, .info)] {
                _ = flood.receive(number, of: "a", level, at: at(Int64(number)))
            }
            #expect(flood.end(at: at(10)).isEmpty)
            let told = flood.end(at: at(11))
            let summary = try #require(told.first)
            #expect(told.count == 1 && summary.key == "a" && summary.count == 3 && summary.last == 4)
            #expect(summary.since == at(2) && summary.until == at(11) && summary.level == .warning)
            #expect(flood.count == 0)
            #expect(flood.receive(5, of: "a", .info, at: at(11)) == .write)
        }

        @Test("a window without omitted lines ends without a summary")
        func silent() {
            var flood = flood()
            _ = flood.receive(1, of: "a", .info, at: at(0))
            #expect(flood.end(at: at(100)).isEmpty && flood.count == 0)
        }

        @Test("keys beyond the limit share one window, and their summary has no key")
        func further() {
            var flood = flood(lines: 1, keys: 2)
            for (number, key) in ["a", "b", "c", "d", "e"].enumerated() {
                let answer = flood.receive(number, of: key, .info, at: at(0))
                #expect((answer == .write) == (number <= 2))
            }
            #expect(flood.count == 3)
            let told = flood.end(at: at(10))
            #expect(told.map(\.key) == [nil] && told.map(\.count) == [2])
        }

        @Test("omitted lines can be reported once before the window ends")
        func tellAll() {
            var flood = flood(lines: 1)
            for number in 1...4 { _ = flood.receive(number, of: "a", .info, at: at(0)) }
            #expect(flood.tellAll(at: at(1)).map(\.count) == [3])
            #expect(flood.tellAll(at: at(1)).isEmpty)
            #expect(flood.receive(5, of: "a", .info, at: at(2)) == .leaveOut(alarm: at(10)))
            #expect(flood.end(at: at(10)).map(\.count) == [1])
        }

        @Test("a clock reading that is earlier than the latest one counts as the latest")
        func overtaken() {
            var flood = flood(lines: 1)
            _ = flood.receive(1, of: "a", .info, at: at(5))
            _ = flood.receive(2, of: "b", .info, at: at(4))
            #expect(flood.end(at: at(14)).isEmpty && flood.count == 2)
            _ = flood.end(at: at(15))
            #expect(flood.count == 0)
        }

        @Test(
            "while events come, each window is twice as long as the last, up to the longest; an empty window resets it"
        )
        func lasting() {
            var flood = flood(lines: 1, longest: 60)
            var ends: [Int64] = []
            var written: [Int64] = []
            for second in Int64(0)..<220 {
                for summary in flood.end(at: at(second)) {
                    #expect(summary.until == at(second))
                    ends.append(second)
                }
                if flood.receive(0, of: "a", .info, at: at(second)) == .write { written.append(second) }
            }
            #expect(ends == [10, 30, 70, 130, 190] && written == [0, 10, 30, 70, 130, 190])
            // The window in which the flood ends, and an empty window.
            #expect(flood.end(at: at(250)).map(\.count) == [29] && flood.count == 1)
            #expect(flood.end(at: at(310)).isEmpty && flood.count == 0)
            #expect(flood.receive(0, of: "a", .info, at: at(310)) == .write)
            #expect(flood.receive(0, of: "a", .info, at: at(310)) == .leaveOut(alarm: at(320)))
        }

        @Test("with windows of many lengths, each ends at its own time, and nothing is lost", arguments: 0..<20)
        func lengths(seed: UInt64) {
            var random = SplitMix64(seed: seed)
            var flood = flood(lines: 2, longest: 80, keys: 5)
            var (now, came, written, told): (Int64, Int, Int, Int) = (0, 0, 0, 0)
            for _ in 0..<3_000 {
                now += Int64.random(in: 0...12, using: &random)
                for summary in flood.end(at: at(now)) {
                    told += summary.count
                    #expect(summary.until <= at(now) && summary.until > at(now - 13))
                }
                came += 1
                let key = "\(Int.random(in: 0..<8, using: &random))"
                if flood.receive(0, of: key, .info, at: at(now)) == .write { written += 1 }
            }
            told += flood.tellAll(at: at(now)).reduce(0) { $0 + $1.count }
            #expect(written + told == came && flood.count <= 6)
            _ = flood.end(at: at(now + 200))
            #expect(flood.count == 0)
        }

        @Test("a window without end does not overflow")
        func endless() {
            let endless = Duration.seconds(Int64.max)
            var flood = Flood(Flood.Limits(lines: .max, window: endless, longest: endless, keys: 1))
            for number in 0..<10 { #expect(flood.receive(number, of: "a", .info, at: at(0)) == .write) }
        }
    }

    @Suite struct LogFloodExplorationTests {
        /// A flood compared with a list of all input, which is counted again after each input.
        private struct Flooded: ExplorableMachine {
            enum Input: Hashable { case event(String), wait(Int64), end, tellAll }

            private struct Past { var began: Int64, written: Int, leftOut: Int }

            private static let limits = (lines: 2, window: Int64(3), keys: 2)
            var machine = LogFlood<String, Int>(
                .init(
                    lines: limits.lines, window: .nanoseconds(limits.window), longest: .nanoseconds(limits.window),
                    keys: limits.keys))
            var now: Int64 = 0
            private var model: [String: Past] = [:]
            private var came = 0, written = 0, told = 0

            let inputs: [Input] = [.event("a"), .event("b"), .event("c"), .wait(1), .wait(2), .end, .tellAll]

            mutating func apply(_ input: Input) throws {
                switch input {
                case .event(let key):
                    try expire(machine.end(at: MonotonicInstant(nanoseconds: now)))
                    came += 1
                    let name = model[key] != nil || model.keys.count { $0 != "" } < Self.limits.keys ? key : ""
                    var past = model[name] ?? Past(began: now, written: 0, leftOut: 0)
                    let answer = machine.receive(came, of: key, .info, at: MonotonicInstant(nanoseconds: now))
                    if past.written < Self.limits.lines {
                        past.written += 1
                        written += 1
                        try require(answer, is: .write)
                    } else {
                        let ends = past.began + Self.limits.window
                        let alarm = past.leftOut == 0 ? MonotonicInstant(nanoseconds: ends) : nil
                        past.leftOut += 1
                        try require(answer, is: .leaveOut(alarm: alarm))
                    }
                    model[name] = past
                case .wait(let time): now += time
                case .end: try expire(machine.end(at: MonotonicInstant(nanoseconds: now)))
                case .tellAll:
                    let summaries = machine.tellAll(at: MonotonicInstant(nanoseconds: now))
                    told += summaries.reduce(0) { $0 + $1.count }
                    model = model.filter { $0.value.began + Self.limits.window > now }
                    for key in model.keys { model[key]?.leftOut = 0 }
                }
                try require(machine.count, is: model.count, "the number of windows")
                try require(machine.count <= Self.limits.keys + 1, "\(machine.count) windows")
                let outstanding = model.values.reduce(0) { $0 + $1.leftOut }
                try require(written + told + outstanding, is: came, "written, told and still to tell")
            }

            private mutating func expire(_ summaries: [LogFlood<String, Int>.Summary]) throws {
                let over = model.filter { $0.value.began + Self.limits.window <= now }
                let expected = over.filter { $0.value.leftOut > 0 }.map { [$0.key: $0.value.leftOut] }
                try require(
                    Set(summaries.map { [$0.key ?? "": $0.count] }), is: Set(expected), "the summaries")
                told += summaries.reduce(0) { $0 + $1.count }
                for key in over.keys { model[key] = nil }
            }
        }

        @Test("in every history, each line is written, counted in a summary, or still to be reported: none is lost")
        func all() throws {
            let exploration = try Explorer(Flooded()).exploreAll(depth: 6)
            #expect(exploration.transitions > 100_000)
        }

        @Test("in long histories no line is lost either")
        func random() throws { try Explorer(Flooded()).exploreRandomly(walks: 100, length: 300, seed: 9) }
    }
#endif
