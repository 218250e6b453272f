extension Pipeline {
    /// One policy of a pipeline, of either sort.
    public enum Element: Sendable, CustomStringConvertible {
        case policy(any Policy)
        case around(any AroundPolicy)

        /// The name of the policy.
        public var name: String {
            switch self {
            case .policy(let policy): policy.name
            case .around(let around): around.name
            }
        }

        /// nil for a struct.
        var object: AnyObject? {
            switch self {
            case .policy(let policy): type(of: policy) is AnyObject.Type ? policy as AnyObject : nil
            case .around(let around): type(of: around) is AnyObject.Type ? around as AnyObject : nil
            }
        }

        /// What it does to calls.
        public var traits: PolicyTraits {
            switch self {
            case .policy(let policy): policy.traits
            case .around(let around): around.traits
            }
        }

        public var description: String {
            switch self {
            case .policy(let policy): policy.description
            case .around(let around): around.description
            }
        }
    }
}

/// Collects the policies of a ``Pipeline``, outermost first. A pipeline named inside gives its own policies.
@resultBuilder public enum PipelineBuilder {
    public static func buildExpression(_ policy: any Policy) -> [Pipeline.Element] { [.policy(policy)] }
    public static func buildExpression(_ around: some AroundPolicy) -> [Pipeline.Element] { [.around(around)] }
    public static func buildExpression(_ inner: Pipeline) -> [Pipeline.Element] { inner.elements }
    public static func buildBlock(_ parts: [Pipeline.Element]...) -> [Pipeline.Element] { parts.flatMap { $0 } }
    public static func buildOptional(_ part: [Pipeline.Element]?) -> [Pipeline.Element] { part ?? [] }
    public static func buildEither(first: [Pipeline.Element]) -> [Pipeline.Element] { first }
    public static func buildEither(second: [Pipeline.Element]) -> [Pipeline.Element] { second }
    public static func buildArray(_ parts: [[Pipeline.Element]]) -> [Pipeline.Element] { parts.flatMap { $0 } }
}
