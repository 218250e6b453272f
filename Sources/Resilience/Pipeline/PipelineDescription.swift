extension Pipeline: CustomStringConvertible {
    /// The name, then the policies, outermost first, a line each.
    public var description: String {
        ([name] + elements.map { "  \($0)" }).joined(separator: "\n")
    }

    /// The known mistakes in the order of the policies, as their ``PolicyTraits`` tell; empty if there are none. For a test,
    /// or a log line at start-up.
    public var warnings: [String] {
        elements.indices.flatMap { outer in
            elements[(outer + 1)...].flatMap { inner in
                elements[outer].traits.mistakes(around: inner.traits)
                    .map { "\(elements[outer].name) around \(inner.name): \($0)" }
            }
        }
    }
}
