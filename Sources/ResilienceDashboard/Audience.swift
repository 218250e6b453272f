#if Dashboard
    /// Who watches: decides when sampling begins and ends, and how many may watch.
    struct Audience: Sendable {
        enum Joining: Equatable {
            /// `isFirst`: nobody watched before, so sampling begins.
            case joined(id: Int, isFirst: Bool)
            case full
        }

        private let limit: Int
        private var ids: Set<Int> = []
        private var lastID = 0

        init(limit: Int) { self.limit = limit }

        var count: Int { ids.count }

        mutating func join() -> Joining {
            guard ids.count < limit else { return .full }
            lastID += 1
            ids.insert(lastID)
            return .joined(id: lastID, isFirst: ids.count == 1)
        }

        /// - Returns: Whether nobody watches any more, so that sampling ends. False if this id has left before.
        mutating func leave(_ id: Int) -> Bool { ids.remove(id) != nil && ids.isEmpty }
    }
#endif
