/// Brings a policy permits, or tokens, that several processes have together.
package protocol PermitSupply: AnyObject, Sendable {
    /// The policy has few or none, or something to tell. Called often, by any call.
    /// - Parameter isUrgent: Whether it has something to tell that others should know at once.
    func isWanted(isUrgent: Bool)
}
