/// The behavior of a limit while the engine is unavailable.
public enum FleetFallback: String, Sendable, Hashable, Codable, CaseIterable {
    /// Each process keeps an equal part of the limit: the limit divided by the number of processes in the engine's last
    /// answer.
    case localShare
    /// Calls are not limited.
    ///
    /// For a limit that saves cost, where a wrong rejection is worse than an excess call.
    case open
    /// Calls are rejected.
    ///
    /// For a limit that must never be exceeded.
    case closed
}
