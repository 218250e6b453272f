public import Resilience

/// Builds the sources of a ``HealthMonitor``.
///
/// A pipeline, a policy, a registry or a queue in the list is an optional source without a name of its own.
@resultBuilder public enum HealthSourceBuilder {
    /// Returns a list of one source.
    ///
    /// - Parameter source: The source.
    public static func buildExpression(_ source: HealthSource) -> [HealthSource] { [source] }
    /// Returns a list that a function built.
    ///
    /// - Parameter sources: The list that the function returned.
    public static func buildExpression(_ sources: [HealthSource]) -> [HealthSource] { sources }
    /// Returns a list of one pipeline.
    ///
    /// - Parameter pipeline: The pipeline.
    public static func buildExpression(_ pipeline: Pipeline) -> [HealthSource] { [HealthSource(pipeline)] }
    /// Returns a list of one policy, cache or single flight.
    ///
    /// - Parameter policy: The policy.
    public static func buildExpression(_ policy: some StatusReporting) -> [HealthSource] { [HealthSource(policy)] }
    /// Returns a list of one queue.
    ///
    /// - Parameter queue: The queue.
    public static func buildExpression(_ queue: some StoredStatusReporting) -> [HealthSource] { [HealthSource(queue)] }
    /// Returns a list of one registry of pipelines.
    ///
    /// - Parameter registry: The registry.
    public static func buildExpression<Key>(_ registry: PolicyRegistry<Key, Pipeline>) -> [HealthSource] {
        [HealthSource(registry)]
    }
    /// Returns a list of one registry of policies.
    ///
    /// - Parameter registry: The registry.
    public static func buildExpression<Key, Value: StatusReporting>(
        _ registry: PolicyRegistry<Key, Value>
    ) -> [HealthSource] {
        [HealthSource(registry)]
    }
    /// Returns one list of all the parts.
    ///
    /// - Parameter parts: The parts, in order.
    public static func buildBlock(_ parts: [HealthSource]...) -> [HealthSource] { parts.flatMap { $0 } }
    /// Returns the sources of an `if` without `else`; none if its condition is false.
    ///
    /// - Parameter part: The sources; nil if the condition is false.
    public static func buildOptional(_ part: [HealthSource]?) -> [HealthSource] { part ?? [] }
    /// Returns the sources of the first branch of an `if` or `switch`.
    ///
    /// - Parameter first: The sources of the branch.
    public static func buildEither(first: [HealthSource]) -> [HealthSource] { first }
    /// Returns the sources of the second branch of an `if` or `switch`.
    ///
    /// - Parameter second: The sources of the branch.
    public static func buildEither(second: [HealthSource]) -> [HealthSource] { second }
    /// Returns one list of the sources from all iterations of a `for` loop.
    ///
    /// - Parameter parts: The sources of each iteration.
    public static func buildArray(_ parts: [[HealthSource]]) -> [HealthSource] { parts.flatMap { $0 } }
}
