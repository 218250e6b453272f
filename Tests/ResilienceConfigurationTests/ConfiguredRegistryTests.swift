#if Configuration
    import Configuration
    import Resilience
    import ResilienceTesting
    import TestSupport
    import Testing

    @testable import ResilienceConfiguration

    @Suite(.responsive) struct ConfiguredRegistryTests {
        let provider = MutableInMemoryProvider(initialValues: [
            "resilience.registries.e.default.bulkhead.limit": 4,
            "resilience.registries.e.default.bulkhead.queue": 8,
            "resilience.registries.e.default.retry.maxRetries": 2,
        ])
        let recorder = EventRecorder()

        private func set(_ value: ConfigValue?, _ key: String) {
            provider.setValue(value, forKey: AbsoluteConfigKey(ConfigKey("resilience.registries.e.\(key)")))
        }

        private func configured(make: ConfiguredPipelines.Make? = nil) throws -> ConfiguredPipelines {
            try ConfiguredPipelines(
                reader: ConfigReader(provider: provider), observers: PolicyObservers(recorder), make: make)
        }

        private func names(_ names: String...) -> ConfigValue { .init(.stringArray(names), isSecret: false) }

        private var events: [ConfigurationEvent] { recorder.events(of: ConfigurationEvent.self) }

        @Test("every key has the default's settings; an override replaces the settings that it contains")
        func overrides() throws {
            set(names("search"), "overrideNames")
            set("/api/search", "overrides.search.key")
            set(1, "overrides.search.bulkhead.limit")
            set(1, "overrides.search.timeout.limitSeconds")
            let registry = try configured().registry("e")
            #expect(registry["/other"].policies(of: Bulkhead.self).map(\.status.limit) == [4])
            let search = registry["/api/search"]
            #expect(search.elements.map(\.name) == ["timeout", "retry", "bulkhead"])
            #expect(search.policies(of: Bulkhead.self).map(\.status.limit) == [1])
            #expect(search.policies(of: Bulkhead.self).map(\.status.queueLimit) == [8])
            #expect(search.description.contains("2 retries"))
        }

        @Test("an override without a key applies to its name")
        func named() throws {
            set(names("tenant"), "overrideNames")
            set(9, "overrides.tenant.bulkhead.limit")
            let registry = try configured().registry("e")
            #expect(registry["tenant"].policies(of: Bulkhead.self).map(\.status.limit) == [9])
        }

        @Test("overrides in the environment can have keys that no variable could name")
        func environment() throws {
            let provider = EnvironmentVariablesProvider(environmentVariables: [
                "RESILIENCE_REGISTRIES_E_DEFAULT_RETRY_MAX_RETRIES": "1",
                "RESILIENCE_REGISTRIES_E_OVERRIDE_NAMES": "orders, search",
                "RESILIENCE_REGISTRIES_E_OVERRIDES_ORDERS_KEY": "/orders/{id}",
                "RESILIENCE_REGISTRIES_E_OVERRIDES_ORDERS_RETRY_MAX_RETRIES": "0",
                "RESILIENCE_REGISTRIES_E_OVERRIDES_SEARCH_RETRY_MAX_RETRIES": "5",
            ])
            let registry = try ConfiguredPipelines(reader: ConfigReader(provider: provider)).registry("e")
            #expect(registry["/orders/{id}"].description.contains("0 retries"))
            #expect(registry["search"].description.contains("5 retries"))
            #expect(registry["/"].description.contains("1 retries"))
        }

        @Test("an override replaces a value with parts, such as a backoff, as a whole")
        func whole() throws {
            set("constant", "default.retry.backoff.kind")
            set(1, "default.retry.backoff.baseSeconds")
            set(names("a"), "overrideNames")
            set("sequence", "overrides.a.retry.backoff.kind")
            set(.init(.doubleArray([2, 3]), isSecret: false), "overrides.a.retry.backoff.sequenceSeconds")
            #expect(throws: Never.self) { try configured().registry("e") }
        }

        @Test("all invalid settings are thrown, with their paths")
        func invalid() throws {
            set(0, "default.bulkhead.limit")
            set(names("a", "b", "c", "d", "a"), "overrideNames")
            set(7, "overrides.a.key")
            set("x", "overrides.b.key")
            set(1, "overrides.b.bulkhead.limit")
            set("x", "overrides.c.key")
            let error = #expect(throws: InvalidSettings.self) { try configured().registry("e") }
            #expect(
                error?.problems.map(\.description) == [
                    "Bulkhead: resilience.registries.e.default.bulkhead.limit is 0, and must be at least 1",
                    "Registry: resilience.registries.e.overrides.a.key is 7, and must be a text",
                    #"Registry: resilience.registries.e.overrides.c.key is "x", and must not also be the key of "b""#,
                    "Registry: resilience.registries.e.overrides.d is missing, and must be given, since overrideNames lists it",
                ])
            set(4, "default.bulkhead.limit")
            set("a", "overrideNames")
            let other = #expect(throws: InvalidSettings.self) { try configured().registry("e") }
            #expect(
                other?.problems.map(\.description) == [
                    #"Registry: resilience.registries.e.overrideNames is "a", and must be a list of names"#
                ])
            #expect(throws: InvalidSettings.self) { try configured().registry("missing") }
            set(nil, "overrideNames")
            #expect(throws: InvalidSettings.self) { try configured().registry("e", capacity: 0) }
        }

        @Test("a change reaches existing keys, which keep their permits, and later keys")
        func change() async throws {
            let pipelines = try configured()
            let registry = try pipelines.registry("e")
            set(1, "default.bulkhead.limit")
            set(0, "default.bulkhead.queue")
            pipelines.reload()
            let permit = try await registry["a"].acquire()
            set(2, "default.bulkhead.limit")
            set(names("b"), "overrideNames")
            set(9, "overrides.b.bulkhead.limit")
            pipelines.reload()
            #expect(registry["a"].policies(of: Bulkhead.self).map(\.status.inUse) == [1])
            #expect(registry["a"].policies(of: Bulkhead.self).map(\.status.limit) == [2])
            #expect(registry["b"].policies(of: Bulkhead.self).map(\.status.limit) == [9])
            permit.complete(.success)
            pipelines.reload()
            #expect(events == [.registryApplied(outdated: []), .registryApplied(outdated: [])])
            #expect(try pipelines.registry("e") === registry)
        }

        @Test("if one setting of the default or of an override is invalid, nothing changes")
        func invalidChange() throws {
            set(names("a"), "overrideNames")
            set(2, "overrides.a.bulkhead.limit")
            let pipelines = try configured()
            let registry = try pipelines.registry("e")
            _ = (registry["a"], registry["b"])
            set(5, "default.bulkhead.limit")
            set(0, "overrides.a.bulkhead.limit")
            pipelines.reload()
            pipelines.reload()
            #expect(events.map(\.kind) == ["rejected"])
            #expect(registry["b"].policies(of: Bulkhead.self).map(\.status.limit) == [4])
            #expect(registry["a"].policies(of: Bulkhead.self).map(\.status.limit) == [2])
            #expect(registry["new"].policies(of: Bulkhead.self).map(\.status.limit) == [4])
            set(3, "overrides.a.bulkhead.limit")
            pipelines.reload()
            #expect(registry["b"].policies(of: Bulkhead.self).map(\.status.limit) == [5])
            #expect(registry["a"].policies(of: Bulkhead.self).map(\.status.limit) == [3])
        }

        @Test("a key whose pipeline can't adopt the new settings keeps its old ones, and the event names it")
        func outdated() throws {
            let pipelines = try configured()
            let registry = try pipelines.registry("e")
            let held = registry["a"]
            set(3, "default.timeout.limitSeconds")
            pipelines.reload()
            let change = SettingChange(
                path: "resilience.registries.e.default.timeout", old: "not given", new: "{limitSeconds: 3}")
            #expect(events == [.registryApplied(outdated: ["a"], inTheWay: [change])])
            #expect(events[0].severity == .warning)
            #expect(
                "\(events[0])"
                    == "new settings in use; the old ones stay for a, because a change of \(change) can't be applied while running, until the keys are evicted or the process is restarted"
            )
            // The setting that can't change still prevents a change of another setting.
            set(5, "default.bulkhead.limit")
            pipelines.reload()
            #expect(events[1...] == [.registryApplied(outdated: ["a"], inTheWay: [change])])
            #expect(held.elements.count == 2 && registry["a"].elements.count == 2)
            #expect(registry["b"].elements.map(\.name) == ["timeout", "retry", "bulkhead"])
        }

        @Test(
            "a setting that can't change at runtime is named at its override's path, and once for all other keys (P76)"
        )
        func inTheWay() throws {
            set(names("b"), "overrideNames")
            set("lastInFirstOut", "overrides.b.bulkhead.order")
            let pipelines = try configured()
            let registry = try pipelines.registry("e")
            let held = [registry["a"], registry["b"], registry["c"]]
            set("byPriority", "overrides.b.bulkhead.order")
            set(false, "default.bulkhead.predictsWait")
            set(7, "default.bulkhead.limit")
            pipelines.reload()
            func change(_ setting: String, _ old: String, _ new: String) -> SettingChange {
                SettingChange(path: "resilience.registries.e.\(setting)", old: old, new: new)
            }
            #expect(
                events == [
                    .registryApplied(
                        outdated: ["a", "b", "c"],
                        inTheWay: [
                            change("default.bulkhead.predictsWait", "not given", "false"),
                            change("overrides.b.bulkhead.order", "lastInFirstOut", "byPriority"),
                            change("overrides.b.bulkhead.predictsWait", "not given", "false"),
                        ])
                ])
            #expect(held.count == 3)
        }

        @Test("a setting turns off the breakers of all keys, and breakers that are off do not prevent eviction")
        func lever() async throws {
            set(1, "default.circuitBreaker.tripping.limit")
            set("consecutiveFailures", "default.circuitBreaker.tripping.kind")
            let pipelines = try configured()
            let registry = try pipelines.registry("e", capacity: 2)
            struct Broken: Error {}
            await #expect(throws: Broken.self) { try await registry["a"].run { throw Broken() } }
            #expect(registry["a"].circuitBreakers.map(\.status.state) == [.open])
            set("disabled", "default.circuitBreaker.mode")
            pipelines.reload()
            #expect(events == [.registryApplied(outdated: [])])
            try await registry["a"].run {}
            set("isolated", "default.circuitBreaker.mode")
            pipelines.reload()
            for key in ["b", "c", "d", "e", "f"] {
                await #expect(throws: CircuitOpen.self) { try await registry[key].run {} }
            }
            // The open circuit stays.
            #expect(registry.count == 2 && registry.values.keys.contains("a"))
        }

        @Test("if the closure makes an invalid pipeline for a key, the key is made without the closure, with an event")
        func make() throws {
            let pipelines = try configured(make: { key, configuration in
                Pipeline(key) {
                    Pipeline(key, settings: configuration)
                    Throttle(limit: .perSecond(key == "bad" ? 0 : 1))
                }
            })
            let registry = try pipelines.registry("e")
            #expect(registry["good"].elements.count == 3)
            #expect(registry["bad"].elements.count == 2)
            #expect(events.map(\.kind) == ["rejected"] && recorder.events[0].pipeline == "e.bad")
        }
    }
#endif
