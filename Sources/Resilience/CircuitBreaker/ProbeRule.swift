/// What a half-open circuit decides by: how many of how many probes must succeed.
///
/// ```swift
/// ThreeStateCircuit(closing: .successes(1))                 // the first probe decides, as in Polly
/// ThreeStateCircuit(closing: .successes(3, of: 5))          // as Failsafe's success threshold
/// ThreeStateCircuit(closing: .failureRatio(0.5, of: 10))    // as resilience4j's permitted calls
/// ```
///
/// A round is decided as soon as no later probe can change it. It counts no more than `probes` ends in all: a probe that says
/// nothing (cancelled, rejected further in, or its lease over) gives its place to another, and is not counted.
public struct ProbeRule: Sendable, Hashable, CustomStringConvertible {
    /// Probes that count in one round.
    public let probes: Int
    /// Successes that close the circuit.
    public let successes: Int

    /// Failures that open it again: after these, `successes` are out of reach.
    public var failures: Int { probes - successes + 1 }

    private static let checks = SettingChecks("ProbeRule")

    /// Closes when this many probes have succeeded; one that fails opens the circuit again.
    /// - Parameter successes: 1 or more.
    public static func successes(_ successes: Int) -> ProbeRule {
        let successes = checks.atLeast(1, successes, "successes")
        return ProbeRule(probes: successes, successes: successes)
    }

    /// Closes when this many of the probes have succeeded, and opens again when they can't any more.
    /// - Parameters:
    ///   - successes: 1 to `probes`.
    ///   - probes: 1 or more.
    public static func successes(_ successes: Int, of probes: Int) -> ProbeRule {
        let probes = checks.atLeast(1, probes, "probes")
        return ProbeRule(probes: probes, successes: checks.within(1...probes, successes, "successes"))
    }

    /// Opens again when this share of the probes has failed, and closes when it can't any more.
    /// - Parameters:
    ///   - ratio: above 0, at most 1.
    ///   - probes: 1 or more.
    public static func failureRatio(_ ratio: Double, of probes: Int) -> ProbeRule {
        let probes = checks.atLeast(1, probes, "probes")
        let ratio = checks.ratio(ratio, "ratio")
        // The first number that reaches it, by halving: they may be many.
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
}
