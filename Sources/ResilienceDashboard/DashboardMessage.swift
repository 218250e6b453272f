#if Dashboard
    import ResilienceObservability

    #if canImport(FoundationEssentials)
        import FoundationEssentials
    #else
        import Foundation
    #endif

    /// A message from the service to one page.
    enum DashboardMessage: Sendable {
        /// The whole state, sent first.
        struct Snapshot: Sendable, Encodable {
            let now: Int
            let summary: DashboardState.Summary
            let sections: [DashboardState.Section]
            let rows: [DashboardRow]
            /// How far back the timelines reach; `recordedSince` is when recording began.
            let history: Int
            let recordedSince: Int
            let allowsActions: Bool
        }

        /// The changes since the last message.
        struct Change: Sendable, Encodable {
            let now: Int
            var summary: DashboardState.Summary?
            /// New and changed sections and rows. If no section lists a row any more, the page removes that row.
            let sections: [DashboardState.Section]
            let rows: [DashboardRow]
            /// The ids of all sections in order, if they have changed.
            var order: [String]?

            init(from old: DashboardState, to new: DashboardState) {
                now = new.now
                if new.summary != old.summary { summary = new.summary }
                let oldSections = Dictionary(old.sections.map { ($0.id, $0) }) { first, _ in first }
                let oldRows = Dictionary(old.rows.map { ($0.id, $0) }) { first, _ in first }
                sections = new.sections.filter { oldSections[$0.id] != $0 }
                rows = new.rows.filter { oldRows[$0.id] != $0 }
                if old.sections.map(\.id) != new.sections.map(\.id) { order = new.sections.map(\.id) }
            }

            var isEmpty: Bool { summary == nil && sections.isEmpty && rows.isEmpty && order == nil }
        }

        case snapshot(Snapshot)
        case change(Change)
        /// No change: the connection is alive.
        case beat(now: Int)

        /// The message as server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html
        ///
        /// The data is JSON on one line. JSON escapes the line feeds of a name, so that a name can't end the event.
        var text: String {
            get throws {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.sortedKeys]
                let (name, data) =
                    switch self {
                    case .snapshot(let snapshot): ("snapshot", try encoder.encode(snapshot))
                    case .change(let change): ("change", try encoder.encode(change))
                    case .beat(let now): ("beat", try encoder.encode(["now": now]))
                    }
                return "event: \(name)\ndata: \(String(decoding: data, as: UTF8.self))\n\n"
            }
        }
    }
#endif
