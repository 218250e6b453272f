/// A quota that a server reports to its client, such as `RateLimit: "default";r=0;t=30`.
///
/// `RateLimitFields` of ResilienceHTTP reads it from the fields of a response. Pass it to
/// ``Pipeline/note(_:)``, so that the pipeline's throttles hold all calls before the first 429.
public struct ServerQuota: Sendable, Hashable {
    /// The limit's name, such as "default" or "tokens"; nil if it has none.
    public let name: String?
    /// What the server counts, such as "content-bytes" or "tokens"; nil if it counts requests.
    public let unit: String?
    /// The units that a client may use in one window; nil if the server does not say.
    public let limit: Int?
    /// The units that are left, 0 or more; nil if the server does not say.
    public let remaining: Int?
    /// The time until the server gives new units, 0 or more; nil if the server does not say.
    public let resetsAfter: Duration?
    /// The length of a window; nil if the server does not say.
    public let window: Duration?

    /// Creates a quota.
    ///
    /// Values below 0 count as 0.
    ///
    /// - Parameters:
    ///   - name: The limit's name.
    ///   - unit: What the server counts; nil, "request" and "requests" mean requests.
    ///   - limit: The units that a client may use in one window.
    ///   - remaining: The units that are left.
    ///   - resetsAfter: How long until the server gives new units.
    ///   - window: The length of a window.
    public init(
        name: String? = nil, unit: String? = nil, limit: Int? = nil, remaining: Int? = nil,
        resetsAfter: Duration? = nil, window: Duration? = nil
    ) {
        self.name = name
        self.unit = unit == "requests" || unit == "request" ? nil : unit
        self.limit = limit.map { max(0, $0) }
        self.remaining = remaining.map { max(0, $0) }
        self.resetsAfter = resetsAfter.map { min(max(.zero, $0), .infinite) }
        self.window = window.map { min(max(.zero, $0), .infinite) }
    }

    /// The time in which no call can succeed: until the reset, if no units are left; otherwise nil.
    ///
    /// Also nil if the server does not say when it resets.
    public var wait: Duration? { remaining == 0 ? resetsAfter.flatMap { $0 > .zero ? $0 : nil } : nil }

    /// The quota in requests. If the server counts another unit, the result reports only that nothing is left until the
    /// reset, and is nil if something is left.
    package var ofRequests: ServerQuota? {
        unit == nil ? self : wait.map { ServerQuota(name: name, remaining: 0, resetsAfter: $0) }
    }
}

extension Throttle {
    /// Notes a quota that a server reports.
    ///
    /// If nothing is left, the throttle holds all calls until the reset, but no longer than its `maxHold`, and then
    /// lets one call probe, as after a 429.
    ///
    /// - Parameter quota: The server's report.
    public func note(_ quota: ServerQuota) {
        guard let wait = quota.wait, terms.maxHold > .zero else { return }
        hold(for: min(wait, terms.maxHold))
    }
}

extension Pipeline {
    /// Passes a quota that a server reports to the throttles of this pipeline: see ``Throttle/note(_:)``.
    ///
    /// - Parameter quota: The server's report.
    public func note(_ quota: ServerQuota) {
        guard quota.wait != nil else { return }
        for throttle in policies(of: Throttle.self) { throttle.note(quota) }
    }
}
