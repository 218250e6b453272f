#if Logging
    import InMemoryLogging
    import Logging
    import Resilience
    @testable import ResilienceObservability
    import ResilienceSync
    import ResilienceTesting
    import TestSupport
    import Testing

    @Suite struct PolicyLoggerTests {
        private let handler = InMemoryLogHandler()
        private let clock = ManualClock()

        private func logger(_ level: Logger.Level = .trace) -> Logger {
            var logger = Logger(label: "test") { [handler] _ in handler }
            logger.logLevel = level
            return logger
        }

        private func metadata(_ key: String) -> String? {
            handler.entries.last?.metadata["resilience.\(key)"]?.description
        }

        private var lines: [String] { handler.entries.map { "\($0.level) \($0.message)" } }

        private func event(_ detail: some PolicyEventDetail, policy: String = "p", pipeline: String? = "x")
            -> PolicyEvent
        {
            PolicyEvent(policy: policy, pipeline: pipeline, time: clock.now, detail: detail)
        }

        @Test(
            "the logger receives only events that it writes or sums up; if a closure sets the levels, it receives all")
        func leastSeverity() {
            let least = Logger.Level.allCases.map { PolicyLogger(logger($0)).leastSeverity }
            #expect(least == [.trace, .debug, .debug, .debug, .warning, .error, .error])
            #expect(PolicyLogger(logger(.critical), levels: { _ in nil }).leastSeverity == .trace)
        }

        @Test(
            "the lines of a breaker's life: allowed, failures, opened, rejected, half-open, recovered, re-opened (A9)")
        func life() throws {
            let levels: PolicyLogger.Levels = { event in
                event.detail is CircuitBreaker.Event ? PolicyLogger.standardLevel(of: event) : nil
            }
            let log = PolicyLogger(logger(), timeBase: clock, levels: levels)
            let pipeline = Pipeline("/api/activities", observers: PolicyObservers(log)) {
                CircuitBreaker("breaker", timeBase: clock)
            }
            let fetch = ScriptedOperation<Void, Int>(
                [.success(1)] + Array(repeating: .failure(Outage()), count: 6), fallback: .success(7))
            try clock.run { [clock] in
                for _ in 0..<6 { _ = try? await pipeline.run { try await fetch() } }
                clock.advance(by: .seconds(15))
                _ = try? await pipeline.run { try await fetch() }
                clock.advance(by: .seconds(45))
                _ = try? await pipeline.run { try await fetch() }
                clock.advance(by: .seconds(600))
                _ = try await pipeline.run { try await fetch() }
            }
            let prefix = "[/api/activities/breaker] "
            let expected = [
                "trace closed, allowing call",
                "debug failure 1/5: Outage", "debug failure 2/5: Outage", "debug failure 3/5: Outage",
                "debug failure 4/5: Outage",
                "debug failure 5/5: Outage", "warning threshold reached (5/5) → open for 60 s: Outage",
                "debug open, rejecting call (retry in 45 s)",
                "info break over → half-open", "debug half-open, allowing a probe",
                "notice probe succeeded → closed (recovered)",
            ]
            for line in expected {
                let words = line.split(separator: " ", maxSplits: 1)
                #expect(lines.contains("\(words[0]) \(prefix)\(words[1])"), "\(line)")
            }
            #expect(lines.contains { $0.hasPrefix("warning \(prefix)probe failed → open for") })
        }

        @Test("names and numbers are metadata, not only text")
        func metadata() {
            let log = PolicyLogger(logger(), timeBase: clock)
            log.receive(
                event(
                    Retry.Event.retrying(
                        attempt: 2, of: 4, after: .milliseconds(250), .throttled(retryAfter: .seconds(1)))))
            #expect(
                handler.entries.first?.metadata.mapValues(\.description) == [
                    "resilience.pipeline": "x", "resilience.policy": "p", "resilience.event": "retrying",
                    "resilience.attempt": "2", "resilience.max_attempts": "4", "resilience.wait_ms": "250.0",
                    "resilience.verdict": "throttled", "resilience.retry_after_ms": "1000.0",
                ])
        }

        @Test("unbounded durations also have metadata")
        func endless() {
            let log = PolicyLogger(logger(), timeBase: clock)
            log.receive(event(CircuitBreaker.Event.rejected(retryAfter: .seconds(Int64.max))))
            log.receive(event(SyncEvent.paused(for: .seconds(-5))))
            #expect(handler.entries.count == 2)
            #expect(metadata("wait_ms") == "-5000.0")
        }

        @Test("a storm makes five lines and one summary at the window's end, even without a further event")
        func storm() throws {
            let log = PolicyLogger(logger(), timeBase: clock)
            let rejected = event(CircuitBreaker.Event.rejected(retryAfter: .seconds(45)))
            try clock.run { [clock] in
                for _ in 0..<1_000 { log.receive(rejected) }
                try await clock.sleep(for: .seconds(11))
            }
            #expect(handler.entries.count == 6)
            #expect(
                lines.last == "debug [x/p] rejected: 995 more in 10 s, the last: open, rejecting call (retry in 45 s)")
            #expect(metadata("left_out") == "995")
            #expect(metadata("left_out_ms") == "10000.0")
        }

        private enum RequestID { @TaskLocal static var current = "none" }

        @Test(
            "a line names the failure, in its text and in its metadata, and the id of its task's request (P76)"
        )
        func failure() async throws {
            var handler = handler
            handler.metadataProvider = Logger.MetadataProvider { ["request": "\(RequestID.current)"] }
            let log = PolicyLogger(Logger(label: "test") { [handler] _ in handler }, timeBase: clock)
            let pipeline = Pipeline("prices", timeBase: clock, observers: PolicyObservers(log)) { Retry(maxRetries: 0) }
            await RequestID.$current.withValue("r-17") {
                _ = try? await pipeline.run { throw Refused() }
            }
            let entry = try #require(handler.entries.last { "\($0.message)".contains("[prices/call] failed") })
            #expect("\(entry.message)".hasSuffix(": Refused 111 at prices:8080"))
            let expected = [
                "failure": "Refused 111 at prices:8080", "error_type": "Refused", "error_code": "111",
                "host": "prices:8080",
            ]
            for (key, value) in expected { #expect(entry.metadata["resilience.\(key)"]?.description == value) }
            #expect(entry.metadata["request"]?.description == "r-17")
        }

        private struct Refused: Error, FailureDescribing {
            var failureDetail: FailureDetail { FailureDetail("Refused", code: "111", host: "prices:8080") }
        }

        @Test(
            "rejected calls have one line at notice every ten seconds, although each is below the logger's level (P76)")
        func rejections() throws {
            let log = PolicyLogger(logger(.info), timeBase: clock)
            let pipeline = Pipeline("catalog", timeBase: clock, observers: PolicyObservers(log)) {
                Bulkhead("bulkhead", limit: 1, timeBase: clock)
            }
            try clock.run { [clock] in
                try await pipeline.run {
                    for _ in 0..<2_269 { _ = try? await pipeline.run {} }
                }
                #expect(lines == [])
                try await clock.sleep(for: .seconds(11))
                let late = RunOptions(deadline: clock.now)
                for _ in 0..<300 { _ = try? await pipeline.run(options: late) {} }
                try await clock.sleep(for: .seconds(11))
                try await clock.sleep(for: .seconds(60))
            }
            #expect(
                lines == [
                    "notice [catalog/call] 2269 calls rejected by bulkhead in 10 s",
                    "notice [catalog/call] 300 calls rejected by deadline in 10 s",
                ])
            #expect(metadata("left_out") == "300" && metadata("failed_by") == "deadline")
        }

        @Test("if the lines of rejections are written, the summary counts only the others")
        func moreRejections() throws {
            let log = PolicyLogger(logger(.debug), timeBase: clock)
            let rejected = PolicyEvent(
                policy: "call", pipeline: "x", time: clock.now,
                detail: Pipeline.Event.rejected(took: .zero, attempts: 0),
                failure: FailureDetail(of: BulkheadFull(policy: "room", reason: .full)))
            try clock.run { [clock] in
                for _ in 0..<8 { log.receive(rejected) }
                try await clock.sleep(for: .seconds(11))
            }
            #expect(handler.entries.count == 6)
            #expect(lines.last == "notice [x/call] 3 more calls rejected by room in 10 s")
        }

        @Test("rejections have no summary in a log of warnings, or if custom levels omit them")
        func noSummary() throws {
            let quiet = PolicyLogger(logger(.warning), timeBase: clock)
            let silent = PolicyLogger(logger(.info), timeBase: clock) { _ in nil }
            for log in [quiet, silent] {
                log.receive(event(Pipeline.Event.rejected(took: .zero, attempts: 0), policy: "call"))
                log.flush()
            }
            #expect(lines == [])
        }

        @Test(
            "rejections of a policy outside a pipeline also have a summary; in a pipeline a rejection is reported once")
        func alone() throws {
            let log = PolicyLogger(logger(.info), timeBase: clock)
            let rejected = Bulkhead.Event.rejected(.full)
            for _ in 0..<3 { log.receive(event(rejected, policy: "room", pipeline: nil)) }
            for _ in 0..<3 { log.receive(event(rejected, policy: "room")) }
            log.flush()
            #expect(lines == ["notice [room] 3 calls rejected by room in 0 s"])
        }

        @Test("a long outage writes few lines per hour: in the end its summaries come every five minutes")
        func night() throws {
            let log = PolicyLogger(logger(.info), timeBase: clock)
            let pipeline = Pipeline("catalog", timeBase: clock, isIdempotent: true, observers: PolicyObservers(log)) {
                Retry(maxRetries: 2, backoff: .none)
                CircuitBreaker("breaker", openFor: .seconds(5), timeBase: clock)
            }
            func hours(_ hours: Int) throws -> Int {
                let before = handler.entries.count
                try clock.run { [clock] in
                    for _ in 0..<hours * 3_600 {
                        _ = try? await pipeline.run { throw Outage() }
                        try await clock.sleep(for: .seconds(1))
                    }
                }
                return handler.entries.count - before
            }
            let first = try hours(1)
            #expect(first < 300 && lines.contains { $0.hasSuffix(" calls rejected by breaker in 300 s") })
            // Every five minutes, five lines and a summary for each of three kinds of events, and one for rejections:
            // 12 · 19.
            let second = try hours(1)
            #expect((220...236).contains(second), "\(second)")
            log.flush()
        }

        @Test("a call that an inner pipeline rejects has no line of its own, and is summed up")
        func furtherIn() throws {
            let log = PolicyLogger(logger(.info), timeBase: clock)
            let observers = PolicyObservers(log)
            let breaker = CircuitBreaker("breaker", timeBase: clock)
            let catalog = Pipeline("catalog", timeBase: clock, observers: observers) { breaker }
            let gateway = Pipeline("gateway", timeBase: clock, observers: observers) {}
            breaker.setMode(.isolated)
            try clock.run {
                for _ in 0..<30 { _ = try? await gateway.run { try await catalog.run {} } }
            }
            log.flush()
            #expect(
                lines == [
                    "notice [catalog/breaker] mode set → isolated",
                    "notice [catalog/call] 30 calls rejected by breaker in 0 s",
                    "notice [gateway/call] 30 calls rejected further in by breaker in 0 s",
                ])
        }

        @Test("during a storm of one kind of event, an event of another kind is written")
        func apart() {
            let log = PolicyLogger(logger(), lines: 1, timeBase: clock)
            for _ in 0..<100 { log.receive(event(CircuitBreaker.Event.rejected(retryAfter: nil))) }
            log.receive(event(CircuitBreaker.Event.recovered))
            #expect(handler.entries.map(\.level) == [.debug, .notice])
        }

        @Test("omitted lines are reported on demand, and when the logger is released")
        func flush() {
            do {
                let log = PolicyLogger(logger(), lines: 1, timeBase: clock)
                for _ in 0..<3 { log.receive(event(CircuitBreaker.Event.recovered)) }
                log.flush()
                log.flush()
                #expect(handler.entries.count == 2)
                log.receive(event(CircuitBreaker.Event.recovered))
                #expect(handler.entries.count == 2)
            }
            #expect(handler.entries.count == 3)
            #expect(
                lines.last == "notice [x/p] recovered: 1 more in 0 s, the last: probe succeeded → closed (recovered)")
        }

        @Test("an unbounded number of names makes a bounded number of lines")
        func names() {
            let log = PolicyLogger(logger(), lines: 1, maxKeys: 10, timeBase: clock)
            for number in 0..<10_000 { log.receive(event(CircuitBreaker.Event.recovered, policy: "\(number)")) }
            log.flush()
            #expect(handler.entries.count == 12)
            #expect(lines.last?.hasPrefix("notice further policies: 9989 more in") == true)
        }

        @Test("a name from outside never breaks a line")
        func hostile() {
            let log = PolicyLogger(logger(), timeBase: clock)
            log.receive(
                event(SyncEvent.died(id: "1\n2", error: "no\r\u{1B}[2J"), policy: "<script>\n", pipeline: "a\nb"))
            #expect(lines == ["error [a\\nb/<script>\\n] 1\\n2 is dead: no\\r\\u{1B}[2J"])
            #expect(handler.entries[0].metadata["resilience.pipeline"] == "a\\nb")
            #expect(handler.entries[0].metadata["resilience.mutation"] == "1\\n2")
            #expect(handler.entries[0].metadata["resilience.error"] == "no\\r\\u{1B}[2J")
        }

        @Test("an event below the logger's level, or without a level, is not written, and not counted")
        func quiet() {
            let log = PolicyLogger(logger(.notice), lines: 1, timeBase: clock)
            for _ in 0..<5 { log.receive(event(CircuitBreaker.Event.rejected(retryAfter: nil))) }
            let none = PolicyLogger(logger(), timeBase: clock, levels: { _ in nil })
            none.receive(event(CircuitBreaker.Event.recovered))
            log.flush()
            #expect(handler.entries.isEmpty)
        }

        @Test("a closure changes the levels")
        func levels() {
            let log = PolicyLogger(logger(), timeBase: clock) { event in
                event.detail.kind == "opened" ? .critical : PolicyLogger.standardLevel(of: event)
            }
            log.receive(event(CircuitBreaker.Event.opened(5, of: 5, for: nil)))
            log.receive(event(CircuitBreaker.Event.recovered))
            #expect(handler.entries.map(\.level) == [.critical, .notice])
        }

        @Test("a successful call writes nothing above debug")
        func well() throws {
            let log = PolicyLogger(logger(.info), timeBase: clock)
            let pipeline = Pipeline("x", observers: PolicyObservers(log)) {
                Retry()
                CircuitBreaker(timeBase: clock)
                Bulkhead(limit: 1, timeBase: clock)
            }
            _ = try clock.run { try await pipeline.run { 1 } }
            #expect(handler.entries.isEmpty)
        }

        @Test("in a burst from many threads, every event is written or summed up")
        func volley() async {
            let log = PolicyLogger(logger(), lines: 3, timeBase: clock)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask { for _ in 0..<500 { log.receive(event(CircuitBreaker.Event.recovered)) } }
                }
            }
            log.flush()
            #expect(handler.entries.count == 4)
            #expect(metadata("left_out") == "3997")
        }

        @Test("an observer that is added twice writes each event twice, within its limit")
        func twice() {
            let log = PolicyLogger(logger(), timeBase: clock)
            let observers = PolicyObservers(log, log)
            observers.send(event(CircuitBreaker.Event.recovered))
            #expect(handler.entries.count == 2)
        }

        @Test("a limit that is out of range is reported")
        func settings() {
            #expect(throws: InvalidSettings.self) {
                try PolicySettings.checked { PolicyLogger(logger(), lines: 0, per: .zero, maxKeys: -1) }
            }
        }
    }
#endif
