import Foundation
import Resilience
import TestSupport
import Testing

/// A policy as a user of the package writes it: it has a quota of calls.
private final class Quota: ConfigurablePolicy {
    struct Settings: SettingsGroup {
        enum Unit: String, SettingChoice {
            case calls, batches
        }

        var limit: Int
        var unit = Unit.calls
        var pause: Duration?

        static let schema = SettingsSchema(
            "Quota", standard: Settings(limit: 1),
            [
                SettingField("limit", \.limit, .within(1, 1_000), need: .required, isLive: true),
                SettingField("unit", \.unit), SettingField("pauseSeconds", \.pause, .above(0)),
            ]
        ) { settings, given in
            if settings.unit == .batches, settings.limit > 10, given.areSound("limit", "unit") {
                given.note("limit", "\(settings.limit)", "must be at most 10 batches")
            }
        }
    }

    let name = "quota"
    let description = "quota"
    private let state: PolicyLock

    var settings: Settings { state.settings }
    var isAtRest: Bool { true }

    init(_ settings: Settings) { state = PolicyLock(settings.valid()) }

    func reset() {}

    func apply(_ settings: Settings) -> [String] {
        let others = inTheWay(of: settings)
        if others.isEmpty { state.settings = settings.valid() }
        return others
    }

    func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry { .proceed }
    func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit { .pass }
}

/// Unchecked: the lock guards the only variable.
private final class PolicyLock: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Quota.Settings

    init(_ value: Quota.Settings) { self.value = value }

    var settings: Quota.Settings {
        get { lock.withLock { value } }
        set { lock.withLock { value = newValue } }
    }
}

@Suite struct OwnPolicySettingsTests {
    private func read(_ json: String) throws -> Quota.Settings {
        try JSONDecoder().decode(Quota.Settings.self, from: Data(json.utf8))
    }

    @Test("a custom policy's settings are decoded, encoded, and reported as invalid with path, value and range")
    func files() throws {
        let settings = try read(#"{"limit": 5, "unit": "batches", "pauseSeconds": 0.5}"#)
        #expect(settings == Quota.Settings(limit: 5, unit: .batches, pause: .milliseconds(500)))
        #expect(try JSONDecoder().decode(Quota.Settings.self, from: JSONEncoder().encode(settings)) == settings)
        #expect(try read(#"{"limit": 5, "pauseSeconds": null}"#) == Quota.Settings(limit: 5))
        #expect(
            problems { _ = try read(#"{"limit": 0, "unit": "days", "pauseSeconds": 0, "paws": 1}"#) } == [
                "Quota: paws is given, and is no setting: there are limit, unit, pauseSeconds",
                "Quota: limit is 0, and must lie in 1...1000",
                #"Quota: unit is "days", and must be one of calls, batches"#,
                "Quota: pauseSeconds is 0 s, and must be above zero",
            ])
        #expect(
            problems { _ = try read(#"{"limit": 11, "unit": "batches"}"#) } == [
                "Quota: limit is 11, and must be at most 10 batches"
            ])
        #expect(problems { _ = try read(#"{"limit": 2000, "unit": "batches"}"#) }.count == 1)
    }

    @Test("a custom policy's settings in source code are checked when a policy is made with them")
    func literals() {
        #expect(
            problems {
                _ = try PolicySettings.checked { Quota(Quota.Settings(limit: 0, pause: .seconds(-1))) }
            } == ["Quota: limit is 0, and must lie in 1...1000", "Quota: pause is -1 s, and must be above zero"])
    }

    @Test("a registry applies a custom policy's live settings, and returns keys whose other settings would change")
    func live() throws {
        let registry = PolicyRegistry<String, Quota> { _ in Quota(Quota.Settings(limit: 5)) }
        let quota = registry["a"]
        #expect(registry.reconfigure { _ in Quota(Quota.Settings(limit: 7)) } == [])
        #expect(quota.settings.limit == 7)
        #expect(registry.reconfigure { _ in Quota(Quota.Settings(limit: 9, unit: .batches)) } == ["a"])
        #expect(quota.settings == Quota.Settings(limit: 7))
        #expect(
            quota.inTheWay(of: Quota.Settings(limit: 9, unit: .batches, pause: .seconds(1))) == [
                "unit", "pauseSeconds",
            ])
    }
}
