#if Demo
    import Foundation
    import Resilience
    import ResilienceSync

    /// Generates the backlog of the storm: samples of a health app, imported all at once. The same seed gives the same
    /// mutations.
    enum MutationGenerator {
        private static let kinds = ["steps", "heart_rate", "sleep", "workout", "weight"]
        /// 2026-01-15 00:00:00 UTC.
        private static let start: TimeInterval = 1_768_435_200

        static func mutations(_ count: Int, seed: UInt64) -> [Mutation] {
            let random = SplitMix64(seed: seed)
            var events: [Int] = []
            return (0..<count).map { index in
                let key = hex(random.next()) + hex(random.next())
                let roll = random.next()
                // One mutation in eight changes an event that exists already, and has to wait for its turn.
                let updates = !events.isEmpty && roll % 8 == 0
                let event = updates ? events[Int(roll / 8 % UInt64(events.count))] : index
                if !updates { events.append(event) }
                let payload = """
                    {"event":\(event),"type":"\(kinds[Int(roll / 64 % 5)])","value":\(roll / 512 % 20_000),\
                    "at":\(Int(start) + index)}
                    """
                return Mutation(
                    id: "\(seed)-\(index + 1)", entity: "event-\(event)", kind: updates ? "update" : "create",
                    payload: Data(payload.utf8), idempotencyKey: key,
                    createdAt: Date(timeIntervalSince1970: start + Double(index)))
            }
        }

        private static func hex(_ number: UInt64) -> String {
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
    }
#endif
