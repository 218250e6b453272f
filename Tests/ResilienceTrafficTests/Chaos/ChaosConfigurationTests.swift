import Foundation
import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

@Suite(.timeLimit(.minutes(20))) struct ChaosConfigurationTests {
    private func decode(_ json: String) throws -> Chaos.Settings {
        try decoded(json)
    }

    private func problems(_ json: String) -> [String] { TestSupport.problems { _ = try decode(json) } }

    /// 2026-11-27T15:00:00Z, in milliseconds since 1970.
    private static let three: Int64 = 1_795_791_600_000

    @Test("settings are read and written, with defaults for missing values")
    func coding() throws {
        let json = """
            {
                "until": "2026-11-27T15:00:00Z", "faultRate": 0.1, "faultVerdict": "throttled", "faultAfterSeconds": 0.5,
                "lostAnswerRate": 0.05, "delayRate": 0.2, "delaySeconds": 0.25, "maxDelaySeconds": 2.5,
                "cancellationRate": 0.01, "script": ["fault", "none", "lostAnswer", "delay", "cancellation"],
                "tags": ["b", "a"], "maxPriority": -64, "limit": 1000, "maxDelayed": 20
            }
            """
        let read = try decode(json)
        let made = Chaos.Settings(
            until: "2026-11-27T15:00:00Z", faultRate: 0.1, faultVerdict: .throttled, faultAfter: .milliseconds(500),
            lostAnswerRate: 0.05, delayRate: 0.2, delay: .milliseconds(250), maxDelay: .milliseconds(2_500),
            cancellationRate: 0.01, script: [.fault, .none, .lostAnswer, .delay, .cancellation], tags: ["b", "a"],
            maxPriority: .low, limit: 1_000, maxDelayed: 20)
        #expect(read == made)
        let again = try JSONDecoder().decode(Chaos.Settings.self, from: JSONEncoder().encode(read))
        #expect(again == read)
        let standard = try decode("{}")
        #expect(standard == Chaos.Settings() && standard.until == nil && standard.delay == .seconds(1))
        let chaos = Chaos(settings: standard)
        #expect(!chaos.isOn && "\(chaos)" == "chaos: nothing")
        #expect(
            "\(Chaos(settings: read, at: Self.three))"
                == "chaos: fault (throttled) after 500 ms, 10 %; lost answer (uncertain), 5 %; "
                + "delay of 250 ms…2.5 s, 20 %; cancellation, 1 %; a script")
    }

    @Test(
        "invalid values are named, with their ranges",
        arguments: [
            (#"{"faultRate": 1.5}"#, "Chaos: faultRate is 1.5, and must lie in 0...1"),
            (#"{"faultRate": 0.6, "delayRate": 0.5}"#, "Chaos: rates is 1.1, and must add up to 1 or less"),
            (
                #"{"faultVerdict": "rejected"}"#,
                #"Chaos: faultVerdict is "rejected", and must be one of transient, throttled, permanent, uncertain"#
            ),
            (#"{"delaySeconds": -1}"#, "Chaos: delaySeconds is -1 s, and must not be negative"),
            (
                #"{"delaySeconds": 3, "maxDelaySeconds": 2}"#,
                "Chaos: maxDelaySeconds is 2 s, and must be 3 s, the delay, or more"
            ),
            (
                #"{"script": ["fault", "behavior"]}"#,
                #"Chaos: script.1 is "behavior", and must be one of none, fault, lostAnswer, delay, cancellation"#
            ),
            (#"{"script": "fault"}"#, #"Chaos: script is "fault", and must be a list of names"#),
            (#"{"maxPriority": 128}"#, "Chaos: maxPriority is 128, and must lie in -128...127"),
            (#"{"limit": -1}"#, "Chaos: limit is -1, and must not be negative"),
            (#"{"maxDelayed": -1}"#, "Chaos: maxDelayed is -1, and must not be negative"),
            (
                #"{"until": "tomorrow"}"#,
                #"Chaos: until is "tomorrow", and must be a date and time in UTC, such as "2026-11-27T15:00:00Z""#
            ),
        ])
    func invalid(json: String, problem: String) {
        #expect(problems(json) == [problem])
    }

    @Test("an unknown name is an error, and all problems are found at once")
    func everything() {
        let found = problems(#"{"faultrate": 0.1, "limit": -1, "until": "", "delayRate": 2, "script": ["x"]}"#)
        #expect(found.count == 5, "\(found)")
        func check(_ settings: Chaos.Settings) throws { _ = try PolicySettings.checked { settings.valid() } }
        #expect(throws: InvalidSettings.self) { try check(Chaos.Settings(faultRate: .nan)) }
        #expect(throws: Never.self) { try check(Chaos.Settings(delay: .seconds(Int64.max), limit: .max)) }
    }

    @Test(
        "a UTC date is read to the second, and no other form is",
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2026-11-27T15:00:00Z", three / 1_000), ("2026-11-27T15:00Z", three / 1_000),
            ("2000-02-29T23:59:59Z", 951_868_799), ("2024-12-31T00:00:01Z", 1_735_603_201),
            ("9999-12-31T23:59:59Z", 253_402_300_799), ("2100-03-01T00:00:00Z", 4_107_542_400),
            ("2025-02-29T00:00:00Z", nil), ("2100-02-29T00:00:00Z", nil), ("2026-13-01T00:00:00Z", nil),
            ("2026-00-01T00:00:00Z", nil), ("2026-04-31T00:00:00Z", nil), ("2026-04-00T00:00:00Z", nil),
            ("2026-04-01T24:00:00Z", nil), ("2026-04-01T00:60:00Z", nil), ("2026-04-01T00:00:60Z", nil),
            ("1969-12-31T23:59:59Z", nil), ("2026-04-01T00:00:00+02:00", nil), ("2026-04-01 00:00:00Z", nil),
            ("2026-04-01T00:00:00", nil), ("٢026-04-01T00:00:0Z", nil), ("", nil), ("2026-4-1T00:00:00Z", nil),
        ] as [(String, Int64?)])
    func dates(text: String, seconds: Int64?) {
        #expect(UTCText(text)?.seconds == seconds)
    }

    // MARK: The switch

    private func chaos(_ clock: ManualClock, until: String?, before: Duration, rate: Double = 1) throws -> Chaos {
        Chaos(
            settings: Chaos.Settings(until: until, faultRate: rate),
            at: Self.three - before.saturatedNanoseconds / 1_000_000, timeBase: clock)
    }

    @Test("the policy is on until the named time, and for a day at most")
    func until() throws {
        let clock = ManualClock()
        let chaos = try chaos(clock, until: "2026-11-27T15:00:00Z", before: .seconds(600))
        #expect(chaos.status.timeLeft == .seconds(600) && !chaos.isAtRest)
        clock.advance(by: .seconds(600))
        #expect(!chaos.isOn && chaos.isAtRest)
        let late = try self.chaos(clock, until: "2026-11-27T15:00:00Z", before: .seconds(-1))
        #expect(!late.isOn && late.isAtRest)
        let never = try self.chaos(clock, until: nil, before: .seconds(600))
        #expect(!never.isOn)
        let long = try self.chaos(clock, until: "2027-11-27T15:00:00Z", before: .zero)
        #expect(long.status.timeLeft == Chaos.longestTime)
        let longest = try self.chaos(clock, until: "9999-12-31T23:59:59Z", before: .seconds(Int64.max / 1_000_000_000))
        #expect(longest.isOn)
    }

    @Test("reading the same time again leaves the switch unchanged; another time is obeyed")
    func readAgain() async throws {
        let clock = ManualClock()
        let three = "2026-11-27T15:00:00Z"
        let chaos = try chaos(clock, until: three, before: .seconds(600))
        clock.advance(by: .seconds(100))
        // Turned off by hand, chaos stays off, although the rate has changed.
        chaos.turnOff()
        #expect(!chaos.isAtRest)
        #expect(try chaos.reconfigured(like: self.chaos(clock, until: three, before: .seconds(500), rate: 0.5)) != nil)
        #expect(!chaos.isOn && "\(chaos)".contains("50 %"))
        // Another time turns chaos on.
        #expect(
            try chaos.reconfigured(like: self.chaos(clock, until: "2026-11-27T15:05:00Z", before: .seconds(500))) != nil
        )
        #expect(chaos.status.timeLeft == .seconds(800))
        // By hand chaos can be on longer.
        chaos.turnOn(for: .seconds(5_000))
        #expect(
            try chaos.reconfigured(like: self.chaos(clock, until: "2026-11-27T15:05:00Z", before: .seconds(500))) != nil
        )
        #expect(chaos.status.timeLeft == .seconds(5_000))
        #expect(try chaos.reconfigured(like: self.chaos(clock, until: nil, before: .zero)) != nil)
        #expect(!chaos.isOn && chaos.isAtRest)
    }

    @Test("a game day ends when its settings are removed, even if the pipeline can't adopt the new settings")
    func otherPolicies() async throws {
        let clock = ManualClock()
        func pipeline(_ until: String, breaker: Bool) throws -> Pipeline {
            let json = #"{"faultRate": 1\#(until)}"#
            let chaos = try JSONDecoder().decode(Chaos.Settings.self, from: Data(json.utf8))
            return Pipeline("search", timeBase: clock) {
                if breaker { CircuitBreaker(timeBase: clock) }
                Chaos("chaos", settings: chaos, timeBase: clock)
            }
        }
        let old = try pipeline(#", "until": "9999-12-31T00:00Z""#, breaker: false)
        let chaos = try #require(old.policies(of: Chaos.self).first)
        #expect(chaos.isOn)
        #expect(try old.reconfigured(like: pipeline("", breaker: true)) == nil && !chaos.isOn)
        try await old.run {}
    }

    @Test("a game day needs no new build: a pipeline's settings turn it on and off during calls")
    func gameDay() async throws {
        let clock = ManualClock()
        let registry = PipelineRegistry<String>(timeBase: clock) { name in
            Pipeline(
                name, settings: Pipeline.AllSettings(retry: .init(), chaos: .init()), timeBase: clock)
        }
        func read(_ json: String) throws {
            let settings = try JSONDecoder().decode(Pipeline.AllSettings.self, from: Data(json.utf8))
            registry.reconfigure { name in Pipeline(name, settings: settings, timeBase: clock) }
        }
        try await registry["search"].run {}
        let chaos = try #require(registry["search"].policies(of: Chaos.self).first)
        try read(#"{"retry": {"maxRetries": 0}, "chaos": {"until": "9999-12-31T00:00Z", "faultRate": 1}}"#)
        #expect(registry["search"].policies(of: Chaos.self).first === chaos && chaos.isOn)
        await #expect(throws: InjectedFault.self) { try await registry["search"].run {} }
        try read(#"{"policies": ["retry", "chaos"]}"#)
        #expect(!chaos.isOn)
        try await registry["search"].run {}
        #expect(chaos.status.faults == 1)
    }
}
