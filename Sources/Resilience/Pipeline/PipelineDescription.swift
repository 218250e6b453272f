extension Pipeline: CustomStringConvertible {
    /// The name, then the policies, outermost first, a line each.
    public var description: String {
        ([name] + elements.map { "  \($0)" }).joined(separator: "\n")
    }

    /// What in the order of the policies is a known mistake; empty if nothing is. For a test, or a log line at start-up.
    public var warnings: [String] {
        elements.indices.flatMap { outer in
            elements[(outer + 1)...].compactMap { inner in Self.warning(outer: elements[outer], inner: inner) }
        }
    }

    private static func warning(outer: Element, inner: Element) -> String? {
        guard case .policy(let outer) = outer, case .policy(let inner) = inner else { return nil }
        switch (outer, inner) {
        case (let outer as Retry, let inner as Retry):
            let attempts = outer.configuration.maxAttempts.saturatingMultiplied(by: inner.configuration.maxAttempts)
            return "\(outer.name) around \(inner.name): attempts multiply, up to \(attempts) a call"
        case (let outer as Retry, is CircuitBreaker) where outer.configuration.verdicts.contains(.rejected):
            return "\(outer.name) around \(inner.name): what an open circuit refuses is tried again, call after call"
        case (is Bulkhead, is Retry):
            return "\(outer.name) around \(inner.name): a call keeps its permit while it waits to try again"
        case (is Throttle, is Retry):
            return "\(outer.name) around \(inner.name): only the first attempt of a call is throttled"
        case (is Throttle, is CircuitBreaker), (is Bulkhead, is CircuitBreaker):
            return "\(outer.name) around \(inner.name): calls wait their turn only to be refused by an open circuit"
        case (is Bulkhead, let inner as Throttle) where inner.waits:
            return "\(outer.name) around \(inner.name): a call keeps its permit while it waits for its turn"
        case (let outer as CircuitBreaker, is Retry) where outer.watchesCalls:
            return waitsCountAsSlowness(outer, inner)
        case (let outer as CircuitBreaker, let inner as Throttle) where outer.watchesCalls && inner.waits:
            return waitsCountAsSlowness(outer, inner)
        case (let outer as CircuitBreaker, let inner as Bulkhead)
        where outer.watchesCalls && inner.status.queueLimit > 0:
            return waitsCountAsSlowness(outer, inner)
        default:
            return nil
        }
    }

    private static func waitsCountAsSlowness(_ outer: any Policy, _ inner: any Policy) -> String {
        "\(outer.name) around \(inner.name): its waits count as the endpoint's slowness"
    }
}
