import Foundation
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

/// Settings that are read from a file make the same bulkhead as settings in source code.
@Suite struct AdaptiveBulkheadSettingsTests {
    private typealias Settings = AdaptiveBulkhead.Settings

    private func decoded(_ json: String) throws -> Settings { try TestSupport.decoded(json) }

    @Test(
        "a limit with only a kind in a file has that kind's defaults; a bulkhead without a limit uses latencies")
    func defaults() throws {
        for (kind, limit) in [("gradient", AdaptiveLimit.gradient()), ("vegas", .vegas()), ("aimd", .aimd())] {
            let settings = try decoded(#"{"limit": {"kind": "\#(kind)"}, "shedding": {}}"#)
            #expect(settings == Settings(limit: limit, shedding: LoadShedding()) && settings.limit.initial == 20)
            #expect(AdaptiveBulkhead(settings: settings).settings == settings)
        }
        #expect(try decoded("{}") == Settings() && Settings() == Settings(limit: .gradient()))
        #expect(try decoded(#"{"limit": {"kind": "vegas", "lowest": 30, "highest": 40}}"#).limit.initial == 30)
    }

    @Test(
        "a bulkhead that is read from a file is written unchanged",
        arguments: [
            (
                #"""
                {"queue": 9, "order": "byPriority", "maxWaitSeconds": 2,
                 "limit": {"kind": "gradient", "initial": 7, "lowest": 2, "highest": 90, "tolerance": 0.05,
                  "windowSeconds": 0.5, "slowAfterSeconds": 3, "verdicts": ["throttled", "transient"]},
                 "shedding": {"targetSeconds": 0.02, "intervalSeconds": 1}}
                """#,
                Settings(
                    limit: .gradient(
                        initial: 7, in: 2...90, tolerance: 0.05, window: .milliseconds(500), slowAfter: .seconds(3),
                        on: [.throttled, .transient]), queue: 9, order: .byPriority, maxWait: .seconds(2),
                    shedding: LoadShedding(target: .milliseconds(20), interval: .seconds(1)))
            ),
            (
                #"{"limit": {"kind": "vegas", "initial": 7, "leastQueue": 0.1, "mostQueue": 0.2}}"#,
                Settings(limit: .vegas(initial: 7, queue: 0.1...0.2))
            ),
            (
                #"{"limit": {"kind": "aimd", "initial": 7, "increase": 2, "decrease": 0.5}}"#,
                Settings(limit: .aimd(initial: 7, increase: 2, decrease: 0.5))
            ),
        ])
    func given(json: String, expected: AdaptiveBulkhead.Settings) throws {
        let read = try decoded(json)
        #expect(read == expected)
        #expect(try JSONDecoder().decode(Settings.self, from: JSONEncoder().encode(expected)) == expected)
        let made = AdaptiveBulkhead(settings: read)
        #expect(made.settings == expected && made.status.bulkhead.limit == 7)
    }

    @Test(
        "all invalid settings are named",
        arguments: [
            (#"{"limit": {"kind": "gradient", "initial": 0}}"#, ["initial is 0, and must lie in 1...200"]),
            (#"{"limit": {"kind": "gradient", "initial": 201}}"#, ["initial is 201, and must lie in 1...200"]),
            (
                #"{"limit": {"kind": "gradient", "lowest": 0, "tolerance": 11, "windowSeconds": 0}}"#,
                [
                    "lowest is 0, and must lie in 1...1000000000", "windowSeconds is 0 s, and must be above zero",
                    "tolerance is 11.0, and must lie in 0.01...10.0",
                ]
            ),
            (
                #"{"limit": {"kind": "vegas", "lowest": 9, "highest": 8, "mostQueue": 0.02}}"#,
                [
                    "mostQueue is 0.02, and must be 0.03 or more, as the lower bound is",
                    "highest is 8, and must be 9 or more, as the lower bound is",
                ]
            ),
            (
                #"{"limit": {"kind": "vegas", "tolerance": 1}}"#,
                [
                    "tolerance is given, and is no setting: there are kind, initial, lowest, highest, windowSeconds, slowAfterSeconds, verdicts, leastQueue, mostQueue"
                ]
            ),
            (#"{"limit": {"kind": "fixed"}}"#, [#"kind is "fixed", and must be one of gradient, vegas, aimd"#]),
        ])
    func invalid(json: String, expected: [String]) {
        #expect(problems { _ = try decoded(json) } == expected.map { "AdaptiveLimit: limit.\($0)" })
    }

    @Test("a limit with a custom algorithm can be a setting, but can't be written")
    func customLimit() throws {
        struct Doubling: LimitAlgorithm {
            func limit(after window: LimitWindow) -> Double { window.limit * 2 }
            func limitAfterOverload(_ limit: Double) -> Double { limit / 2 }
        }
        let settings = Settings(limit: .custom(Doubling()))
        #expect(AdaptiveBulkhead(settings: settings).settings.limit == .custom(Doubling()))
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(settings) }
    }

    @Test("if a limit's bounds are wrong, its initial value is not reported")
    func wrongBounds() {
        let error = #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked { AdaptiveBulkhead(limit: .gradient(initial: 0, in: 0...0)) }
        }
        #expect(error?.problems.map(\.parameter) == ["lowest", "highest"])
    }
}
