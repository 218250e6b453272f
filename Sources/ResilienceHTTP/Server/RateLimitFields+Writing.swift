public import Resilience

extension RateLimitFields {
    /// Returns the fields in which a server tells a client what it has left of its limits: `RateLimit-Policy` and
    /// `RateLimit`, as structured fields (draft 10 of the IETF's RateLimit fields).
    ///
    /// ```swift
    /// // RateLimit-Policy: "requests";q=20;w=2
    /// // RateLimit: "requests";r=19
    /// for (name, value) in RateLimitFields.fields(for: [quota]) {
    ///     response.headers.add(name: name, value: value)
    /// }
    /// ```
    ///
    /// A quota without a name is called "default". Times are in whole seconds, rounded up.
    /// - Parameter quotas: What is left of each limit, such as `Throttle.quota`. One that has no `limit` is
    ///   left out of the first field, one that has no `remaining` out of the second.
    /// - Returns: The fields that have a value.
    public static func fields(for quotas: [ServerQuota]) -> [(name: String, value: String)] {
        let policies = quotas.compactMap { quota in
            quota.limit.map { limit in
                let unit = quota.unit.map { ";qu=\(string($0))" } ?? ""
                return "\(name(of: quota));q=\(integer(Int64(limit)))\(unit)\(seconds("w", quota.window))"
            }
        }
        let limits = quotas.compactMap { quota in
            quota.remaining.map { "\(name(of: quota));r=\(integer(Int64($0)))\(seconds("t", quota.resetsAfter))" }
        }
        return [("RateLimit-Policy", policies), ("RateLimit", limits)].filter { !$0.1.isEmpty }.map {
            (name: $0.0, value: $0.1.joined(separator: ", "))
        }
    }

    private static func name(of quota: ServerQuota) -> String { string(quota.name ?? "default") }

    /// A structured string has only printable ASCII (RFC 9651 §3.3.3); a question mark stands for anything else.
    private static func string(_ value: String) -> String {
        var text = "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"", "\\":
                text += "\\"
                text.unicodeScalars.append(scalar)
            case " "..."~": text.unicodeScalars.append(scalar)
            default: text += "?"
            }
        }
        return text + "\""
    }

    private static func seconds(_ key: String, _ duration: Duration?) -> String {
        duration.map { ";\(key)=\(integer($0.wholeSecondsRoundedUp))" } ?? ""
    }

    /// A structured integer has at most 15 digits (RFC 9651 §3.3.1).
    private static func integer(_ number: Int64) -> Int64 { min(number, 999_999_999_999_999) }
}
