/// Decides by a round of probes whether a half-open circuit closes: how many of how many must succeed.
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
/// was cancelled, was rejected by an inner policy, or took longer than its lease does not count: another one takes its
/// place.
public struct ProbeRule: Sendable, Hashable, CustomStringConvertible {
    /// How many probes count in one round.
    public let probes: Int
    /// How many successes close the circuit.
    public let successes: Int

    /// How many failures open the circuit again: after these, `successes` are out of reach.
    public var failures: Int { probes - successes + 1 }

    private static let checks = SettingChecks("ProbeRule")

    /// Closes on this many successes; the first failure opens the circuit again.
    /// - Parameter successes: 1 or more.
    public static func successes(_ successes: Int) -> ProbeRule {
        let successes = checks.atLeast(1, successes, "successes")
        return ProbeRule(probes: successes, successes: successes)
    }

    /// Closes on this many successes; opens again as soon as they are out of reach.
    /// - Parameters:
    ///   - successes: 1 to `probes`.
    ///   - probes: How many probes count in one round; 1 or more.
    public static func successes(_ successes: Int, of probes: Int) -> ProbeRule {
        let probes = checks.atLeast(1, probes, "probes")
        return ProbeRule(probes: probes, successes: checks.within(1...probes, successes, "successes"))
    }

    /// Opens again when this share of the probes has failed; closes as soon as that is out of reach.
    /// - Parameters:
    ///   - ratio: Above 0, at most 1.
    ///   - probes: How many probes count in one round; 1 or more.
    public static func failureRatio(_ ratio: Double, of probes: Int) -> ProbeRule {
        let probes = checks.atLeast(1, probes, "probes")
        let ratio = checks.ratio(ratio, "ratio")
        // The smallest number that reaches the ratio, by binary search, since there may be many probes.
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

/// `{"successes": 3, "probes": 5}`; without `probes`, each probe must succeed.
extension ProbeRule: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case successes, probes
    }

    public init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "ProbeRule", by: CodingKeys.self) { reader in
            let successes = reader.require(reader.value(.successes), .successes, else: 1)
            return reader.value(.probes).map { .successes(successes, of: $0) } ?? .successes(successes)
        }
    }
}
