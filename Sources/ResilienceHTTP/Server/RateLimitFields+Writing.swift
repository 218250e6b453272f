public import Resilience

extension RateLimitFields {
    /// Returns the fields with a client's remaining quotas: `RateLimit-Policy` and `RateLimit`, as structured fields
    /// (draft 10 of the IETF's RateLimit fields).
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
    /// - Parameter quotas: The quotas, such as `Throttle.quota`. A quota without a `limit` is not in the first field, a
    ///   quota without a `remaining` is not in the second.
    /// - Returns: The fields that have a value.
    public static func fields(for quotas: [ServerQuota]) -> [(name: String, value: String)] {
        var (policies, limits) = ("", "")
        for quota in quotas {
            let name = string(quota.name ?? "default")
            if let limit = quota.limit {
                policies.append(item: name, "q", limit)
                if let unit = quota.unit { policies += ";qu=\(string(unit))" }
                policies.append(seconds: quota.window, "w")
            }
            if let remaining = quota.remaining {
                limits.append(item: name, "r", remaining)
                limits.append(seconds: quota.resetsAfter, "t")
            }
        }
        var fields: [(name: String, value: String)] = []
        if !policies.isEmpty { fields.append(("RateLimit-Policy", policies)) }
        if !limits.isEmpty { fields.append(("RateLimit", limits)) }
        return fields
    }

    /// A structured string has only printable ASCII (RFC 9651 §3.3.3); a question mark stands for anything else.
    private static func string(_ value: String) -> String {
        // Most names need no change.
        if value.utf8.allSatisfy({ (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") })
        {
            return "\"\(value)\""
        }
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
}

extension String {
    fileprivate mutating func append(item name: String, _ key: String, _ number: Int) {
        if !isEmpty { self += ", " }
        self += name
        append(parameter: key, Int64(number))
    }

    fileprivate mutating func append(seconds: Duration?, _ key: String) {
        if let seconds { append(parameter: key, seconds.wholeSecondsRoundedUp) }
    }

    private mutating func append(parameter key: String, _ number: Int64) {
        self += ";"
        self += key
        self += "="
        // A structured integer has at most 15 digits (RFC 9651 §3.3.1).
        self += String(min(number, 999_999_999_999_999))
    }
}
