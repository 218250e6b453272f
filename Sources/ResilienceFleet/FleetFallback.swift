/// What a limit does while the engine is away.
public enum FleetFallback: String, Sendable, Hashable, Codable, CaseIterable {
    /// Each process keeps an equal part of the limit: the limit by the number of processes that the engine told last.
    case localShare
    /// Calls are not limited. For a limit that saves cost, where a wrong rejection is worse than a call too many.
    case open
    /// Calls are rejected. For a limit that must never be exceeded.
    case closed
}
