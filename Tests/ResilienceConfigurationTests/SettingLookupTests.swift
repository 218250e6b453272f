#if Configuration
    import Configuration
    import Foundation
    import Resilience
    import ResilienceTraffic
    import ResilienceConfiguration
    import Synchronization
    import TestSupport
    import Testing

    final class CountingReporter: AccessReporter {
        let count = Mutex(0)

        func report(_ event: AccessEvent) { count.withLock { $0 += 1 } }
    }

    @Suite(.responsive) struct SettingLookupTests {
        let path = ["resilience", "pipelines", "search"]
        let key: ConfigKey = "resilience.pipelines.search"

        private func expected() throws -> Pipeline.AllSettings {
            try JSONDecoder().decode(Pipeline.AllSettings.self, from: Data(Configurations.everything.utf8))
        }

        @Test("a JSON file is read as Codable reads it")
        func file() async throws {
            let json = #"{"resilience": {"pipelines": {"search": \#(Configurations.everything)}}}"#
            let reader = try await Configurations.file(json)
            #expect(try Pipeline.AllSettings(from: reader.snapshot(), at: key) == expected())
        }

        @Test("settings in memory are read like the same settings in a file")
        func inMemory() throws {
            let reader = Configurations.reader(try Configurations.inMemory(Configurations.everything, at: path))
            #expect(try Pipeline.AllSettings(from: reader.snapshot(), at: key) == expected())
        }

        @Test("environment variables, which are all texts, are read like the same settings in a file")
        func environment() throws {
            var variables: [String: String] = [:]
            for (key, leaf) in try Configurations.leaves(of: Configurations.everything) {
                let name = Configurations.variable(path + key)
                if case .flag(let flag) = leaf {
                    variables[name] = flag ? "yes" : "no"
                } else {
                    variables[name] = "\(leaf)"
                }
            }
            #expect(variables["RESILIENCE_PIPELINES_SEARCH_RETRY_MAX_RETRIES"] == "5")
            let reader = ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: variables))
            #expect(try Pipeline.AllSettings(from: reader.snapshot(), at: key) == expected())
        }

        @Test("the first provider that has a setting wins, so that an environment variable overrides a file")
        func layers() throws {
            let reader = ConfigReader(providers: [
                EnvironmentVariablesProvider(
                    environmentVariables: ["RESILIENCE_PIPELINES_SEARCH_BULKHEAD_LIMIT": "3"]),
                InMemoryProvider(values: try Configurations.inMemory(Configurations.everything, at: path)),
            ])
            let configuration = try Pipeline.AllSettings(from: reader.snapshot(), at: key)
            #expect(configuration.bulkhead?.limit == 3 && configuration.bulkhead?.queue == 64)
        }

        @Test("with a scoped reader, settings are read below its scope")
        func scoped() throws {
            let reader = Configurations.reader(try Configurations.inMemory(Configurations.everything, at: path))
            let scoped = reader.scoped(to: "resilience").snapshot()
            #expect(try Pipeline.AllSettings(from: scoped, at: "pipelines.search") == expected())
        }

        @Test("a pool's settings are read, and missing ones have their defaults")
        func endpointPool() throws {
            let reader = ConfigReader(
                provider: EnvironmentVariablesProvider(environmentVariables: [
                    "RESILIENCE_POOLS_SEARCH_CHOICE": "roundRobin",
                    "RESILIENCE_POOLS_SEARCH_EJECTION_MAX_EJECTED": "0.3",
                    "RESILIENCE_POOLS_SEARCH_EJECTION_FAILURE_SHARE_LIMIT": "0.5",
                    "RESILIENCE_POOLS_BROKEN_SLOW_START_FROM": "0",
                ]))
            let expected = EndpointPoolSettings(
                choosing: .roundRobin, ejecting: OutlierEjection(failureShare: .init(0.5), maxEjected: 0.3))
            #expect(
                try EndpointPoolSettings(from: reader.snapshot(), at: "resilience.pools.search") == expected)
            #expect(
                try EndpointPoolSettings(from: reader.snapshot(), at: "resilience.pools.other")
                    == EndpointPoolSettings())
            let error = #expect(throws: InvalidSettings.self) {
                try EndpointPoolSettings(from: reader.snapshot(), at: "resilience.pools.broken")
            }
            #expect(error?.problems.map(\.parameter) == ["resilience.pools.broken.slowStart.from"])
        }

        @Test("rules inside rules are named 0, 1, 2, …")
        func rules() throws {
            let configuration = try Configurations.pipeline([
                "circuitBreaker.tripping.kind": "anyOf",
                "circuitBreaker.tripping.rules.0.kind": "consecutiveFailures",
                "circuitBreaker.tripping.rules.0.limit": 7,
                "circuitBreaker.tripping.rules.1.kind": "allOf",
                "circuitBreaker.tripping.rules.1.rules.0.kind": "failureRatio",
                "circuitBreaker.tripping.rules.1.rules.0.ratio": 0.5,
                "circuitBreaker.tripping.rules.1.rules.1.kind": "slowCalls",
                "circuitBreaker.tripping.rules.1.rules.1.slownessSeconds": 2,
                "circuitBreaker.tripping.rules.1.rules.1.ratio": 1,
            ])
            let expected = CircuitBreaker.Settings(
                tripping: .anyOf(
                    .consecutiveFailures(7),
                    .allOf(.failureRatio(0.5), .slowCalls(1.0, longerThan: .seconds(2)))))
            #expect(configuration.circuitBreaker == expected)
        }

        @Test("a gap in the numbers of rules is an error, so that no later rule is ignored")
        func ruleGap() {
            let problems = Configurations.problems([
                "circuitBreaker.tripping.kind": "anyOf",
                "circuitBreaker.tripping.rules.0.kind": "consecutiveFailures",
                "circuitBreaker.tripping.rules.2.kind": "consecutiveFailures",
                "circuitBreaker.tripping.rules.2.limit": 3,
            ])
            #expect(problems.count == 1 && problems.first?.contains("rules.1") == true, "\(problems)")
        }

        @Test("a list of policies turns policies off, or on with their defaults")
        func listed() throws {
            let on = try Configurations.pipeline([
                "policies": .init(.stringArray(["circuitBreaker", "retry"]), isSecret: false), "bulkhead.limit": 3,
            ])
            #expect(on == Pipeline.AllSettings(retry: .init(), circuitBreaker: .init()))
            #expect(on.policies == ["retry", "circuitBreaker"])
            let off = ConfigReader(
                provider: EnvironmentVariablesProvider(environmentVariables: [
                    "RESILIENCE_PIPELINES_SEARCH_POLICIES": "", "RESILIENCE_PIPELINES_SEARCH_BULKHEAD_LIMIT": "3",
                ]))
            #expect(try Pipeline.AllSettings(from: off.snapshot(), at: key).policies == [])
        }

        @Test(
            "an invalid setting is reported with its path, its value and the requirement",
            arguments: [
                (["bulkhead.limit": 0], "Bulkhead: P.bulkhead.limit is 0, and must be at least 1"),
                (["bulkhead.limit": -9], "Bulkhead: P.bulkhead.limit is -9, and must be at least 1"),
                (
                    ["bulkhead.limit": "many"],
                    #"Bulkhead: P.bulkhead.limit is "many", and must be a whole number of 64 bits"#
                ),
                (["bulkhead.limit": 1.5], "Bulkhead: P.bulkhead.limit is 1.5, and must be a whole number of 64 bits"),
                (
                    ["bulkhead.limit": 1e300],
                    "Bulkhead: P.bulkhead.limit is 1e+300, and must be a whole number of 64 bits"
                ),
                (["bulkhead.limit": true], "Bulkhead: P.bulkhead.limit is true, and must be a whole number of 64 bits"),
                (["bulkhead.queue": 1], "Bulkhead: P.bulkhead.limit is missing, and must be given"),
                (
                    ["attemptTimeout.limitSeconds": .init(.double(.nan), isSecret: false)],
                    "Timeout: P.attemptTimeout.limitSeconds is nan, and must be a number of seconds"
                ),
                (
                    ["timeout.limitSeconds": "5s"],
                    #"Timeout: P.timeout.limitSeconds is "5s", and must be a number of seconds"#
                ),
                (["timeout": 5], "Timeout: P.timeout is 5, and must be settings with names"),
                (
                    ["bulkhead.limit": 1, "bulkhead.order": "random"],
                    #"Bulkhead: P.bulkhead.order is "random", and must be one of firstInFirstOut, lastInFirstOut, byPriority"#
                ),
                (
                    ["bulkhead.limit": 1, "bulkhead.predictsWait": 1],
                    "Bulkhead: P.bulkhead.predictsWait is 1, and must be true or false"
                ),
                (
                    ["policies": .init(.stringArray(["bulkhed"]), isSecret: false)],
                    #"Pipeline: P.policies.0 is "bulkhed", and must be one of timeout, retry, hedge, adaptiveThrottle, circuitBreaker, throttle, bulkhead, adaptiveBulkhead, attemptTimeout, chaos"#
                ),
                (
                    ["policies": .init(.stringArray(["throttle"]), isSecret: false)],
                    "Pipeline: P.throttle is missing, and must be given, since policies lists it"
                ),
                (["policies": "retry"], #"Pipeline: P.policies is "retry", and must be a list of names"#),
                ([:], "Pipeline: P.policies is missing, and must be given if no policy has settings"),
                (
                    ["retry.backoff.kind": "sequence", "retry.backoff.sequenceSeconds": "1,2"],
                    #"Backoff: P.retry.backoff.sequenceSeconds is "1,2", and must be a list of numbers"#
                ),
                (
                    ["retry.backoff.capSeconds": 3], "Backoff: P.retry.backoff.kind is missing, and must be given"
                ),
                (
                    ["circuitBreaker.openFor.otherwise": "constant"],
                    "BreakDuration: P.circuitBreaker.openFor.kind is missing, and must be given"
                ),
            ] as [([String: ConfigValue], String)])
        func invalid(values: [String: ConfigValue], problem: String) {
            let expected = problem.replacing("P.", with: "resilience.pipelines.p.", maxReplacements: 1)
            #expect(Configurations.problems(values) == [expected])
        }

        @Test("all invalid settings are reported at once")
        func all() {
            let problems = Configurations.problems([
                "bulkhead.limit": 0, "retry.maxRetries": -1, "timeout.limitSeconds": 0,
                "circuitBreaker.tripping.kind": "failureRatio", "circuitBreaker.tripping.ratio": 2,
            ])
            #expect(problems.count == 4, "\(problems)")
        }

        @Test(
            "a duration without its unit, or in milliseconds, is not a setting",
            arguments: [
                ("timeout.limit", "timeout.limitSeconds"), ("retry.maxElapsedMilliseconds", "retry.maxRetries"),
                ("circuitBreaker.ramp", "circuitBreaker.probes"), ("bulkhead.maxWaitMilliseconds", "bulkhead.limit"),
            ])
        func misspelt(name: String, other: String) {
            let problems = Configurations.problems([name: "200ms"])
            let isNamed = problems.contains {
                $0.contains("resilience.pipelines.p.\(name) is given, and is no setting")
            }
            #expect(isNamed && problems.joined().contains(other.split(separator: ".")[1]), "\(problems)")
        }

        @Test("a number in a file is not a Boolean, even if the provider reports a Boolean")
        func numbersAsBooleans() async throws {
            let reader = try await Configurations.file(#"{"bulkhead": {"limit": 3, "predictsWait": 7}}"#)
            let error = #expect(throws: InvalidSettings.self) {
                try Pipeline.AllSettings(from: reader.snapshot(), at: ConfigKey([]))
            }
            #expect(
                error?.problems.map(\.description) == [
                    "Bulkhead: bulkhead.predictsWait is 7, and must be true or false"
                ])
        }

        @Test("a provider's failure is an error with the path and the reason, and does not count as an absent setting")
        func failing() throws {
            let provider = FailingProvider(MutableInMemoryProvider(initialValues: [:]), values: true)
            let error = #expect(throws: InvalidSettings.self) {
                try Pipeline.AllSettings(from: ConfigReader(provider: provider).snapshot(), at: key)
            }
            let problems = error?.problems ?? []
            #expect(problems.count == 1 && problems.first?.parameter == "resilience.pipelines.search", "\(problems)")
        }

        @Test("reading a pipeline's settings takes at most a few hundred requests")
        func lookups() throws {
            let counter = CountingReporter()
            let values = try Configurations.inMemory(Configurations.everything, at: path)
            let reader = ConfigReader(provider: InMemoryProvider(values: values), accessReporter: counter)
            _ = try Pipeline.AllSettings(from: reader.snapshot(), at: key)
            let count = counter.count.withLock { $0 }
            #expect(100...400 ~= count, "\(count)")
        }

        @Test("rules a thousand levels deep, and a thousand rules, are errors")
        func deep() throws {
            var values: [String: ConfigValue] = [:]
            var rule = "circuitBreaker.tripping"
            for _ in 0..<1000 {
                values["\(rule).kind"] = "anyOf"
                rule += ".rules.0"
            }
            #expect(!Configurations.problems(values).isEmpty)
            values = ["circuitBreaker.tripping.kind": "anyOf"]
            for index in 0..<1000 { values["circuitBreaker.tripping.rules.\(index).kind"] = "consecutiveFailures" }
            #expect(!Configurations.problems(values).isEmpty)
        }
    }
#endif
