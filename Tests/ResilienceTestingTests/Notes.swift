import Resilience

/// What happened, in order, noted from any thread.
final class Notes<Entry: Sendable>: Sendable {
    private let entries = Locked<[Entry]>([])

    var all: [Entry] { entries.withLock { $0 } }

    func note(_ entry: Entry) { entries.withLock { $0.append(entry) } }
}
