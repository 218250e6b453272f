extension Pipeline {
    /// Returns this pipeline with a substitute for failed calls.
    ///
    /// - Parameters:
    ///   - name: The name in events.
    ///   - verdicts: The failures that get a substitute; neither success nor cancelled. By default without
    ///     ``Verdict/permanent``: a permanent failure is a valid answer, which a substitute would hide.
    ///   - substitute: Returns the value to hand back instead; nil lets the failure stand. If it throws, its error is
    ///     thrown.
    /// - Returns: The pipeline with its fallback.
    public func withFallback<Value>(
        _ name: String = "fallback", on verdicts: VerdictSet = .outages,
        _ substitute: @escaping Fallback<Value>.Substitute
    ) -> Fallback<Value> {
        Fallback(name, around: self, on: verdicts, substitute)
    }

    /// Returns this pipeline with a constant for failed calls: degraded mode.
    ///
    /// See ``withFallback(_:on:_:)``.
    ///
    /// - Parameters:
    ///   - name: The name in events.
    ///   - value: The constant.
    ///   - verdicts: The failures that get the constant; neither success nor cancelled.
    /// - Returns: The pipeline with its fallback.
    public func withFallback<Value: Sendable>(
        _ name: String = "fallback", to value: Value, on verdicts: VerdictSet = .outages
    ) -> Fallback<Value> {
        Fallback(name, around: self, on: verdicts) { _ in value }
    }

    /// Returns this pipeline with its last good result for failed calls: cached data.
    ///
    /// See ``withFallback(_:on:_:)``.
    ///
    /// - Parameters:
    ///   - name: The name in events.
    ///   - lastGood: Stores every success, and is asked after a failure. It must have the pipeline's time base;
    ///     otherwise this traps.
    ///   - verdicts: The failures that get a substitute; neither success nor cancelled.
    ///   - substitute: Returns the value to hand back if `lastGood` has no result, or only one that is too old.
    /// - Returns: The pipeline with its fallback.
    public func withFallback<Value: Sendable>(
        _ name: String = "fallback", toLastGood lastGood: LastGood<Value>, on verdicts: VerdictSet = .outages,
        otherwise substitute: @escaping Fallback<Value>.Substitute = { _ in nil }
    ) -> Fallback<Value> {
        precondition(
            lastGood.timeBase === timeBase,
            "Fallback: lastGood has another time base than the pipeline \"\(self.name)\"")
        return Fallback(name, around: self, on: verdicts, keep: { lastGood.keep($0) }) { failure in
            if let value = lastGood.value { return value }
            return try await substitute(failure)
        }
    }
}

extension VerdictSet {
    /// The failures that are not the caller's: transient, uncertain, throttled, rejected.
    public static let outages: VerdictSet = [.transient, .uncertain, .throttled, .rejected]
}
