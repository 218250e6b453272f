/// Finds lanes that are throttled while others get through: they have their own limit, for example of one tenant.
///
/// A 429 pauses all lanes, so each attempt of such a lane costs the others a pause. A lane that was throttled several
/// times in a row, while others got through in between, is held back, longer each time.
struct LaneThrottles: Sendable, Hashable {
    /// This many times in a row is no accident: a limit shared by all lanes rarely hits the same lane this often.
    static let enough = 3
    /// The most lanes to remember.
    private static let most = 1_000

    /// How often each lane was throttled in a row.
    private var times: [String: Int] = [:]
    /// The lanes that were throttled since any lane got through.
    private var waiting: Set<String> = []

    /// Whether the lane is held back for its own limit.
    func isLimited(_ lane: String) -> Bool { times[lane, default: 0] >= Self.enough }

    mutating func delivered(_ lane: String) {
        times[lane] = nil
        waiting.removeAll()
    }

    /// - Returns: How often the lane was held back before; nil if it must not be held back.
    mutating func throttled(_ lane: String) -> Int? {
        if waiting.insert(lane).inserted, times[lane] != nil || times.count < Self.most {
            times[lane, default: 0] += 1
        }
        guard let times = times[lane], times >= Self.enough else { return nil }
        return times - Self.enough
    }
}
