extension Pipeline {
    /// A policy in a pipeline's list.
    public struct Element: Sendable, CustomStringConvertible {
        package enum Kind {
            case policy(any Policy)
            case around(any AroundPolicy)
        }

        let kind: Kind

        package init(kind: Kind) { self.kind = kind }

        /// The policy's name.
        public var name: String {
            switch kind {
            case .policy(let policy): policy.name
            case .around(let around): around.name
            }
        }

        /// The policy itself.
        var policy: Any {
            switch kind {
            case .policy(let policy): policy
            case .around(let around): around
            }
        }

        /// The policy, if it is an object; nil for a struct.
        var object: AnyObject? { type(of: policy) is AnyObject.Type ? policy as AnyObject : nil }

        /// The policy's effects on calls.
        var traits: PolicyTraits {
            switch kind {
            case .policy(let policy): policy.traits
            case .around(let around): around.traits
            }
        }

        public var description: String {
            switch kind {
            case .policy(let policy): policy.description
            case .around(let around): around.description
            }
        }
    }
}

/// Builds the list of a ``Pipeline``'s policies, outermost first.
///
/// A pipeline in the list contributes its policies.
@resultBuilder public enum PipelineBuilder {
    /// Returns a list of one policy.
    ///
    /// - Parameter policy: A policy of the pipeline.
    public static func buildExpression(_ policy: any Policy) -> [Pipeline.Element] {
        [Pipeline.Element(kind: .policy(policy))]
    }
    /// Returns a list of one around policy.
    ///
    /// - Parameter around: An around policy of the pipeline.
    public static func buildExpression(_ around: some AroundPolicy) -> [Pipeline.Element] {
        [Pipeline.Element(kind: .around(around))]
    }
    /// Returns a list of one policy of another pipeline.
    ///
    /// - Parameter element: The policy, from the other pipeline's ``Pipeline/elements``.
    public static func buildExpression(_ element: Pipeline.Element) -> [Pipeline.Element] { [element] }
    /// Returns a list that a function built.
    ///
    /// - Parameter elements: The list that the function returned; the function is marked with `@PipelineBuilder`.
    public static func buildExpression(_ elements: [Pipeline.Element]) -> [Pipeline.Element] { elements }
    /// Returns the list of the policies of a nested pipeline.
    ///
    /// - Parameter inner: The nested pipeline. Its name, classifier, observers and `isIdempotent` are not used.
    public static func buildExpression(_ inner: Pipeline) -> [Pipeline.Element] { inner.elements }
    /// Returns one list of all the parts.
    ///
    /// - Parameter parts: The parts, outermost first.
    public static func buildBlock(_ parts: [Pipeline.Element]...) -> [Pipeline.Element] { parts.flatMap { $0 } }
    /// Returns the policies of an `if` without `else`; none if its condition is false.
    ///
    /// - Parameter part: The policies; nil if the condition is false.
    public static func buildOptional(_ part: [Pipeline.Element]?) -> [Pipeline.Element] { part ?? [] }
    /// Returns the policies of the first branch of an `if` or `switch`.
    ///
    /// - Parameter first: The policies of the branch.
    public static func buildEither(first: [Pipeline.Element]) -> [Pipeline.Element] { first }
    /// Returns the policies of the second branch of an `if` or `switch`.
    ///
    /// - Parameter second: The policies of the branch.
    public static func buildEither(second: [Pipeline.Element]) -> [Pipeline.Element] { second }
    /// Returns one list of the policies from all iterations of a `for` loop.
    ///
    /// - Parameter parts: The policies of each iteration, outermost first.
    public static func buildArray(_ parts: [[Pipeline.Element]]) -> [Pipeline.Element] { parts.flatMap { $0 } }
}
