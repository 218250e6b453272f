/// What can be done by hand with a policy in its present state, for an operator's page.
public struct PolicyAction: Sendable, Hashable, Encodable {
    /// What ``StatusReporting/perform(_:)`` is given.
    public let name: String
    /// What a button says.
    public let title: String
    /// What is asked before it is done. `%` stands for the policy's name.
    public let question: String

    /// Creates an action.
    /// - Parameters:
    ///   - name: What ``StatusReporting/perform(_:)`` is given.
    ///   - title: What a button says.
    ///   - question: What is asked before it is done. `%` stands for the policy's name.
    public init(_ name: String, _ title: String, _ question: String) {
        self.name = name
        self.title = title
        self.question = question
    }
}
