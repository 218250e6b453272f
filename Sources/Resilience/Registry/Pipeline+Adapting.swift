extension Pipeline {
    /// Returns the other pipeline, but with this pipeline's stateful policies if they can take over the new settings:
    /// with their counts, permits and waiting calls.
    ///
    /// Unlike `reconfigured(like:)`, the two may have different policies. A policy continues in place of the first
    /// policy of its type and name. Calls in flight end in the pipeline in which they began.
    /// - Parameter other: The pipeline with the new settings.
    /// - Returns: The pipeline, and the names of this pipeline's stateful policies that were dropped.
    package func adapted(to other: Pipeline) -> (pipeline: Pipeline, dropped: [String]) {
        var rest = elements.filter { $0.entry != nil || $0.policy is any CircuitBreakerOwner }
        let merged = other.elements.map { new in
            guard timeBase === other.timeBase else { return new }
            for (index, old) in rest.enumerated() where old.name == new.name {
                guard let kept = old.reconfigured(like: new) else { continue }
                rest.remove(at: index)
                return kept
            }
            return new
        }
        endGameDays(rest)
        return (Pipeline(like: other, elements: merged), rest.map(\.name))
    }
}
