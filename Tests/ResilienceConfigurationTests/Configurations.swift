#if Configuration
    import Configuration
    import Foundation
    import Resilience
    import ResilienceTraffic
    import ResilienceConfiguration
    import Synchronization

    /// Configurations for tests.
    enum Configurations {
        /// Settings of every policy, as JSON, which is also a file's content.
        static let everything = """
            {
                "timeout": {"limitSeconds": 30},
                "retry": {
                    "maxRetries": 5, "maxElapsedSeconds": 30, "retryAfterCeilingSeconds": 60, "wrapsLastError": true,
                    "verdicts": ["transient", "throttled"],
                    "backoff": {
                        "kind": "exponential", "baseSeconds": 0.1, "factor": 2.5, "capSeconds": 10, "jitter": "full"
                    },
                    "throttledBackoff": {"kind": "sequence", "sequenceSeconds": [1, 5.5, 30], "atEnd": "stop"}
                },
                "hedge": {
                    "delay": {"kind": "percentile", "percentile": 0.99, "atLeastSeconds": 0.005, "minimumSamples": 50},
                    "maxHedges": 2, "verdicts": ["transient"]
                },
                "adaptiveThrottle": {
                    "multiplier": 1.5, "windowSeconds": 30, "minimumCalls": 5, "maxRejection": 0.8, "failing": ["throttled"]
                },
                "circuitBreaker": {
                    "tripping": {
                        "kind": "failureRatio", "ratio": 0.5, "window": {"calls": 100}, "minimumCalls": 10,
                        "failing": ["transient"], "healthy": ["success", "permanent"]
                    },
                    "openFor": {
                        "kind": "retryAfter", "capSeconds": 600,
                        "otherwise": {
                            "kind": "jittered", "jitterShare": 0.1, "break": {"kind": "constant", "lengthSeconds": 30}
                        }
                    },
                    "probes": 2, "closing": {"successes": 3, "probes": 5},
                    "probeLeaseSeconds": 45, "excessWaitsSeconds": 2, "rampSeconds": 20, "mode": "observing"
                },
                "throttle": {
                    "limit": {"kind": "rate", "calls": 10, "periodSeconds": 1, "burst": 20},
                    "maxWaitSeconds": 5, "queue": 100, "holdOnThrottled": false,
                    "holdBackoff": {
                        "kind": "constant", "baseSeconds": 1, "jitter": "proportional", "jitterShare": 0.25
                    },
                    "maxHoldSeconds": 900, "rampSeconds": 10
                },
                "bulkhead": {
                    "limit": 16, "queue": 64, "order": "byPriority", "maxWaitSeconds": 2, "predictsWait": true,
                    "shedding": {"targetSeconds": 0.02, "intervalSeconds": 1}
                },
                "adaptiveBulkhead": {
                    "limit": {
                        "kind": "vegas", "initial": 16, "lowest": 2, "highest": 90, "leastQueue": 0.1, "mostQueue": 0.2,
                        "windowSeconds": 0.5, "slowAfterSeconds": 3, "verdicts": ["throttled", "transient"]
                    },
                    "queue": 64, "order": "byPriority", "maxWaitSeconds": 2, "predictsWait": true,
                    "shedding": {"targetSeconds": 0.02, "intervalSeconds": 1}
                },
                "attemptTimeout": {"limitSeconds": 0.2},
                "chaos": {
                    "until": "2020-01-02T03:04:05Z", "faultRate": 0.1, "faultVerdict": "throttled", "faultAfterSeconds": 0.5,
                    "lostAnswerRate": 0.05, "delayRate": 0.2, "delaySeconds": 0.25, "maxDelaySeconds": 2.5,
                    "cancellationRate": 0.01, "script": ["fault", "none", "lostAnswer"], "tags": ["game-day"],
                    "maxPriority": 5, "limit": 1000, "maxDelayed": 20
                }
            }
            """

        /// The leaves of a JSON object, by their paths.
        static func leaves(of json: String) throws -> [[String]: JSONValue] {
            var leaves: [[String]: JSONValue] = [:]
            func add(_ value: JSONValue, at path: [String]) {
                guard case .object(let members) = value else { return leaves[path] = value }
                for (name, member) in members { add(member, at: path + [name]) }
            }
            add(try JSONValue(json), at: [])
            return leaves
        }

        /// The value of a JSON leaf, for a provider in memory.
        static func value(_ leaf: JSONValue) -> ConfigValue {
            let content: ConfigContent =
                switch leaf {
                case .flag(let flag): .bool(flag)
                case .whole(let whole): .int(whole)
                case .number(let number): .double(number)
                case .text(let text): .string(text)
                case .list(let list):
                    if case .text = list.first {
                        .stringArray(list.map(\.description))
                    } else {
                        .doubleArray(list.compactMap { Double($0.description) })
                    }
                case .object: .string("\(leaf)")
                }
            return ConfigValue(content, isSecret: false)
        }

        /// All settings of `everything`, by their paths.
        static let sound: [[String]: ConfigValue] = (try? leaves(of: everything).mapValues(value)) ?? [:]

        /// The variable of the environment that has the value at a path.
        static func variable(_ path: [String]) -> String {
            path.map { part in
                part.map { $0.isUppercase ? "_\($0)" : $0.uppercased() }.joined()
            }.joined(separator: "_")
        }

        static func inMemory(_ json: String, at path: [String]) throws -> [AbsoluteConfigKey: ConfigValue] {
            var values: [AbsoluteConfigKey: ConfigValue] = [:]
            for (key, leaf) in try leaves(of: json) { values[AbsoluteConfigKey(path + key)] = value(leaf) }
            return values
        }

        /// A reader of a file with this text.
        static func file(_ json: String) async throws -> ConfigReader {
            let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")
            try Data(json.utf8).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            let place = ConfigReader(
                provider: InMemoryProvider(values: ["filePath": .init(.string(file.path), isSecret: false)]))
            return ConfigReader(provider: try await FileProvider<JSONSnapshot>(config: place))
        }

        static func reader(_ values: [AbsoluteConfigKey: ConfigValue]) -> ConfigReader {
            ConfigReader(provider: InMemoryProvider(values: values))
        }

        /// Settings of a pipeline "p" with these values at `resilience.pipelines.p`.
        static func pipeline(_ values: [String: ConfigValue]) throws(InvalidSettings) -> Pipeline.AllSettings {
            let values = Dictionary(
                uniqueKeysWithValues: values.map { (AbsoluteConfigKey(ConfigKey("resilience.pipelines.p.\($0)")), $1) })
            return try Pipeline.AllSettings(from: reader(values).snapshot(), at: "resilience.pipelines.p")
        }

        /// The problems of such settings, one per line.
        static func problems(_ values: [String: ConfigValue]) -> [String] {
            do {
                _ = try pipeline(values)
                return []
            } catch {
                return error.problems.map(\.description)
            }
        }
    }

    /// A provider that fails when a test says so.
    final class FailingProvider: ConfigProvider {
        struct Failure: Error, CustomStringConvertible {
            var description: String { "the disk is on fire" }
        }

        private struct Snapshot: ConfigSnapshot {
            let providerName = "FailingProvider"

            func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult { throw Failure() }
        }

        private let inner: MutableInMemoryProvider
        private let failures: Mutex<(values: Bool, watches: Int)>

        /// - Parameters:
        ///   - values: Whether every value fails.
        ///   - watches: How many watches fail before one succeeds.
        init(_ inner: MutableInMemoryProvider, values: Bool = false, watches: Int = 0) {
            self.inner = inner
            failures = Mutex((values, watches))
        }

        func failValues(_ fails: Bool) { failures.withLock { $0.values = fails } }

        var providerName: String { "FailingProvider" }

        func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
            try snapshot().value(forKey: key, type: type)
        }

        func fetchValue(forKey key: AbsoluteConfigKey, type: ConfigType) async throws -> LookupResult {
            try value(forKey: key, type: type)
        }

        func snapshot() -> any ConfigSnapshot { failures.withLock { $0.values } ? Snapshot() : inner.snapshot() }

        func watchValue<Return: ~Copyable>(
            forKey key: AbsoluteConfigKey, type: ConfigType,
            updatesHandler: (ConfigUpdatesAsyncSequence<Result<LookupResult, any Error>, Never>) async throws -> Return
        ) async throws -> Return {
            try await watchValueFromValue(forKey: key, type: type, updatesHandler: updatesHandler)
        }

        func watchSnapshot<Return: ~Copyable>(
            updatesHandler: (ConfigUpdatesAsyncSequence<any ConfigSnapshot, Never>) async throws -> Return
        ) async throws -> Return {
            let fails = failures.withLock { state in
                defer { state.watches -= 1 }
                return state.watches > 0
            }
            if fails { throw Failure() }
            return try await inner.watchSnapshot(updatesHandler: updatesHandler)
        }
    }

    /// A provider whose updates end at once.
    struct EndingProvider: ConfigProvider {
        let inner: InMemoryProvider

        var providerName: String { "EndingProvider" }

        func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
            try inner.value(forKey: key, type: type)
        }

        func fetchValue(forKey key: AbsoluteConfigKey, type: ConfigType) async throws -> LookupResult {
            try value(forKey: key, type: type)
        }

        func snapshot() -> any ConfigSnapshot { inner.snapshot() }

        func watchValue<Return: ~Copyable>(
            forKey key: AbsoluteConfigKey, type: ConfigType,
            updatesHandler: (ConfigUpdatesAsyncSequence<Result<LookupResult, any Error>, Never>) async throws -> Return
        ) async throws -> Return {
            try await watchValueFromValue(forKey: key, type: type, updatesHandler: updatesHandler)
        }

        func watchSnapshot<Return: ~Copyable>(
            updatesHandler: (ConfigUpdatesAsyncSequence<any ConfigSnapshot, Never>) async throws -> Return
        ) async throws -> Return {
            try await updatesHandler(ConfigUpdatesAsyncSequence(AsyncStream { $0.finish() }))
        }
    }
#endif
