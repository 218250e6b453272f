#if Configuration
    import Configuration
    import Foundation
    import Resilience
    import ResilienceConfiguration
    import ResilienceTesting
    import Testing

    /// Settings of a user's own policies.
    @Suite struct OwnSettingsTests {
        /// A policy that adopts no settings while it runs.
        private struct Quota: Policy {
            struct Settings: SettingsGroup {
                var calls = 10
                var low = 0
                var order = "first"
                var routes: [Route] = []

                static let schema = SettingsSchema(
                    "Quota", standard: Settings(),
                    [
                        SettingField("calls", \.calls, .within(1, Double(Int.max))), SettingField("low", \.low),
                        SettingField("order", \.order), SettingField("routes", \.routes),
                    ])
            }

            struct Route: SettingsGroup {
                var path = "/"
                static let schema = SettingsSchema("Route", standard: Route(), [SettingField("path", \.path)])
            }

            var name = "quota"
        }

        private final class Shared: Policy {
            let timeBase: (any TimeBase)?
            init(_ timeBase: any TimeBase) { self.timeBase = timeBase }
        }

        private struct Shop: PipelineSettings {
            var bulkhead: Bulkhead.Settings?
            var quota: Quota.Settings?
            var shared: Quota.Settings?
            var isIdempotent: Bool?

            static let clock = ManualClock()
            private static let only = Shared(clock)

            static let places: [PolicyPlace<Shop>] = [
                // This place checks more than the schema does.
                PolicyPlace("quota", \.quota) { name, settings, _ in
                    Bulkhead("rest", limit: settings.calls - settings.low, timeBase: clock)
                    Quota(name: name)
                },
                PolicyPlace("shared", \.shared) { _, _, _ in only },
                .bulkhead(\.bulkhead),
            ]
        }

        private func provider(_ values: [String: ConfigValue]) -> MutableInMemoryProvider {
            MutableInMemoryProvider(
                initialValues: Dictionary(
                    uniqueKeysWithValues: values.map {
                        (
                            AbsoluteConfigKey(
                                "resilience.pipelines.p.\($0.key)".split(separator: ".").map(String.init)), $0.value
                        )
                    }))
        }

        private func configured(_ provider: MutableInMemoryProvider) throws -> ConfiguredPipelinesOf<Shop> {
            try ConfiguredPipelinesOf<Shop>(
                ["p"], reader: ConfigReader(provider: provider), timeBase: Shop.clock,
                observers: PolicyObservers(recorder))
        }

        private let recorder = EventRecorder()

        @Test("settings change from one valid value to another even if a mixture would be invalid")
        func mixture() throws {
            let provider = provider(["quota.calls": 5, "quota.low": 1, "bulkhead.limit": 1])
            let pipelines = try configured(provider)
            for (key, value) in ["quota.calls": 50, "quota.low": 10, "bulkhead.queue": 3] as [String: ConfigValue] {
                provider.setValue(
                    value,
                    forKey: AbsoluteConfigKey("resilience.pipelines.p.\(key)".split(separator: ".").map(String.init)))
            }
            provider.setValue("byPriority", forKey: "resilience.pipelines.p.bulkhead.order")
            pipelines.reload()
            #expect(try pipelines["p"].policies(of: Bulkhead.self).map(\.status.limit) == [40, 1])
            let events = recorder.events(of: ConfigurationEvent.self).map(\.description)
            #expect(events.count == 1 && events[0].contains("restarted: bulkhead"), "\(events)")
        }

        @Test("settings that can't change at runtime are detected with the pipelines' own clock")
        func clock() throws {
            let provider = provider(["shared.calls": 5, "bulkhead.limit": 1])
            let pipelines = try configured(provider)
            provider.setValue("byPriority", forKey: "resilience.pipelines.p.bulkhead.order")
            provider.setValue(6, forKey: "resilience.pipelines.p.shared.calls")
            pipelines.reload()
            #expect(try pipelines["p"].policies(of: Bulkhead.self).map(\.settings.order) == [.byPriority])
        }

        @Test("a list of groups with any settings is read; a group after a gap in the numbers is an error")
        func lists() throws {
            let key: ConfigKey = "resilience.pipelines.p"
            func settings(_ values: [String: ConfigValue]) throws -> Shop {
                try Shop(from: ConfigReader(provider: provider(values)).snapshot(), at: key)
            }
            #expect(
                try settings(["quota.routes.0.path": "/a", "quota.routes.1.path": "/b"]).quota?.routes.map(\.path)
                    == ["/a", "/b"])
            let error = #expect(throws: InvalidSettings.self) {
                try settings(["quota.routes.0.path": "/a", "quota.routes.2.path": "/c"])
            }
            #expect(error?.problems.map(\.parameter) == ["resilience.pipelines.p.quota.routes.1"])
        }

        @Test("a JSON Schema keeps two groups of one name apart if they have different settings")
        func subjects() throws {
            let schema = Both.jsonSchema()
            let json = String(decoding: try JSONEncoder().encode(schema), as: UTF8.self)
            #expect(json.contains(##"#\/$defs\/a_limit""##) && json.contains(##"#\/$defs\/a_limit2""##), "\(json)")
            #expect(json.contains("calls") && json.contains("bytes"))
        }

        private struct Both: SettingsGroup {
            struct One: SettingsGroup {
                var calls = 1
                static let schema = SettingsSchema("a/limit", standard: One(), [SettingField("calls", \.calls)])
            }

            struct Two: SettingsGroup {
                var bytes = 1
                static let schema = SettingsSchema("a/limit", standard: Two(), [SettingField("bytes", \.bytes)])
            }

            var one = One()
            var two = Two()

            static let schema = SettingsSchema(
                "Both", standard: Both(), [SettingField("one", \.one), SettingField("two", \.two)])
        }

        @Test("a range may end at the largest number, and errors can show that number")
        func ranges() throws {
            #expect(try JSONDecoder().decode(Quota.Settings.self, from: Data(#"{"calls": 7}"#.utf8)).calls == 7)
            let error = #expect(throws: InvalidSettings.self) {
                try JSONDecoder().decode(Quota.Settings.self, from: Data(#"{"calls": 0}"#.utf8))
            }
            #expect(error?.problems[0].requirement.hasPrefix("must lie in 1.0...9.2") == true, "\(error as Any)")
        }

        @Test("if settings with several kinds differ in their kind, the kind is reported as the difference")
        func kinds() {
            let backoff = Backoff.constant(.seconds(1))
            #expect(backoff.differences(from: backoff) == [])
            #expect(backoff.differences(from: .constant(.seconds(2))) == ["kind"])
        }
    }
#endif
