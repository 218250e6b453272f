import Resilience

/// Events in order, noted on any thread.
package final class Journal: Sendable {
    private let noted = Locked<[String]>([])

    package init() {}

    package var lines: [String] { noted.withLock { $0 } }
    package func note(_ line: String) { noted.withLock { $0.append(line) } }
}
