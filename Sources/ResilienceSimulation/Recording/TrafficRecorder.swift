public import Foundation
public import Resilience

/// An observer that writes when calls and attempts began, how long they took and how they ended, to play them back
/// against other settings: ``RecordedTraffic``.
///
/// ```swift
/// let recorder = try TrafficRecorder(to: URL(filePath: "/tmp/orders.jsonl"))
/// orders.observers.add(recorder)
/// ```
///
/// It writes nothing of what calls carry. A line is some 100 bytes, so 1000 calls a second make 700 MB an hour: record
/// minutes. A process that ends should call ``flush()``; otherwise the latest lines are lost.
public final class TrafficRecorder: PolicyObserver {
    private struct State {
        var file: FileHandle
        var lines = Data()
        var began: MonotonicInstant?
    }

    private static let most = 64 * 1024

    private let state: Locked<State>

    /// Begins a recording.
    ///
    /// - Parameter url: The file, which is replaced if it exists.
    /// - Throws: The file system's error.
    public init(to url: URL) throws {
        try Data().write(to: url)
        state = Locked(State(file: try FileHandle(forWritingTo: url)))
    }

    public func receive(_ event: PolicyEvent) {
        let line: RecordedTraffic.Line
        switch event.detail.measure {
        case .call(let outcome, let took, _, _): line = RecordedTraffic.Line(.call, event, outcome, took)
        case .attempt(let outcome, let took): line = RecordedTraffic.Line(.attempt, event, outcome, took)
        case .count: return
        }
        state.withLock { state in
            let began = state.began ?? event.time
            state.began = began
            state.lines.append(line.text(since: began))
            if state.lines.count >= Self.most { Self.write(&state) }
        }
    }

    /// Writes what has not been written.
    public func flush() { state.withLock { Self.write(&$0) } }

    deinit { flush() }

    /// Lines that can't be written are dropped: a full disk must not stop the calls.
    private static func write(_ state: inout State) {
        try? state.file.write(contentsOf: state.lines)
        state.lines.removeAll(keepingCapacity: true)
    }
}
