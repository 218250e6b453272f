/// For the supply of permits.
extension Throttle {
    var isShared: Bool { supply != nil }

    /// Returns the news since the last report, and begins a new report.
    package func takeReport() -> PermitReport {
        let now = base.now
        return state.withLock { $0.machine.takeReport(at: now) }
    }

    /// The present limit, which may have changed.
    package var limitToSupply: ThrottleLimit { state.withLock { $0.limit } }

    /// Receives permits from the supply, or the news that it has none now.
    /// - Parameter patience: How long a call waits to learn whether there are any.
    package func take(_ grant: PermitGrant, patience: Duration) {
        let now = base.now
        _ = change { state in
            state.machine.take(grant, asLeased: LeasedPermits(largest: state.limit.most, patience: patience), at: now)
        }
    }

    /// Makes the throttle count by itself, with this limit, because the supply is not available.
    package func standAlone(_ limit: ThrottleLimit) {
        let now = base.now
        _ = change { $0.machine.standAlone(limit, at: now) }
    }
}
