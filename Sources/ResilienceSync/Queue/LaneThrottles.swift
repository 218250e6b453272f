/// Lanes that are throttled while others get through: by a limit of their own, of one tenant, say.
///
/// A 429 pauses all, so each attempt of such a lane costs the others a pause. One that was throttled several times in a row,
/// while others got through in between, is held back, longer each time.
struct LaneThrottles: Sendable, Hashable {
    /// So often in a row is no accident: where the limit is everybody's, it seldom meets the same lane twice.
    static let enough = 3
    /// Lanes that are remembered.
    private static let most = 1_000

    /// How often each was throttled in a row.
    private var times: [String: Int] = [:]
    /// Those that were throttled since anybody got through.
    private var waiting: Set<String> = []

    mutating func delivered(_ lane: String) {
        times[lane] = nil
        waiting.removeAll()
    }

    /// - Returns: how often before it was held back; nil if it is not to be.
    mutating func throttled(_ lane: String) -> Int? {
        if waiting.insert(lane).inserted, times[lane] != nil || times.count < Self.most {
            times[lane, default: 0] += 1
        }
        guard let times = times[lane], times >= Self.enough else { return nil }
        return times - Self.enough
    }
}
