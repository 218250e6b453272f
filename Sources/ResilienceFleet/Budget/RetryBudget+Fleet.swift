public import Resilience

extension RetryBudget {
    /// A budget of tokens that all processes of a fleet share; see
    /// ``/Resilience/RetryBudget/tokens(capacity:cost:throttledCost:)``.
    ///
    /// Each process holds tokens for two retries, and more while it needs them. The tokens that its successes restore
    /// go to all processes. A retry does not ask the engine: without held tokens, there is no retry. The tokens held by
    /// a process that is gone, or has used none for 100 leases, return to the other processes.
    ///
    /// - Parameters:
    ///   - name: The name of the budget in the fleet.
    ///   - fleet: The processes.
    ///   - fallback: The budget's behavior while the engine is unavailable: successes restore tokens to this process,
    ///     up to its equal part of the capacity; or all retries are allowed; or no retry is.
    ///   - capacity: The number of tokens at the start, and the largest number, over all processes; 0 or more.
    ///   - cost: The tokens for a retry after any failure but a 429; 1 or more.
    ///   - throttledCost: The tokens for a retry after a 429; 1 or more.
    public static func tokens(
        _ name: String, in fleet: Fleet, whenAway fallback: FleetFallback = .localShare, capacity: Int = 500,
        cost: Int = 14, throttledCost: Int = 5
    ) -> RetryBudget {
        // The engine counts in doubles.
        func counted(_ tokens: Int, atLeast least: Int) -> Int { min(max(least, tokens), 1 << 50) }
        let settings = TokenStateMachine.Settings(
            capacity: counted(capacity, atLeast: 0), cost: counted(cost, atLeast: 1),
            throttledCost: counted(throttledCost, atLeast: 1))
        let link = BudgetLink(fleet: fleet, key: fleet.key("budget1", name), settings: settings, fallback: fallback)
        let checks = SettingChecks("RetryBudget")
        let budget = RetryBudget(
            LeasedTokens(
                capacity: checks.atLeast(0, capacity, "capacity"), cost: checks.atLeast(1, cost, "cost"),
                throttledCost: checks.atLeast(1, throttledCost, "throttledCost")), supply: link)
        link.link(budget)
        return budget
    }
}
