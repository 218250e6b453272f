#if Configuration
    import Configuration
    import Resilience
    import ResilienceTesting
    import Synchronization
    import TestSupport
    import Testing

    @testable import ResilienceConfiguration

    @Suite(.timeLimit(.minutes(20)), .responsive) struct ConfiguredPipelinesTests {
        let provider = MutableInMemoryProvider(initialValues: [:])
        let recorder = EventRecorder()
        let clock = ManualClock()

        struct Broken: Error {}

        private func set(_ value: ConfigValue?, _ key: String) {
            provider.setValue(value, forKey: AbsoluteConfigKey(ConfigKey("resilience.pipelines.\(key)")))
        }

        private func configured(
            _ names: [String] = ["p"], reader: ConfigReader? = nil, make: ConfiguredPipelines.Make? = nil
        ) throws -> ConfiguredPipelines {
            try ConfiguredPipelines(
                names, reader: reader ?? ConfigReader(provider: provider), timeBase: clock,
                observers: PolicyObservers(recorder), make: make)
        }

        private var events: [ConfigurationEvent] { recorder.events(of: ConfigurationEvent.self) }

        /// Waits for an event after which a condition holds.
        private func wait(until holds: () throws -> Bool) async rethrows {
            while true {
                let count = recorder.events.count
                if try holds() { return }
                await recorder.waitForEvents(count + 1)
            }
        }

        private func fail(_ pipeline: Pipeline) async {
            await #expect(throws: Broken.self) { try await pipeline.run { throw Broken() } }
        }

        // MARK: At the start

        @Test("pipelines have the policies of the configuration")
        func start() async throws {
            set(2, "p.retry.maxRetries")
            set(3, "p.bulkhead.limit")
            set(10, "q.timeout.limitSeconds")
            let pipelines = try configured(["p", "q"])
            #expect(try pipelines["p"].elements.map(\.name) == ["retry", "bulkhead"])
            #expect(try pipelines["q"].elements.map(\.name) == ["timeout"])
            #expect(try await pipelines["p"].run { 7 } == 7)
            #expect(events.isEmpty)
        }

        @Test("invalid settings are thrown at the start, all together, with their paths")
        func invalidStart() throws {
            set(0, "p.bulkhead.limit")
            set(-1, "q.retry.maxRetries")
            let error = #expect(throws: InvalidSettings.self) { try configured(["p", "q", "r"]) }
            #expect(
                error?.problems.map(\.parameter) == [
                    "resilience.pipelines.p.bulkhead.limit", "resilience.pipelines.q.retry.maxRetries",
                    "resilience.pipelines.r.policies",
                ])
        }

        @Test(
            "a pipeline that is first requested later is made then; while its settings are invalid, the request throws"
        )
        func later() throws {
            let pipelines = try configured([])
            #expect(throws: InvalidSettings.self) { try pipelines["p"] }
            set(0, "p.bulkhead.limit")
            #expect(throws: InvalidSettings.self) { try pipelines["p"] }
            set(1, "p.bulkhead.limit")
            #expect(try pipelines["p"].policies(of: Bulkhead.self).map(\.status.limit) == [1])
        }

        @Test(
            "the pipeline that a closure makes from valid settings is checked: an invalid one is an error, not a trap"
        )
        func make() throws {
            set(1, "p.bulkhead.limit")
            let halved: ConfiguredPipelines.Make = { name, configuration in
                Pipeline(name) { Bulkhead(limit: (configuration.bulkhead?.limit ?? 0) / 2) }
            }
            #expect(throws: InvalidSettings.self) { try configured(make: halved) }
            set(4, "p.bulkhead.limit")
            let pipelines = try configured(make: halved)
            #expect(try pipelines["p"].policies(of: Bulkhead.self).map(\.status.limit) == [2])
            set(1, "p.bulkhead.limit")
            pipelines.reload()
            #expect(try pipelines["p"].policies(of: Bulkhead.self).map(\.status.limit) == [2])
            #expect(events.map(\.kind) == ["rejected"])
        }

        // MARK: Changes

        @Test("a change is applied while the configuration is watched")
        func followed() async throws {
            set(2, "p.retry.maxRetries")
            let pipelines = try configured()
            let running = Task { await pipelines.run() }
            set(5, "p.retry.maxRetries")
            try await wait { try pipelines["p"].description.contains("5 retries") }
            running.cancel()
            await running.value
            #expect(provider.description.contains("0 watchers"))
            #expect(events == [.applied(restarted: [])])
        }

        @Test(
            "an invalid change is reported with path, value and range; the old settings stay until the next change"
        )
        func invalidChange() async throws {
            set(2, "p.retry.maxRetries")
            set(3, "p.bulkhead.limit")
            let pipelines = try configured()
            let before = try pipelines["p"].description
            set(7, "p.retry.maxRetries")
            set(0, "p.bulkhead.limit")
            pipelines.reload()
            #expect(try pipelines["p"].description == before)
            let problem = InvalidSetting(
                subject: "Bulkhead", parameter: "resilience.pipelines.p.bulkhead.limit", value: "0",
                requirement: "must be at least 1")
            #expect(events == [.rejected([problem])])
            #expect(
                recorder.events.first.map { "\($0)" }
                    == "[p/configuration] settings rejected, the old ones stay: Bulkhead: resilience.pipelines.p.bulkhead.limit is 0, and must be at least 1"
            )
            pipelines.reload()
            #expect(events.count == 1, "what was rejected is told once")
            set(4, "p.bulkhead.limit")
            pipelines.reload()
            #expect(events.last == .applied(restarted: []))
            #expect(try pipelines["p"].description.contains("7 retries"))
            #expect(try pipelines["p"].policies(of: Bulkhead.self).map(\.status.limit) == [4])
        }

        @Test("removing all settings of a pipeline is an invalid change")
        func takenAway() throws {
            set(3, "p.bulkhead.limit")
            let pipelines = try configured()
            set(nil, "p.bulkhead.limit")
            pipelines.reload()
            #expect(events.map(\.kind) == ["rejected"])
            #expect(try pipelines["p"].policies(of: Bulkhead.self).map(\.status.limit) == [3])
        }

        @Test("one pipeline's invalid settings do not block the others' changes")
        func independent() throws {
            set(3, "p.bulkhead.limit")
            set(3, "q.bulkhead.limit")
            let pipelines = try configured(["p", "q"])
            set(0, "p.bulkhead.limit")
            set(9, "q.bulkhead.limit")
            pipelines.reload()
            // The event of q's bulkhead about its new limit is not a configuration event.
            #expect(recorder.events.filter { $0.detail is ConfigurationEvent }.map(\.pipeline) == ["p", "q"])
            #expect(events.map(\.kind) == ["rejected", "applied"])
        }

        @Test("permits in use survive a change of settings during calls")
        func permits() async throws {
            set(1, "p.bulkhead.limit")
            let pipelines = try configured()
            let permit = try await pipelines["p"].acquire()
            set(2, "p.bulkhead.limit")
            set(1, "p.retry.maxRetries")
            pipelines.reload()
            let second = try await pipelines["p"].acquire()
            // A new bulkhead would have two free places.
            await #expect(throws: (any Error).self) { try await pipelines["p"].run {} }
            permit.complete(.success)
            second.complete(.success)
            try await pipelines["p"].run {}
            #expect(try pipelines["p"].policies(of: Bulkhead.self).map(\.status.inUse) == [0])
            #expect(events == [.applied(restarted: [])])
        }

        @Test("a breaker's counts survive a change, and so does an open circuit")
        func counts() async throws {
            set("consecutiveFailures", "p.circuitBreaker.tripping.kind")
            set(2, "p.circuitBreaker.tripping.limit")
            let pipelines = try configured()
            await fail(try pipelines["p"])
            set(10, "p.timeout.limitSeconds")
            set(5, "p.circuitBreaker.rampSeconds")
            pipelines.reload()
            await fail(try pipelines["p"])
            #expect(try pipelines["p"].circuitBreakers.map(\.status.state) == [.open])
            set(6, "p.circuitBreaker.rampSeconds")
            pipelines.reload()
            #expect(try pipelines["p"].circuitBreakers.map(\.status.state) == [.open])
            #expect(events == [.applied(restarted: []), .applied(restarted: [])])
        }

        @Test(
            "a policy that can't adopt its settings is replaced, with an event; calls inside the old one finish there"
        )
        func restarted() async throws {
            set(1, "p.bulkhead.limit")
            set("consecutiveFailures", "p.circuitBreaker.tripping.kind")
            let pipelines = try configured()
            await fail(try pipelines["p"])
            let permit = try await pipelines["p"].acquire()
            set(5, "p.bulkhead.maxWaitSeconds")
            pipelines.reload()
            let change = SettingChange(
                path: "resilience.pipelines.p.bulkhead.maxWaitSeconds", old: "not given", new: "5")
            #expect(events == [.applied(restarted: ["bulkhead"], inTheWay: [change])])
            #expect(
                "\(events[0])"
                    == "new settings in use; restarted: bulkhead, because a change of resilience.pipelines.p.bulkhead.maxWaitSeconds (not given → 5) can't be applied while running"
            )
            try await pipelines["p"].run {}
            permit.complete(.success)
            #expect(try pipelines["p"].policies(of: Bulkhead.self).map(\.status.inUse) == [0])
        }

        @Test("a list of policies turns a policy off and on again at runtime")
        func turnedOff() throws {
            set(1, "p.bulkhead.limit")
            set(1, "p.retry.maxRetries")
            let pipelines = try configured()
            set(.init(.stringArray(["retry"]), isSecret: false), "p.policies")
            pipelines.reload()
            #expect(try pipelines["p"].elements.map(\.name) == ["retry"])
            set(nil, "p.policies")
            pipelines.reload()
            #expect(try pipelines["p"].elements.map(\.name) == ["retry", "bulkhead"])
            let change = SettingChange(path: "resilience.pipelines.p.policies", old: "not given", new: "[retry]")
            #expect(events == [.applied(restarted: ["bulkhead"], inTheWay: [change]), .applied(restarted: [])])
        }

        @Test("an event names the settings that can't change at runtime, compared with the settings in use (P76)")
        func inTheWay() throws {
            set(1, "p.bulkhead.limit")
            set("firstInFirstOut", "p.bulkhead.order")
            set("rate", "p.throttle.limit.kind")
            set(1, "p.throttle.limit.calls")
            set(1, "p.throttle.limit.periodSeconds")
            set(1, "p.retry.maxRetries")
            let pipelines = try configured()
            set("byPriority", "p.bulkhead.order")
            set(0, "p.bulkhead.limit")
            pipelines.reload()
            #expect(events.map(\.kind) == ["rejected"])
            // The policies can adopt these three changes.
            set(2, "p.bulkhead.limit")
            set(2, "p.throttle.limit.calls")
            set(2, "p.retry.maxRetries")
            // The policies can't adopt these changes.
            set("lastInFirstOut", "p.bulkhead.order")
            set(true, "p.throttle.holdOnThrottled")
            pipelines.reload()
            func change(_ setting: String, _ old: String, _ new: String) -> SettingChange {
                SettingChange(path: "resilience.pipelines.p.\(setting)", old: old, new: new)
            }
            #expect(
                events.last
                    == .applied(
                        restarted: ["throttle", "bulkhead"],
                        inTheWay: [
                            change("throttle.holdOnThrottled", "not given", "true"),
                            change("bulkhead.order", "firstInFirstOut", "lastInFirstOut"),
                        ]))
            set("slidingWindow", "p.throttle.limit.kind")
            pipelines.reload()
            #expect(
                events.last
                    == .applied(
                        restarted: ["throttle"], inTheWay: [change("throttle.limit.kind", "rate", "slidingWindow")]))
        }

        @Test(
            "a setting turns a breaker off or makes it reject all calls; without it, the breaker decides again")
        func lever() async throws {
            set(1, "p.circuitBreaker.tripping.limit")
            set("consecutiveFailures", "p.circuitBreaker.tripping.kind")
            let pipelines = try configured()
            await fail(try pipelines["p"])
            await #expect(throws: CircuitOpen.self) { try await pipelines["p"].run {} }
            set("disabled", "p.circuitBreaker.mode")
            pipelines.reload()
            try await pipelines["p"].run {}
            set("isolated", "p.circuitBreaker.mode")
            pipelines.reload()
            clock.advance(by: .seconds(3_600))
            await #expect(throws: CircuitOpen.self) { try await pipelines["p"].run {} }
            set(nil, "p.circuitBreaker.mode")
            pipelines.reload()
            try await pipelines["p"].run {}
            #expect(events == [.applied(restarted: []), .applied(restarted: []), .applied(restarted: [])])
            #expect(try pipelines["p"].circuitBreakers.map(\.mode) == [.automatic])
        }

        @Test("after a burst of changes, some of them invalid, the last change holds")
        func volley() async throws {
            set(0, "p.retry.maxRetries")
            let pipelines = try configured()
            let running = Task { await pipelines.run() }
            await withTaskGroup(of: Void.self) { group in
                for task in 0..<4 {
                    group.addTask {
                        for change in 0..<250 {
                            set(
                                change % 3 == task % 3 ? -1 : .init(.int(change), isSecret: false), "p.retry.maxRetries"
                            )
                            if change % 50 == 0 { pipelines.reload() }
                        }
                    }
                }
            }
            set(1234, "p.retry.maxRetries")
            try await wait { try pipelines["p"].description.contains("1234 retries") }
            running.cancel()
            await running.value
            #expect(events.allSatisfy { ["applied", "rejected"].contains($0.kind) })
        }

        @Test("a change during another change is applied next, by the same task")
        func reentrant() throws {
            set(1, "p.retry.maxRetries")
            let pipelinesBox = Mutex<ConfiguredPipelines?>(nil)
            let provider = provider
            let pipelines = try configured(make: { name, configuration in
                if configuration.retry?.maxRetries == 2 {
                    provider.setValue(3, forKey: "resilience.pipelines.p.retry.maxRetries")
                    // This inner call returns at once.
                    pipelinesBox.withLock { $0 }?.reload()
                }
                return Pipeline(name, settings: configuration)
            })
            pipelinesBox.withLock { $0 = pipelines }
            set(2, "p.retry.maxRetries")
            pipelines.reload()
            #expect(try pipelines["p"].description.contains("3 retries"))
            #expect(events.count == 2)
            pipelinesBox.withLock { $0 = nil }
        }

        @Test("a closure may request another pipeline, since no lock is held")
        func unlocked() throws {
            set(1, "p.retry.maxRetries")
            set(2, "q.bulkhead.limit")
            let box = Mutex<ConfiguredPipelines?>(nil)
            let pipelines = try configured(
                [],
                make: { name, configuration in
                    let inner = name == "p" ? try? box.withLock { $0 }?["q"] : nil
                    return Pipeline(name) {
                        Pipeline(name, settings: configuration)
                        if let inner { inner }
                    }
                })
            box.withLock { $0 = pipelines }
            #expect(try pipelines["p"].elements.map(\.name) == ["retry", "bulkhead"])
            box.withLock { $0 = nil }
        }

        @Test("two tasks that request a new pipeline at the same time get the same one")
        func concurrentFirst() async throws {
            set(1, "p.bulkhead.limit")
            for _ in 0..<50 {
                let pipelines = try configured([])
                let bulkheads = await withTaskGroup(of: Bulkhead?.self) { group in
                    for index in 0..<4 {
                        group.addTask {
                            if index == 0 { pipelines.reload() }
                            return try? pipelines["p"].policies(of: Bulkhead.self).first
                        }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
                let first = try #require(bulkheads[0])
                #expect(bulkheads.allSatisfy { $0 === first })
            }
        }

        // MARK: Providers that fail

        @Test("if a provider's values fail, the change is invalid; when the provider recovers, no change is lost")
        func failingValues() throws {
            set(1, "p.bulkhead.limit")
            let failing = FailingProvider(provider)
            let pipelines = try configured(reader: ConfigReader(provider: failing))
            failing.failValues(true)
            pipelines.reload()
            #expect(events.map(\.kind) == ["rejected"])
            #expect("\(events[0])".contains("resilience.pipelines.p"))
            #expect(try pipelines["p"].policies(of: Bulkhead.self).map(\.status.limit) == [1])
            failing.failValues(false)
            pipelines.reload()
            #expect(events.last == .applied(restarted: []))
        }

        @Test("a provider that can't be watched is asked again after growing waits")
        func failingWatch() async throws {
            set(1, "p.bulkhead.limit")
            let failing = FailingProvider(provider, watches: 2)
            let pipelines = try configured(reader: ConfigReader(provider: failing))
            let running = Task { await pipelines.run() }
            for failure in 1...2 {
                await recorder.waitForEvents(failure)
                #expect(events.last == .unwatched("the disk is on fire"))
                await clock.waitForSleepers(1)
                clock.advance(by: .seconds(60))
            }
            set(4, "p.bulkhead.limit")
            try await wait { try pipelines["p"].policies(of: Bulkhead.self).map(\.status.limit) == [4] }
            running.cancel()
            await running.value
        }

        @Test("a provider whose updates end is watched again after a wait; cancelling that wait ends the watch")
        func endingWatch() async throws {
            let ending = EndingProvider(inner: InMemoryProvider(values: ["resilience.pipelines.p.bulkhead.limit": 1]))
            let pipelines = try configured(reader: ConfigReader(provider: ending))
            let running = Task { await pipelines.run() }
            await clock.waitForSleepers(1)
            #expect(events == [.unwatched("the provider's updates have ended")])
            running.cancel()
            await running.value
            #expect(events.count == 1)
        }

        @Test("a watch that is cancelled before it begins ends at once")
        func cancelledBefore() async throws {
            let pipelines = try configured([])
            let running = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                await pipelines.run()
            }
            await running.value
            #expect(events.isEmpty)
        }

        @Test("the deadline of the task that begins a watch does not end it")
        func deadline() async throws {
            set(1, "p.retry.maxRetries")
            let pipelines = try configured()
            set(5, "p.retry.maxRetries")
            let running = Task { [clock] in
                await CallDeadline(after: .zero, on: clock).run { await pipelines.run() }
                if Task.isCancelled { return }
                Issue.record("the watch has ended")
                pipelines.reload()
            }
            try await wait { try pipelines["p"].description.contains("5 retries") }
            running.cancel()
            await running.value
        }

        @Test("a configuration can be watched by two tasks, and again after the first watch")
        func twice() async throws {
            set(1, "p.retry.maxRetries")
            let pipelines = try configured()
            for value in [2, 3] {
                let tasks = (0..<2).map { _ in Task { await pipelines.run() } }
                set(.init(.int(value), isSecret: false), "p.retry.maxRetries")
                try await wait { try pipelines["p"].description.contains("\(value) retries") }
                for task in tasks { task.cancel() }
                for task in tasks { await task.value }
            }
        }

        // MARK: Names

        @Test("keys that nothing reads are reported")
        func unknown() throws {
            set(1, "p.retry.maxRetries")
            provider.setValue(1, forKey: "resilience.registries.e.default.bulkhead.limit")
            provider.setValue(
                .init(.stringArray(["a.b"]), isSecret: false), forKey: "resilience.registries.e.overrideNames")
            provider.setValue(
                1,
                forKey: AbsoluteConfigKey(["resilience", "registries", "e", "overrides", "a.b", "bulkhead", "limit"]))
            let pipelines = try configured()
            _ = try pipelines.registry("e")
            let known = [
                "resilience.pipelines.p.retry.maxRetries", "resilience.pipelines.p.policies",
                "resilience.pipelines.p.circuitBreaker.tripping.rules.12.rules.0.kind",
                "resilience.pipelines.p.circuitBreaker.openFor.otherwise.break.lengthSeconds",
                "resilience.registries.e.default.bulkhead.limit", "resilience.registries.e.overrideNames",
                "resilience.registries.e.overrides.a.b.key", "resilience.registries.e.overrides.a.b.bulkhead.limit",
                "http.port", "resiliences.pipelines", "",
            ]
            let unknown = [
                "resilience.pipelines.p.retry.maxRetires", "resilience.pipelines.p.retry", "resilience.pipelines.p",
                "resilience.pipelines.P.retry.maxRetries", "resilience.pipelines.p.policies.0", "resilience",
                "resilience.pipelines.p.circuitBreaker.tripping.rules.x.kind",
                "resilience.pipelines.p.circuitBreaker.tripping.rules.-1.kind",
                "resilience.pipelines.p.circuitBreaker.tripping.rules.07.kind",
                "resilience.pipelines.p.circuitBreaker.tripping.rules.1000.kind",
                "resilience.pipelines.p.circuitBreaker.tripping.rules.0",
                "resilience.registries.e.overrideNames.0", "resilience.registries.e.overrides.c.bulkhead.limit",
                "resilience.registries.e.bulkhead.limit", "resilience.pipeline.p.retry.maxRetries",
            ]
            #expect(pipelines.unknownKeys(among: known + unknown) == unknown)
        }
    }
#endif
