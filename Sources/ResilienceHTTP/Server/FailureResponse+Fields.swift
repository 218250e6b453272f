extension FailureResponse {
    /// The fields of the response, each name once: `Retry-After`, `x-should-retry`, `x-envoy-overloaded`,
    /// `RateLimit-Policy`, `RateLimit`, and the type of the body.
    ///
    /// `Retry-After` is in whole seconds, rounded up, and at least 1, so that no client returns too early or at once.
    public var fields: [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        if let retryAfter {
            fields.append(("Retry-After", RetryAfter.value(for: retryAfter, longest: longestRetryAfter)))
        }
        if let shouldRetry {
            fields.append(("x-should-retry", "\(shouldRetry)"))
            // For Envoy, which then does not repeat the request.
            if !shouldRetry { fields.append(("x-envoy-overloaded", "true")) }
        }
        if let quota { fields += RateLimitFields.fields(for: [quota]) }
        if hasBody { fields.append(("Content-Type", "application/problem+json")) }
        return fields
    }

    /// The body of the response: a problem in JSON (RFC 9457).
    ///
    /// Empty if ``hasBody`` is false.
    ///
    /// Its members are `type` ("about:blank"), `title` (the status's own phrase), `status`, and ``detail``.
    public var problem: String {
        guard hasBody else { return "" }
        var members = [#""type":"about:blank""#]
        if let phrase { members.append("\"title\":\(Self.json(phrase))") }
        members.append("\"status\":\(status)")
        if let detail { members.append("\"detail\":\(Self.json(detail))") }
        return "{\(members.joined(separator: ","))}"
    }

    /// The phrase of the status; nil for a status that this type does not create itself.
    package var phrase: String? {
        switch status {
        case 429: "Too Many Requests"
        // Not a registered status; nginx and others log it for requests whose client has disconnected.
        case 499: "Client Closed Request"
        case 500: "Internal Server Error"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        default: nil
        }
    }

    private static func json(_ text: String) -> String {
        var json = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": json += "\\\""
            case "\\": json += "\\\\"
            case "\u{0}"..<" ":
                let digits = String(scalar.value, radix: 16)
                json += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: json.unicodeScalars.append(scalar)
            }
        }
        return json + "\""
    }
}
