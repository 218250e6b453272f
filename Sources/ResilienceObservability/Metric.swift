import Resilience

/// A metric with a name that Prometheus accepts: an exporter need not change it. `ResilienceMetrics` and
/// ``HealthReport/prometheusText(counts:)`` both write these metrics, in addition to the readings of statuses.
struct Metric: Sendable, Hashable, Comparable {
    enum Kind: String, Sendable {
        case gauge, counter, histogram
    }

    let name: String
    let kind: Kind
    /// The names of its labels, in order.
    let labels: [String]
    /// The help text: one line.
    let help: String

    private init(_ name: String, _ kind: Kind, _ labels: [String], _ help: String) {
        (self.name, self.kind, self.labels, self.help) = ("resilience_\(name)", kind, labels, help)
    }

    /// A gauge of a status reading; nil if one of the package's own metrics has its name.
    init?(_ reading: StatusReading) {
        let isAllowed = { (scalar: Unicode.Scalar) in
            ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar)
                || scalar == "_"
        }
        self.init(
            String(String.UnicodeScalarView(reading.name.unicodeScalars.map { isAllowed($0) ? $0 : "_" })), .gauge,
            Self.policy + (reading.state == nil ? [] : ["state"]), reading.help.onOneLine)
        if Self.taken.contains(name) { return nil }
    }

    private static let policy = ["pipeline", "policy"]
    private static let outcome = ["pipeline", "outcome"]

    static let healthStatus = Metric(
        "health_status", .gauge, [], "The status of the service: 0 up, 1 degraded, 2 down.")
    static let components = Metric("components", .gauge, ["status"], "Components of the service, by status.")
    static let componentsOmitted = Metric(
        "components_omitted", .gauge, [], "Components that are counted but not listed here.")
    static let componentStatus = Metric(
        "component_status", .gauge, ["registry", "component"], "The status of a component: 0 up, 1 degraded, 2 down.")
    static let statusKnown = Metric(
        "status_known", .gauge, policy, "Whether the status of a queue, or of another stored source, is known."
    )

    static let calls = Metric("calls_total", .counter, outcome, "Calls of a pipeline, by how they ended.")
    static let callDuration = Metric(
        "call_duration_seconds", .histogram, outcome, "How long calls took, with all attempts and waits.")
    static let callAttempts = Metric("call_attempts", .histogram, outcome, "How many attempts a call made.")
    static let attempts = Metric(
        "attempts_total", .counter, outcome, "Attempts of a pipeline's calls, by how they ended.")
    static let attemptDuration = Metric("attempt_duration_seconds", .histogram, outcome, "How long attempts took.")
    static let waitDuration = Metric(
        "wait_duration_seconds", .histogram, policy, "How long calls waited for a policy.")
    static let events = Metric("events_total", .counter, policy + ["event"], "Events of policies and queues, by kind.")
    static let eventsUncounted = Metric(
        "events_uncounted_total", .counter, [], "Events beyond the limit of keys, of any kind.")

    /// The metrics other than readings.
    static let own = [
        healthStatus, components, componentsOmitted, componentStatus, statusKnown, calls, callDuration, callAttempts,
        attempts, attemptDuration, waitDuration, events, eventsUncounted,
    ]
    private static let taken = Set(own.flatMap { [$0.name] + $0.samples })

    /// The names of its samples in Prometheus.
    var samples: [String] { kind == .histogram ? ["_bucket", "_sum", "_count"].map { name + $0 } : [name] }

    /// Compared by name only: a user's policy may have another help text for the same name.
    static func == (lhs: Metric, rhs: Metric) -> Bool { lhs.name == rhs.name }
    func hash(into hasher: inout Hasher) { hasher.combine(name) }
    static func < (lhs: Metric, rhs: Metric) -> Bool { lhs.name < rhs.name }
}

/// Label values, except policies' names.
enum LabelValue {
    /// The pipeline label of a policy that is used without a pipeline.
    static let none = "none"
    /// The shared name of everything that comes after the limit of separate names is reached.
    static let other = "other"
}
