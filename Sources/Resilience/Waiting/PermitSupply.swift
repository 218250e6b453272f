/// Brings permits or tokens that several processes share to a policy.
package protocol PermitSupply: AnyObject, Sendable {
    /// The policy has few or none, or has news. Called often, by any call.
    /// - Parameter isUrgent: Whether others should know the news at once.
    func isWanted(isUrgent: Bool)
}
