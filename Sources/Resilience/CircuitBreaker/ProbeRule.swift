/// Decides whether a half-open circuit closes: how many probes of a round must succeed.
///
/// ```swift
/// // The first probe decides, as in Polly.
/// ThreeStateCircuit(closing: .successes(1))
/// // As Failsafe's success threshold.
/// ThreeStateCircuit(closing: .successes(3, of: 5))
/// // As resilience4j's permitted calls.
/// ThreeStateCircuit(closing: .failureRatio(0.5, of: 10))
/// ```
///
/// A round is decided as soon as no later probe can change the result. It counts at most `probes` ends. A probe that
/// was cancelled, was rejected by an inner policy, or took longer than its lease does not count: another probe takes
/// its place.
public struct ProbeRule: SettingsGroup, CustomStringConvertible {
    /// How many probes count in one round; `successes` or more, `successes` by default.
    public private(set) var probes: Int
    /// How many successes close the circuit; 1 or more, at most `probes`, required.
    public private(set) var successes: Int

    /// How many failures open the circuit again: after these, `successes` can no longer be reached.
    public var failures: Int { probes - successes + 1 }

    /// Closes on this many successes; the first failure opens the circuit again.
    ///
    /// - Parameter successes: 1 or more.
    public static func successes(_ successes: Int) -> ProbeRule {
        ProbeRule(probes: max(1, successes), successes: successes).valid()
    }

    /// Closes on this many successes; opens again as soon as they can no longer be reached.
    ///
    /// - Parameters:
    ///   - successes: 1 to `probes`.
    ///   - probes: How many probes count in one round; 1 or more.
    public static func successes(_ successes: Int, of probes: Int) -> ProbeRule {
        ProbeRule(probes: probes, successes: successes).valid()
    }

    /// Opens again when this share of the probes has failed; closes as soon as that share can no longer be reached.
    ///
    /// - Parameters:
    ///   - ratio: Above 0, at most 1.
    ///   - probes: How many probes count in one round; 1 or more.
    public static func failureRatio(_ ratio: Double, of probes: Int) -> ProbeRule {
        let probes = ProbeRule(probes: probes, successes: 1).valid().probes
        let ratio = SettingChecks("ProbeRule").require(
            ratio > 0 && ratio <= 1, ratio, "ratio", "must be above 0 and at most 1", else: 1)
        // The smallest number of failures that reaches the ratio, by binary search, since there may be many probes.
        var (failures, enough) = (1, probes)
        while failures < enough {
            let middle = failures + (enough - failures) / 2
            // Divided, not multiplied, as in FailuresInWindow.
            if Double(middle) / Double(probes) >= ratio { enough = middle } else { failures = middle + 1 }
        }
        return ProbeRule(probes: probes, successes: probes - failures + 1)
    }

    public var description: String {
        let count = failures == 1 ? "\(successes)" : "\(successes) of \(probes)"
        return "closing on \(count) success\(probes == 1 ? "" : "es")"
    }

    /// `{"successes": 3, "probes": 5}`; without `probes`, each probe must succeed.
    public static let schema = SettingsSchema(
        "ProbeRule", standard: ProbeRule(probes: 1, successes: 1),
        [
            SettingField("successes", \.successes, .atLeast(1), need: .required),
            SettingField("probes", \.probes, .atLeast(1), need: .conditional("`successes`")),
        ]
    ) { rule, given in
        guard given.areSound("successes", "probes") else { return }
        if !given.has("probes") { rule.probes = rule.successes }
        if rule.successes > rule.probes {
            given.note("successes", "\(rule.successes)", "must lie in 1...\(rule.probes)")
        }
    }
}
