import Resilience
import Synchronization

/// Lets a number of calls through, until somebody refills it.
final class Quota: ConfigurablePolicy, StatusReporting {
    struct Settings: SettingsGroup {
        var calls = 1_000

        static let schema = SettingsSchema(
            "Quota", standard: Settings(),
            [SettingField("calls", \.calls, .atLeast(1), isLive: true)])
    }

    let name: String
    private let state: Mutex<(settings: Settings, used: Int)>

    init(_ name: String = "quota", settings: Settings = Settings()) {
        self.name = name
        state = Mutex((settings.valid(), 0))
    }

    func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        let isSpent = state.withLock { state in
            state.used += 1
            return state.used > state.settings.calls
        }
        guard isSpent else { return .proceed }
        call.emit(Refused(limit: settings.calls), from: name)
        return .reject(QuotaSpent())
    }

    func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit { .pass }

    // Settings that change while it runs.
    var settings: Settings { state.withLock { $0.settings } }
    var isAtRest: Bool { state.withLock { $0.used == 0 } }
    func reset() { state.withLock { $0.used = 0 } }

    func apply(_ settings: Settings) -> [String] {
        if let settings = settings.allowed() { state.withLock { $0.settings = settings } }
        return []
    }

    // What people see of it, and can do.
    var status: Status { state.withLock { Status(used: $0.used, limit: $0.settings.calls) } }

    func perform(_ action: String) -> Bool {
        guard action == "refill" else { return false }
        reset()
        return true
    }

    struct Status: PolicyStatusDetail {
        let used: Int
        let limit: Int

        static var kind: String { "quota" }
        var isAllowed: Bool { used < limit }
        func condition(at now: MonotonicInstant) -> PolicyCondition {
            isAllowed ? PolicyCondition("some left", .up) : PolicyCondition("spent", .down)
        }
        func readings(at now: MonotonicInstant) -> [StatusReading] {
            [StatusReading("quota used", "Calls since the last refill.", title: "used", used, of: limit)]
        }
        func actions(at now: MonotonicInstant) -> [PolicyAction] { [PolicyAction("refill", "Refill", "Refill %?")] }
    }
}

struct Refused: PolicyEventDetail {
    let limit: Int

    var kind: String { "refused" }
    var severity: PolicyEventSeverity { .warning }
    var fields: EventFields { ["limit": limit] }
    var description: String { "all \(limit) calls are spent" }
}

struct QuotaSpent: Rejection {
    var retryAfter: Duration? { nil }
    var description: String { "The quota is spent." }
}

struct ShopSettings: PipelineSettings {
    var retry: Retry.Settings?
    var quota: Quota.Settings?
    var isIdempotent: Bool?

    static let places: [PolicyPlace<ShopSettings>] = [
        .retry(\.retry),
        PolicyPlace("quota", \.quota) { name, settings, _ in Quota(name, settings: settings) },
    ]
}
