import Foundation
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

/// Settings as values: decoded settings make the same policy as the same settings in source code.
@Suite struct ConfigurationTests {
    /// The problems of settings in source code.
    private func found(in settings: @autoclosure () -> some SettingsGroup) -> [String] {
        problems { _ = try PolicySettings.checked { settings().valid() } }
    }

    // MARK: Defaults

    @Test("without any setting a retry has its defaults")
    func retryDefaults() throws {
        for configuration in [Retry.Settings(), try decoded("{}"), try decoded(#"{"maxRetries": null}"#)] {
            let (own, standard) = (Retry(settings: configuration).settings, Retry().settings)
            #expect(own == standard && own.maxElapsed == nil)
            #expect(Retry(settings: configuration).name == Retry().name)
        }
    }

    @Test("without any setting a breaker has its defaults")
    func breakerDefaults() throws {
        for configuration in [CircuitBreaker.Settings(), try decoded("{}")] {
            let (own, standard) = (configuration.circuit, ThreeStateCircuit())
            #expect(CircuitBreaker(settings: configuration).description == CircuitBreaker().description)
            #expect(own.maxProbes == standard.maxProbes && own.closing == standard.closing)
            #expect(own.probeLease == standard.probeLease && own.excess == standard.excess && own.ramp == standard.ramp)
            #expect(own.rule as? ConsecutiveFailures == .standard && own.openFor as? ConstantBreak == .standard)
        }
    }

    @Test("with only a limit, a bulkhead and a throttle have their defaults")
    func limitDefaults() throws {
        let bulkhead = Bulkhead(settings: try decoded(#"{"limit": 3}"#))
        let other = Bulkhead(limit: 3)
        #expect(bulkhead.status == other.status && bulkhead.settings == other.settings && bulkhead.name == other.name)
        let throttle = Throttle(settings: try decoded(#"{"limit": {"kind": "unlimited"}}"#))
        #expect(throttle.settings == Throttle(limit: .unlimited).settings && throttle.name == "throttle")
        let holding = Throttle(settings: Throttle.Settings(limit: .perSecond(3), holdOnThrottled: true))
        #expect(holding.settings == Throttle(limit: .perSecond(3), holdOnThrottled: true).settings)
        #expect(holding.canBeReconfigured(like: Throttle(limit: .perSecond(3), holdOnThrottled: true)))
    }

    @Test("with only a freshness, a cache has its defaults")
    func cacheDefaults() throws {
        let minute = CacheLifetime(freshFor: .seconds(60))
        for configuration in [
            CallCacheSettings(lifetime: minute), try decoded(#"{"freshForSeconds": 60, "maxCost": null}"#),
        ] {
            let (own, standard) = (
                CallCache<Int, Int>(settings: configuration), CallCache<Int, Int>(lifetime: minute)
            )
            #expect(own.name == standard.name && own.settings == standard.settings && own.settings.maxCost == nil)
        }
    }

    // MARK: Given settings

    @Test("a cache is decoded, encoded, and reports its invalid settings")
    func cache() throws {
        let json = """
            {"failuresForSeconds":2,"freshForSeconds":0.5,"maxCost":7,"maxCount":9,"pauseAfterErrorSeconds":0,\
            "staleIfErrorSeconds":3,"staleOn":["transient"],"staleWhileRevalidateSeconds":1}
            """
        let configuration: CallCacheSettings = try decoded(json)
        let lifetime = CacheLifetime(
            freshFor: .milliseconds(500), staleWhileRevalidate: .seconds(1), staleIfError: .seconds(3))
        #expect(
            configuration
                == CallCacheSettings(
                    lifetime: lifetime, staleOn: .transient, failuresFor: .seconds(2), pauseAfterError: .zero,
                    maxCount: 9, maxCost: 7))
        let cache = CallCache<Int, Int>(settings: configuration, costOf: { $0 })
        #expect(cache.settings == configuration)
        cache.store(8, for: 1)
        #expect(cache.status.count == 0, "the cost is not counted")
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(String(decoding: try encoder.encode(configuration), as: UTF8.self) == json)
        let wrong = problems {
            _ = try decoded(
                #"{"maxCount": 0, "maxCost": 0, "staleOn": ["success"], "failuresForSeconds": -1, "ttl": 3}"#,
                as: CallCacheSettings.self)
        }
        #expect(
            wrong == [
                "CallCache: ttl is given, and is no setting: there are freshForSeconds, staleWhileRevalidateSeconds, "
                    + "staleIfErrorSeconds, staleOn, failuresForSeconds, pauseAfterErrorSeconds, maxCount, maxCost",
                "CallCache: freshForSeconds is missing, and must be given",
                "CallCache: staleOn is success, and must have neither success nor cancelled among them",
                "CallCache: failuresForSeconds is -1 s, and must not be negative",
                "CallCache: maxCount is 0, and must be at least 1", "CallCache: maxCost is 0, and must be at least 1",
            ])
    }

    @Test("all invalid settings of load shedding are reported")
    func invalidShedding() {
        let json = #"{"limit": 1, "shedding": {"targetSeconds": -1, "intervalSeconds": 0}}"#
        #expect(
            problems { _ = try decoded(json, as: Bulkhead.Settings.self) } == [
                "LoadShedding: shedding.targetSeconds is -1 s, and must not be negative",
                "LoadShedding: shedding.intervalSeconds is 0 s, and must be above zero",
            ])
    }

    @Test("a retry is decoded from a file")
    func retry() throws {
        let configuration: Retry.Settings = try decoded(
            """
            {"maxRetries": 5, "maxElapsedSeconds": 30, "retryAfterCeilingSeconds": 0.5, "wrapsLastError": true,
             "backoff": {"kind": "exponential", "baseSeconds": 0.1, "factor": 3, "capSeconds": 2, "jitter": "equal"},
             "throttledBackoff": {"kind": "sequence", "sequenceSeconds": [1, 2.5], "atEnd": "stop"},
             "verdicts": ["transient", "uncertain"]}
            """)
        let expected = Retry.Settings(
            maxRetries: 5, maxElapsed: .seconds(30),
            backoff: .exponential(from: .milliseconds(100), factor: 3, cap: .seconds(2), jitter: .equal),
            throttledBackoff: .sequence([.seconds(1), .milliseconds(2500)], atEnd: .stop),
            on: [.transient, .uncertain], retryAfterCeiling: .milliseconds(500), wrapsLastError: true)
        #expect(configuration == expected)
        let settings = Retry("r", settings: configuration).settings
        let literal = Retry(
            maxRetries: 5, maxElapsed: .seconds(30), backoff: expected.backoff,
            throttledBackoff: expected.throttledBackoff, on: [.transient, .uncertain]
        ).settings
        #expect(settings.backoff == literal.backoff && settings.throttledBackoff == literal.throttledBackoff)
        #expect(settings.retryAfterCeiling == .milliseconds(500) && settings.wrapsLastError)
    }

    @Test(
        "a backoff is decoded from a file",
        arguments: [
            (#"{"kind": "constant", "baseSeconds": 2}"#, Backoff.constant(.seconds(2))),
            (
                #"{"kind": "constant", "baseSeconds": 2, "jitter": "proportional", "jitterShare": 0.25}"#,
                .constant(.seconds(2), jitter: .proportional(0.25))
            ),
            (#"{"kind": "linear", "baseSeconds": 1}"#, .linear(.seconds(1))),
            (
                #"{"kind": "linear", "baseSeconds": 1, "capSeconds": 3, "jitter": "full"}"#,
                .linear(.seconds(1), cap: .seconds(3), jitter: .full)
            ),
            (#"{"kind": "exponential"}"#, .exponential()),
            (#"{"kind": "exponential", "factor": 3}"#, .exponential(factor: 3)),
            (#"{"kind": "exponential", "jitter": "decorrelated"}"#, .exponential(jitter: .decorrelated)),
            (#"{"kind": "exponential", "jitter": "none"}"#, .exponential(jitter: .none)),
            (#"{"kind": "sequence", "sequenceSeconds": [3]}"#, .sequence([.seconds(3)])),
            (
                #"{"kind": "sequence", "sequenceSeconds": [3], "atEnd": "stop", "jitter": "full"}"#,
                .sequence([.seconds(3)], atEnd: .stop, jitter: .full)
            ),
            (#"{"kind": "constant", "baseSeconds": 1e300}"#, .constant(.nanoseconds(Int64.max))),
        ])
    func backoffs(json: String, backoff: Backoff) throws {
        #expect(try decoded(json) == backoff)
        #expect(try JSONDecoder().decode(Backoff.self, from: JSONEncoder().encode(backoff)) == backoff)
    }

    @Test(
        "a rule is decoded from a file",
        arguments: [
            (#"{"kind": "consecutiveFailures"}"#, ConsecutiveFailures.standard),
            (#"{"kind": "consecutiveFailures", "limit": 3}"#, ConsecutiveFailures.consecutiveFailures(3)),
            (
                #"{"kind": "consecutiveFailures", "limit": 3, "failing": ["throttled"], "healthy": ["success"]}"#,
                ConsecutiveFailures.consecutiveThrottles(3)
            ),
            (#"{"kind": "failureRatio", "ratio": 0.5}"#, FailuresInWindow.failureRatio(0.5)),
            (
                #"{"kind": "failureRatio", "ratio": 0.5, "window": {"lengthSeconds": 10}, "minimumCalls": 4}"#,
                FailuresInWindow.failureRatio(0.5, over: .time(.seconds(10)), minimumCalls: 4)
            ),
            (
                #"{"kind": "failures", "count": 7, "window": {"lengthSeconds": 10, "buckets": 5}, "failing": ["transient"]}"#,
                FailuresInWindow.failures(7, over: .time(.seconds(10), buckets: 5), failing: .transient)
            ),
            (
                #"{"kind": "failureRatio", "ratio": 0.5, "failing": ["throttled"], "healthy": ["permanent"]}"#,
                FailuresInWindow(
                    .ratio(0.5), over: .calls(100), minimumCalls: 10, failing: .throttled, healthy: .permanent)
            ),
            (
                #"{"kind": "slowCalls", "slownessSeconds": 2, "ratio": 0.5}"#,
                SlowCalls.slowCalls(0.5, longerThan: .seconds(2))
            ),
            (
                #"{"kind": "slowCalls", "slownessSeconds": 2, "count": 5, "window": {"calls": 50}, "minimumCalls": 20}"#,
                SlowCalls(.count(5), longerThan: .seconds(2), over: .calls(50), minimumCalls: 20)
            ),
            (
                #"{"kind": "anyOf", "rules": [{"kind": "consecutiveFailures"}, {"kind": "failureRatio", "ratio": 1}]}"#,
                CombinedRule.anyOf(.consecutiveFailures(5), .failureRatio(1))
            ),
            (
                #"{"kind": "allOf", "rules": [{"kind": "consecutiveFailures", "limit": 2}]}"#,
                CombinedRule.allOf(.consecutiveFailures(2))
            ),
        ] as [(String, any TripRule)])
    func rules(json: String, rule: any TripRule) throws {
        let configuration: CircuitBreaker.Settings = try decoded(#"{"tripping": \#(json)}"#)
        #expect(TripRuleSettings(configuration.rule) == TripRuleSettings(rule))
        #expect("\(configuration.rule)" == "\(rule)")
        #expect(try decoded(String(decoding: JSONEncoder().encode(configuration), as: UTF8.self)) == configuration)
    }

    @Test(
        "a break is decoded from a file",
        arguments: [
            (#"{"kind": "constant", "lengthSeconds": 30}"#, ConstantBreak.constant(.seconds(30))),
            (#"{"kind": "exponential"}"#, GrowingBreak.exponential()),
            (
                #"{"kind": "exponential", "baseSeconds": 5, "maxMultiplier": 4, "capSeconds": 15}"#,
                GrowingBreak.exponential(from: .seconds(5), maxMultiplier: 4, cap: .seconds(15))
            ),
            (#"{"kind": "linear"}"#, GrowingBreak.linear()),
            (
                #"{"kind": "linear", "baseSeconds": 5, "capSeconds": 15}"#,
                GrowingBreak.linear(from: .seconds(5), cap: .seconds(15))
            ),
            (#"{"kind": "retryAfter"}"#, RetryAfterBreak.retryAfter()),
            (
                #"{"kind": "retryAfter", "otherwise": {"kind": "linear"}, "capSeconds": 60}"#,
                RetryAfterBreak.retryAfter(otherwise: .linear(), cap: .seconds(60))
            ),
            (
                #"{"kind": "jittered", "break": {"kind": "constant", "lengthSeconds": 30}}"#,
                ConstantBreak.constant(.seconds(30)).jittered()
            ),
            (
                #"{"kind": "jittered", "break": {"kind": "retryAfter"}, "jitterShare": 0.5}"#,
                RetryAfterBreak.retryAfter().jittered(by: 0.5)
            ),
        ] as [(String, any BreakDuration)])
    func breaks(json: String, length: any BreakDuration) throws {
        let configuration: CircuitBreaker.Settings = try decoded(#"{"openFor": \#(json)}"#)
        #expect(BreakSettings(configuration.openFor) == BreakSettings(length))
        #expect("\(configuration.openFor)" == "\(length)")
        #expect(try decoded(String(decoding: JSONEncoder().encode(configuration), as: UTF8.self)) == configuration)
    }

    @Test("a breaker is decoded from a file")
    func breaker() throws {
        let configuration: CircuitBreaker.Settings = try decoded(
            """
            {"probes": 2, "closing": {"successes": 3, "probes": 5}, "probeLeaseSeconds": 10, "excessWaitsSeconds": 0.5,
             "rampSeconds": 20, "openFor": {"kind": "constant", "lengthSeconds": 30}, "mode": "disabled"}
            """)
        let expected = CircuitBreaker.Settings(
            openFor: .seconds(30), probes: 2, closing: .successes(3, of: 5), probeLease: .seconds(10),
            excess: .waits(upTo: .milliseconds(500)), ramp: .seconds(20), mode: .disabled)
        #expect(configuration == expected && CircuitBreaker(settings: configuration).mode == .disabled)
        let literal = ThreeStateCircuit(
            openFor: .seconds(30), probes: 2, closing: .successes(3, of: 5), probeLease: .seconds(10),
            excess: .waits(upTo: .milliseconds(500)), ramp: .seconds(20))
        #expect(configuration.circuit.description == literal.description)
        #expect(configuration.circuit.ramp == literal.ramp && configuration.circuit.probeLease == literal.probeLease)
        #expect(try decoded(String(decoding: JSONEncoder().encode(configuration), as: UTF8.self)) == configuration)
        #expect(try decoded(#"{"successes": 2}"#) == ProbeRule.successes(2))
    }

    @Test("a bulkhead, a throttle and timeouts are decoded from files, and encoded")
    func others() throws {
        let bulkhead: Bulkhead.Settings = try decoded(
            #"{"limit": 4, "queue": 9, "order": "byPriority", "maxWaitSeconds": 2, "predictsWait": false}"#)
        #expect(
            bulkhead
                == Bulkhead.Settings(
                    limit: 4, queue: 9, order: .byPriority, maxWait: .seconds(2), predictsWait: false))
        let made = Bulkhead(settings: bulkhead)
        #expect(made.status.limit == 4 && made.status.queueLimit == 9 && made.settings == bulkhead)
        #expect(try JSONDecoder().decode(Bulkhead.Settings.self, from: JSONEncoder().encode(bulkhead)) == bulkhead)

        let throttle: Throttle.Settings = try decoded(
            """
            {"limit": {"kind": "rate", "calls": 10, "periodSeconds": 60, "burst": 3}, "maxWaitSeconds": 5,
             "queue": 7, "holdOnThrottled": true, "holdBackoff": {"kind": "constant", "baseSeconds": 2},
             "maxHoldSeconds": 100, "rampSeconds": 8}
            """)
        let literal = Throttle(
            limit: .perMinute(10, burst: 3), maxWait: .seconds(5), queue: 7, holdOnThrottled: true,
            holdBackoff: .constant(.seconds(2)), maxHold: .seconds(100), ramp: .seconds(8))
        #expect(Throttle(settings: throttle).settings == literal.settings)
        #expect(Throttle(settings: throttle).canBeReconfigured(like: literal))
        #expect(Throttle(settings: throttle).description == literal.description)
        #expect(try JSONDecoder().decode(Throttle.Settings.self, from: JSONEncoder().encode(throttle)) == throttle)

        let timeout: Timeout.Settings = try decoded(#"{"limitSeconds": 0.25}"#)
        #expect(Timeout(settings: timeout).limit == .milliseconds(250))
        #expect(AbandoningTimeout(limit: timeout.limit).limit == .milliseconds(250))
        #expect(try JSONDecoder().decode(Timeout.Settings.self, from: JSONEncoder().encode(timeout)) == timeout)
    }

    @Test(
        "a limit is decoded from a file, and encoded",
        arguments: [
            (#"{"kind": "unlimited"}"#, ThrottleLimit.unlimited),
            (#"{"kind": "rate", "calls": 5, "periodSeconds": 1}"#, .perSecond(5)),
            (#"{"kind": "slidingWindow", "calls": 5, "periodSeconds": 60}"#, .slidingWindow(5, per: .seconds(60))),
            (#"{"kind": "fixedWindow", "calls": 5, "periodSeconds": 60}"#, .fixedWindow(5, per: .seconds(60))),
        ])
    func limits(json: String, limit: ThrottleLimit) throws {
        #expect(try decoded(json) == limit)
        #expect(try JSONDecoder().decode(ThrottleLimit.self, from: JSONEncoder().encode(limit)) == limit)
    }

    @Test("settings that contain code, or an instant of this process, can't be encoded")
    func notWritten() {
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(Backoff.custom { _, _ in .zero }) }
        #expect(throws: EncodingError.self) {
            try JSONEncoder().encode(ThrottleLimit.fixedWindow(1, per: .seconds(1), from: .distantPast))
        }
    }

    // MARK: Invalid settings

    @Test(
        "an invalid setting is thrown with its path, value and range",
        arguments: [
            (#"{"retry": {"maxRetries": -1}}"#, ["Retry: all.retry.maxRetries is -1, and must not be negative"]),
            (
                #"{"retry": {"maxElapsedSeconds": -1, "retryAfterCeilingSeconds": -2}}"#,
                [
                    "Retry: all.retry.maxElapsedSeconds is -1 s, and must not be negative",
                    "Retry: all.retry.retryAfterCeilingSeconds is -2 s, and must not be negative",
                ]
            ),
            (
                #"{"retry": {"backoff": {"kind": "exponentail"}}}"#,
                [
                    #"Backoff: all.retry.backoff.kind is "exponentail", and must be one of constant, linear, exponential, sequence"#
                ]
            ),
            (
                #"{"retry": {"backoff": {}}}"#, ["Backoff: all.retry.backoff.kind is missing, and must be given"]
            ),
            (
                #"{"retry": {"backoff": {"kind": "exponential", "baseSeconds": -3, "factor": 0.5}}}"#,
                [
                    "Backoff: all.retry.backoff.factor is 0.5, and must be finite and at least 1",
                    "Backoff: all.retry.backoff.baseSeconds is -3 s, and must not be negative",
                ]
            ),
            (
                #"{"retry": {"backoff": {"kind": "constant", "baseSeconds": -3}}}"#,
                ["Backoff: all.retry.backoff.baseSeconds is -3 s, and must not be negative"]
            ),
            (
                #"{"retry": {"backoff": {"kind": "constant", "baseSeconds": 3, "factor": 2}}}"#,
                [
                    "Backoff: all.retry.backoff.factor is given, and is no setting: there are kind, baseSeconds, jitter, jitterShare"
                ]
            ),
            (
                #"{"retry": {"backoff": {"kind": "exponential", "jitter": "proportional", "jitterShare": 2}}}"#,
                ["Backoff: all.retry.backoff.jitterShare is 2.0, and must lie in 0...1"]
            ),
            (
                #"{"retry": {"verdicts": ["transient", "broken"]}}"#,
                [
                    #"Retry: all.retry.verdicts is "broken", and must be one of success, transient, uncertain, throttled, permanent, rejected, cancelled"#
                ]
            ),
            (
                #"{"retry": {"verdicts": ["success"]}}"#,
                ["Retry: all.retry.verdicts is success, and must have neither success nor cancelled among them"]
            ),
            (
                #"{"timeout": {"limitSeconds": 0}}"#,
                ["Timeout: all.timeout.limitSeconds is 0 s, and must be above zero"]
            ),
            (
                #"{"timeout": {"limit": 5}}"#,
                [
                    "Timeout: all.timeout.limitSeconds is missing, and must be given",
                    "Timeout: all.timeout.limit is given, and is no setting: there are limitSeconds, enforcedBy",
                ]
            ),
            (
                #"{"bulkhead": {"limit": 0, "queue": -1}}"#,
                [
                    "Bulkhead: all.bulkhead.limit is 0, and must be at least 1",
                    "Bulkhead: all.bulkhead.queue is -1, and must not be negative",
                ]
            ),
            (#"{"bulkhead": {"queue": 3}}"#, ["Bulkhead: all.bulkhead.limit is missing, and must be given"]),
            (
                #"{"bulkhead": {"limit": 1, "order": "random"}}"#,
                [
                    #"Bulkhead: all.bulkhead.order is "random", and must be one of firstInFirstOut, lastInFirstOut, byPriority"#
                ]
            ),
            (
                #"{"throttle": {"limit": {"kind": "rate", "calls": 0, "periodSeconds": 0, "burst": 0}}}"#,
                [
                    "ThrottleLimit: all.throttle.limit.calls is 0, and must be at least 1",
                    "ThrottleLimit: all.throttle.limit.periodSeconds is 0 s, and must be above zero",
                    "ThrottleLimit: all.throttle.limit.burst is 0, and must be at least 1",
                ]
            ),
            (
                #"{"throttle": {"limit": {"kind": "unlimited"}, "maxHoldSeconds": -1, "rampSeconds": -1}}"#,
                [
                    "Throttle: all.throttle.maxHoldSeconds is -1 s, and must not be negative",
                    "Throttle: all.throttle.rampSeconds is -1 s, and must not be negative",
                ]
            ),
            (
                #"{"breaker": {"tripping": {"kind": "anyOf", "rules": [{"kind": "failureRatio", "ratio": 2}]}}}"#,
                [
                    "TripRule: all.breaker.tripping.rules.0.ratio is 2.0, and must be above 0 and at most 1"
                ]
            ),
            (
                #"{"breaker": {"tripping": {"kind": "allOf", "rules": []}}}"#,
                ["TripRule: all.breaker.tripping.rules is [], and must have at least one rule"]
            ),
            (
                #"{"breaker": {"tripping": {"kind": "failures", "count": 5, "window": {"calls": 2}}}}"#,
                [
                    "TripRule: all.breaker.tripping.count is 5, and must be at most 2, the calls of the window"
                ]
            ),
            (
                #"{"breaker": {"openFor": {"kind": "constant", "lengthSeconds": -1}}}"#,
                ["BreakDuration: all.breaker.openFor.lengthSeconds is -1 s, and must not be negative"]
            ),
            (
                #"{"breaker": {"probes": 2}}"#, ["CircuitBreaker: all.breaker.probes is 2, and must lie in 1...1"]
            ),
            (
                #"{"breaker": {"excessWaitsSeconds": 0}}"#,
                ["CircuitBreaker: all.breaker.excessWaitsSeconds is 0 s, and must be above zero"]
            ),
            (
                #"{"breaker": {"closing": {"successes": 3, "probes": 2}}}"#,
                ["ProbeRule: all.breaker.closing.successes is 3, and must lie in 1...2"]
            ),
            (
                #"{"breaker": {"openFro": {}}}"#,
                [
                    "CircuitBreaker: all.breaker.openFro is given, and is no setting: there are tripping, openFor, probes, closing, probeLeaseSeconds, excessWaitsSeconds, rampSeconds, mode"
                ]
            ),
        ])
    func invalid(json: String, texts: [String]) {
        let found = problems { _ = try decoded(#"{"all": \#(json)}"#, as: [String: All].self) }
        #expect(Set(found) == Set(texts) && found.count == texts.count, "\(found)")
    }

    @Test("without a surrounding path, a setting's path is its name")
    func root() {
        #expect(
            problems { _ = try decoded(#"{"limit": 0, "quue": 1}"#, as: Bulkhead.Settings.self) } == [
                "Bulkhead: quue is given, and is no setting: there are limit, queue, order, maxWaitSeconds, predictsWait, shedding",
                "Bulkhead: limit is 0, and must be at least 1",
            ])
        #expect(
            problems {
                _ = try decoded(#"{"maxRetries": 1, "backoff": {"kind": "linear"}}"#, as: Retry.Settings.self)
            }
                == ["Backoff: backoff.baseSeconds is missing, and must be given"])
    }

    @Test(
        "a value of another type is reported with its path",
        arguments: [
            (#"{"maxRetries": "three"}"#, #"Retry: a.maxRetries is "three", and must be a whole number of 64 bits"#),
            (#"{"maxRetries": 1e20}"#, "Retry: a.maxRetries is 1e+20, and must be a whole number of 64 bits"),
            (#"{"maxRetries": true}"#, "Retry: a.maxRetries is true, and must be a whole number of 64 bits"),
            (#"{"maxRetries": 1.5}"#, "Retry: a.maxRetries is 1.5, and must be a whole number of 64 bits"),
            (#"{"wrapsLastError": 1}"#, "Retry: a.wrapsLastError is 1, and must be true or false"),
            (
                #"{"maxElapsedSeconds": "5s"}"#,
                #"Retry: a.maxElapsedSeconds is "5s", and must be a number of seconds"#
            ),
            (#"{"verdicts": 3}"#, "Retry: a.verdicts is 3, and must be a list of names"),
            (#"{"backoff": 3}"#, "Backoff: a.backoff is 3, and must be settings with names"),
            (#"{"backoff": {"kind": 3}}"#, "Backoff: a.backoff.kind is 3, and must be a text"),
            (
                #"{"backoff": {"kind": "exponential", "factor": "2"}}"#,
                #"Backoff: a.backoff.factor is "2", and must be a number"#
            ),
            (
                #"{"backoff": {"kind": "sequence", "sequenceSeconds": 1}}"#,
                "Backoff: a.backoff.sequenceSeconds is 1, and must be a list of numbers"
            ),
        ])
    func otherType(json: String, text: String) {
        #expect(problems { _ = try decoded(#"{"a": \#(json)}"#, as: [String: Retry.Settings].self) } == [text])
    }

    @Test(
        "one invalid setting hides no other",
        arguments: [
            (
                #"{"retry": {"maxRetries": -1, "maxElapsedSeconds": -1, "backoff": {"kind": "exponential", "factor": 0}, "throttledBackoff": {"kind": "linear", "baseSeconds": -1}}}"#,
                [
                    "retry.backoff.factor", "retry.maxElapsedSeconds", "retry.maxRetries",
                    "retry.throttledBackoff.baseSeconds",
                ]
            ),
            (
                #"{"retry": {"verdicts": ["bad", "worse"], "maxRetires": 1, "maxRetries": "x"}}"#,
                ["retry.maxRetires", "retry.maxRetries", "retry.verdicts", "retry.verdicts"]
            ),
            (
                #"{"bulkhead": {"queue": -1, "maxWaitSeconds": -1}}"#,
                ["bulkhead.limit", "bulkhead.maxWaitSeconds", "bulkhead.queue"]
            ),
            (
                #"{"bulkhead": {"limit": 0, "queue": -1, "order": "x"}}"#,
                ["bulkhead.limit", "bulkhead.order", "bulkhead.queue"]
            ),
            (
                #"{"throttle": {"limit": {"kind": "rate", "calls": 0, "periodSeconds": 0}, "maxWaitSeconds": -1}}"#,
                ["throttle.limit.calls", "throttle.limit.periodSeconds", "throttle.maxWaitSeconds"]
            ),
            (
                #"{"breaker": {"tripping": {"kind": "anyOf", "rules": [{"kind": "consecutiveFailures", "limit": 0}]}, "openFor": {"kind": "jittered", "break": {"kind": "linear", "baseSeconds": -1}, "jitterShare": 2}, "probes": 5}}"#,
                [
                    "breaker.openFor.break.baseSeconds", "breaker.openFor.jitterShare", "breaker.probes",
                    "breaker.tripping.rules.0.limit",
                ]
            ),
            (
                #"{"breaker": {"closing": {"successes": 0}, "probes": 0, "probeLeaseSeconds": 0, "excessWaitsSeconds": 0, "rampSeconds": -1}}"#,
                [
                    "breaker.closing.successes", "breaker.excessWaitsSeconds", "breaker.probeLeaseSeconds",
                    "breaker.probes", "breaker.rampSeconds",
                ]
            ),
        ])
    func all(json: String, paths: [String]) {
        let found = problemPaths(json)
        #expect(found.sorted() == paths)
    }

    private func problemPaths(_ json: String) -> [String] {
        do {
            _ = try decoded(json, as: All.self)
            return []
        } catch {
            return (error as? InvalidSettings)?.problems.map(\.parameter) ?? ["\(error)"]
        }
    }

    @Test("a problem's path is the path in the file, with the names in the file")
    func paths() {
        #expect(
            problems { _ = try decoded(#"{"007": {"limitSeconds": 0}}"#, as: [String: Timeout.Settings].self) } == [
                "Timeout: 007.limitSeconds is 0 s, and must be above zero"
            ])
        #expect(
            problems { _ = try decoded(#"{"limits": 3}"#, as: Bulkhead.Settings.self) } == [
                "Bulkhead: limits is given, and is no setting: there are limit, queue, order, maxWaitSeconds, predictsWait, shedding",
                "Bulkhead: limit is missing, and must be given",
            ])
        #expect(
            problems {
                _ = try decoded(
                    #"{"limit": {"kind": "unlimited", "limit.foo": 1}}"#, as: Throttle.Settings.self)
            } == ["ThrottleLimit: limit.limit.foo is given, and is no setting: there are kind"])
        #expect(
            problems {
                _ = try decoded(
                    #"{"tripping": {"kind": "failureRatio", "ratio": 1, "window": {"calls": 0}}}"#,
                    as: CircuitBreaker.Settings.self)
            }.first == "CallWindow: tripping.window.calls is 0, and must lie in 1...10000000")
        #expect(
            problems { _ = try decoded(#"["bad"]"#, as: VerdictSet.self) }.first?.hasPrefix(
                #"VerdictSet: value is "bad""#) == true)
    }

    @Test(
        "only invalid settings are reported",
        arguments: [
            (
                #"{"tripping": {"kind": "failureRatio", "ratio": 1, "window": {"calls": "100"}}}"#,
                ["tripping.window.calls"]
            ),
            (#"{"tripping": {"kind": "slowCalls", "slownessSeconds": 1, "count": "3"}}"#, ["tripping.count"]),
            (#"{"tripping": {"kind": "failures", "count": 0, "window": {"calls": 9}}}"#, ["tripping.count"]),
            (
                #"{"tripping": {"kind": "failures", "count": 200, "window": {"calls": "500"}}}"#,
                ["tripping.window.calls"]
            ),
            (
                #"{"tripping": {"kind": "failureRatio", "ratio": 1, "minimumCalls": 200, "window": {"calls": "500"}}}"#,
                ["tripping.window.calls"]
            ),
            (
                #"{"tripping": {"kind": "consecutiveFailures", "failing": ["thrttled"], "healthy": ["transient"]}}"#,
                ["tripping.failing"]
            ),
            (
                #"{"tripping": {"kind": "consecutiveFailures", "failing": ["success"], "healthy": ["wel"]}}"#,
                ["tripping.healthy"]
            ),
            // The default of `minimumCalls` exceeds the window.
            (
                #"{"tripping": {"kind": "failureRatio", "ratio": "x", "window": {"calls": 5}}}"#, ["tripping.ratio"]
            ),
            (#"{"tripping": {"kind": "anyOf", "rules": {"kind": "consecutiveFailures"}}}"#, ["tripping.rules"]),
            (#"{"tripping": {"kind": "anyOf", "rules": [3, null]}}"#, ["tripping.rules.0", "tripping.rules.1"]),
            (
                #"{"tripping": {"kind": "anyOf", "rules": [{"kind": "consecutiveFailures", "limit": 0}, {"kind": "failureRatio", "ratio": 2}]}}"#,
                ["tripping.rules.0.limit", "tripping.rules.1.ratio"]
            ),
            (#"{"probes": 2, "closing": {"successes": 9, "probes": 5}}"#, ["closing.successes"]),
            (#"{"probes": 2, "closing": {"probes": 5}}"#, ["closing.successes"]),
            (#"{"tripping": {"kind": "failureRatio", "ratio": 1, "window": {"calls": 5}}}"#, ["tripping.minimumCalls"]),
            (#"[]"#, ["value"]),
        ])
    func falseAlarms(json: String, paths: [String]) {
        do {
            _ = try decoded(json, as: CircuitBreaker.Settings.self)
            Issue.record("it was read")
        } catch {
            #expect((error as? InvalidSettings)?.problems.map(\.parameter) == paths, "\(error)")
        }
    }

    @Test("an invalid jitter is the only reported problem")
    func jitter() {
        for jitter in [#""proportionl""#, "3"] {
            let json = #"{"kind": "constant", "baseSeconds": 1, "jitter": \#(jitter), "jitterShare": 0.2}"#
            #expect(problems { _ = try decoded(json, as: Backoff.self) }.count == 1)
        }
        #expect(problems { _ = try decoded(#"{"maxRetires": null}"#, as: Retry.Settings.self) }.count == 1)
        #expect(problems { _ = try decoded("3", as: VerdictSet.self) }.count == 1)
    }

    @Test("missing rules and rules that are no list have different messages")
    func noRules() {
        func text(_ json: String) -> [String] {
            problems { _ = try decoded(json, as: CircuitBreaker.Settings.self) }
        }
        #expect(
            text(#"{"tripping": {"kind": "anyOf"}}"#) == ["TripRule: tripping.rules is missing, and must be given"])
        #expect(
            text(#"{"tripping": {"kind": "anyOf", "rules": 7}}"#) == [
                "TripRule: tripping.rules is 7, and must be a list"
            ])
    }

    @Test("the greatest allowed number of rules is decoded")
    func asManyRules() throws {
        let rules = Array(repeating: #"{"kind": "consecutiveFailures"}"#, count: 32).joined(separator: ", ")
        let most = #"{"tripping": {"kind": "anyOf", "rules": [\#(rules)]}}"#
        let configuration: CircuitBreaker.Settings = try decoded(most)
        let same = CombinedRule(.any, of: Array(repeating: ConsecutiveFailures.standard, count: 32))
        #expect(configuration == CircuitBreaker.Settings(tripping: same))
    }

    @Test("too many rules are also rejected in source code")
    func mostRules() throws {
        let rules = Array(repeating: ConsecutiveFailures.standard as any TripRule, count: 33)
        #expect(found(in: CircuitBreaker.Settings(tripping: CombinedRule(.any, of: rules))).count == 1)
        #expect(found(in: CircuitBreaker.Settings(tripping: CombinedRule(.any, of: Array(rules.dropFirst())))) == [])
    }

    @Test("null counts as not given, even for settings that belong to other kinds")
    func null() throws {
        let backoff: Backoff = try decoded(
            #"{"kind": "constant", "baseSeconds": 1, "factor": null, "capSeconds": null, "jitter": null}"#)
        #expect(backoff == .constant(.seconds(1)))
    }

    @Test("a delay that is not a number is rejected")
    func notANumber() {
        let list = Data(
            "<plist><dict><key>kind</key><string>sequence</string><key>sequenceSeconds</key><array><real>nan</real></array></dict></plist>"
                .utf8)
        #expect(
            problems { _ = try PropertyListDecoder().decode(Backoff.self, from: list) } == [
                "Backoff: sequenceSeconds.0 is nan, and must be a number of seconds"
            ])
    }

    @Test("too many rules, and breaks nested too deeply, are rejected before they exhaust memory or the stack")
    func bombs() {
        let leaf = #"{"kind": "failures", "count": 1, "window": {"lengthSeconds": 1, "buckets": 100000}}"#
        let many = "[" + Array(repeating: leaf, count: 33).joined(separator: ",") + "]"
        #expect(
            problems {
                _ = try decoded(
                    #"{"tripping": {"kind": "anyOf", "rules": \#(many)}}"#, as: CircuitBreaker.Settings.self)
            } == ["TripRule: tripping.rules is 33 rules, and must be at most 32, with those inside"])
        for (begin, inner, end) in [
            (#"{"kind": "jittered", "break": "#, #"{"kind": "linear"}"#, "}"),
            (#"{"kind": "retryAfter", "otherwise": "#, #"{"kind": "linear"}"#, "}"),
        ] {
            let json = String(repeating: begin, count: 200) + inner + String(repeating: end, count: 200)
            let found = problems { _ = try decoded(#"{"openFor": \#(json)}"#, as: CircuitBreaker.Settings.self) }
            #expect(found.count == 1 && found[0].contains("is deeper than 32 levels, and must be"))
        }
        let rules =
            String(repeating: #"{"kind": "allOf", "rules": ["#, count: 200) + String(repeating: "]}", count: 200)
        let found = problems { _ = try decoded(#"{"tripping": \#(rules)}"#, as: CircuitBreaker.Settings.self) }
        #expect(found.count == 1 && found[0].contains("is deeper than 32 levels, and must be"))
    }

    @Test("a duration that no file can hold is cut to the nearest one, and never to zero")
    func durations() throws {
        for duration in [Duration(attoseconds: 1), Duration(attoseconds: .max), .seconds(Int64.max), .nanoseconds(3)] {
            let timeout = Timeout.Settings(limit: duration).valid()
            #expect(try JSONDecoder().decode(Timeout.Settings.self, from: JSONEncoder().encode(timeout)) == timeout)
            #expect(timeout.limit == .nanoseconds(duration.saturatedNanoseconds))
            let breaker = CircuitBreaker.Settings(
                tripping: .slowCalls(1, longerThan: duration), openFor: .linear(from: duration, cap: duration))
            #expect(
                try JSONDecoder().decode(CircuitBreaker.Settings.self, from: JSONEncoder().encode(breaker))
                    == breaker)
        }
    }

    @Test("a backoff of .none has a delay of zero, as in the policy's own initializer")
    func none() throws {
        #expect(Retry.Settings(backoff: .none).backoff == Backoff.constant(.zero))
        #expect(
            Throttle.Settings(limit: .unlimited, holdBackoff: .none).holdBackoff == Backoff.constant(.zero))
    }

    @Test("settings can reuse the rule and the break of other settings")
    func changed() throws {
        let one = CircuitBreaker.Settings(tripping: .failureRatio(0.5), openFor: .linear())
        let other = CircuitBreaker.Settings(
            tripping: one.rule, openFor: one.openFor, closing: .successes(2), ramp: .seconds(3))
        #expect(other.rule.description == one.rule.description && other.ramp == .seconds(3) && other != one)
        #expect(found(in: CircuitBreaker.Settings(tripping: one.rule, openFor: one.openFor, probes: 0)).count == 1)
    }

    @Test("a rule's counts are not part of settings, and a rule of another module stays unchanged")
    func counted() throws {
        var rule = ConsecutiveFailures.standard
        rule.ended(CallEnd(.transient, at: .distantPast))
        #expect(CircuitBreaker.Settings(tripping: rule) == CircuitBreaker.Settings())
        let own = CountingRule()
        #expect(found(in: CircuitBreaker.Settings(tripping: own)).count == 1)
        #expect(own.resets.withLock { $0 } == 0)
    }

    @Test("invalid settings in source code, and invalid parts of settings, are thrown")
    func thrown() {
        #expect(
            found(in: Retry.Settings(maxRetries: -1, backoff: .constant(.seconds(-1)), on: .cancelled)) == [
                "Backoff: base is -1 s, and must not be negative", "Retry: maxRetries is -1, and must not be negative",
                "Retry: verdicts is cancelled, and must have neither success nor cancelled among them",
            ])
        #expect(
            found(in: CircuitBreaker.Settings(tripping: .consecutiveFailures(0), closing: .successes(0)))
                == [
                    "TripRule: limit is 0, and must be at least 1",
                    "ProbeRule: successes is 0, and must be at least 1",
                ])
        #expect(
            found(in: Throttle.Settings(limit: .perSecond(0), holdBackoff: .custom { _, _ in .zero }))
                == [
                    "ThrottleRate: calls is 0, and must be at least 1",
                    "Throttle: holdBackoff is custom up to 20 s, and must not be custom, since it is asked under the throttle's lock",
                ])
        #expect(found(in: Timeout.Settings(limit: .zero)).count == 1)
        #expect(found(in: Bulkhead.Settings(limit: 1, maxWait: .seconds(-1))).count == 1)
    }

    @Test("a rule or a break of another module is not allowed in settings")
    func foreign() {
        #expect(
            found(in: CircuitBreaker.Settings(tripping: OwnRule(), openFor: OwnBreak())) == [
                "TripRule: tripping is own rule, and must be a rule of this package",
                "BreakDuration: openFor is own break, and must be a break of this package",
            ])
        #expect(
            found(
                in: CircuitBreaker.Settings(
                    tripping: .anyOf(OwnRule()), openFor: .retryAfter(otherwise: OwnBreak().jittered()))
            ).count == 2)
    }

    @Test("settings checked within a failing check have only their own problems")
    func withinCheck() {
        #expect(
            problems {
                try PolicySettings.checked {
                    _ = Bulkhead(limit: 0)
                    #expect(throws: Never.self) {
                        _ = try PolicySettings.checked { Retry.Settings(maxRetries: 2).valid() }
                    }
                }
            } == ["Bulkhead: limit is 0, and must be at least 1"])
    }
}

private struct All: Decodable {
    var retry: Retry.Settings?
    var timeout: Timeout.Settings?
    var bulkhead: Bulkhead.Settings?
    var throttle: Throttle.Settings?
    var breaker: CircuitBreaker.Settings?
}

private final class CountingRule: TripRule {
    let resets = Locked(0)

    func evidence(of end: CallEnd) -> TripEvidence { .inconclusive }
    func ended(_ end: CallEnd) {}
    func isMet(at now: MonotonicInstant) -> Bool { false }
    func reset() { resets.withLock { $0 += 1 } }
    func counts(at now: MonotonicInstant) -> TripCounts { TripCounts(failureCount: 0) }
    var description: String { "counting rule" }
}

private struct OwnRule: TripRule {
    func evidence(of end: CallEnd) -> TripEvidence { .inconclusive }
    mutating func ended(_ end: CallEnd) {}
    func isMet(at now: MonotonicInstant) -> Bool { false }
    mutating func reset() {}
    func counts(at now: MonotonicInstant) -> TripCounts { TripCounts(failureCount: 0) }
    var description: String { "own rule" }
}

private struct OwnBreak: BreakDuration {
    func duration(of trip: CircuitTrip, using generator: SplitMix64) -> Duration { .zero }
    var description: String { "own break" }
}
