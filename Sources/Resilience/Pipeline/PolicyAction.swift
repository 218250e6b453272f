/// An action that an operator can take on a policy in its present state.
public struct PolicyAction: Sendable, Hashable, Encodable {
    /// The name that ``StatusReporting/perform(_:)`` receives.
    public let name: String
    /// The title of a button.
    public let title: String
    /// The confirmation question.
    ///
    /// `%` stands for the policy's name.
    public let question: String

    /// Creates an action.
    ///
    /// - Parameters:
    ///   - name: The name that ``StatusReporting/perform(_:)`` receives.
    ///   - title: The title of a button.
    ///   - question: The confirmation question. `%` stands for the policy's name.
    public init(_ name: String, _ title: String, _ question: String) {
        self.name = name
        self.title = title
        self.question = question
    }
}
