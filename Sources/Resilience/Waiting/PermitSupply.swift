/// The source of permits or tokens that several processes share.
package protocol PermitSupply: AnyObject, Sendable {
    /// Called when the policy has few permits or none, or has news. Any call of the policy may cause it, so it may be
    /// called often.
    /// - Parameter isUrgent: Whether other processes should know the news at once.
    func isWanted(isUrgent: Bool)
}
