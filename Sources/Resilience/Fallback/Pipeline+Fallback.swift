extension Pipeline {
    /// This pipeline with a substitute for what fails.
    ///
    /// - Parameters:
    ///   - name: names it in events.
    ///   - verdicts: which failures have a substitute. By default all but ``Verdict/permanent``: that answer holds, and a
    ///     substitute would hide it.
    ///   - substitute: what to hand back instead; nil if there is nothing. What it throws is thrown.
    public func withFallback<Value>(
        _ name: String = "fallback", on verdicts: VerdictSet = .outages,
        _ substitute: @escaping Fallback<Value>.Substitute
    ) -> Fallback<Value> {
        Fallback(name, around: self, on: verdicts, substitute)
    }

    /// Degraded mode: this pipeline with a constant for what fails. See ``withFallback(_:on:_:)``.
    public func withFallback<Value: Sendable>(
        _ name: String = "fallback", to value: Value, on verdicts: VerdictSet = .outages
    ) -> Fallback<Value> {
        Fallback(name, around: self, on: verdicts) { _ in value }
    }

    /// Cached data: this pipeline with its last good result for what fails. See ``withFallback(_:on:_:)``.
    ///
    /// - Parameters:
    ///   - lastGood: is given every success, and asked after a failure. It lives in the pipeline's time base.
    ///   - substitute: what to hand back if it has nothing, or nothing that is fresh enough.
    public func withFallback<Value: Sendable>(
        _ name: String = "fallback", toLastGood lastGood: LastGood<Value>, on verdicts: VerdictSet = .outages,
        otherwise substitute: @escaping Fallback<Value>.Substitute = { _ in nil }
    ) -> Fallback<Value> {
        precondition(
            lastGood.timeBase === timeBase,
            "Fallback: lastGood lives in another time base than the pipeline \"\(self.name)\"")
        return Fallback(name, around: self, on: verdicts, keep: { lastGood.keep($0) }) { failure in
            if let value = lastGood.value { return value }
            return try await substitute(failure)
        }
    }
}

extension VerdictSet {
    /// The failures that are the other side's or ours, and not the caller's: transient, uncertain, throttled, rejected.
    public static let outages: VerdictSet = [.transient, .uncertain, .throttled, .rejected]
}
