extension Pipeline: CustomStringConvertible {
    /// The pipeline's name, then its policies, outermost first, one per line.
    public var description: String {
        ([name] + elements.map { "  \($0)" }).joined(separator: "\n")
    }

    /// The known mistakes in the order of the policies, found from their ``PolicyTraits``; empty if there are none.
    ///
    /// Expect it to be empty in a test, or log it at start-up.
    public var warnings: [String] {
        elements.indices.flatMap { outer in
            elements[(outer + 1)...].flatMap { inner in
                elements[outer].traits.mistakes(around: inner.traits)
                    .map { "\(elements[outer].name) around \(inner.name): \($0)" }
            }
        }
    }
}
