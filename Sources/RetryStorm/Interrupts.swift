#if Demo
    import Dispatch
    import Foundation
    import Synchronization

    /// Runs `work`, and cancels it on Ctrl-C, when the terminal goes away, or on a request to end. The second time, the
    /// process ends at once.
    func cancelledByInterrupts<R: Sendable>(_ work: @escaping @Sendable () async throws -> R) async throws -> R {
        // A reader of the output that goes away must not end the process either.
        signal(SIGPIPE, SIG_IGN)
        let task = Task { try await work() }
        let first = FirstTime()
        let sources = [SIGINT, SIGTERM, SIGHUP].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                if first.isIt() { task.cancel() } else { _exit(130) }
            }
            source.resume()
            return source
        }
        defer { for source in sources { source.cancel() } }
        return try await task.value
    }

    private final class FirstTime: Sendable {
        private let passed = Atomic(false)

        func isIt() -> Bool { !passed.exchange(true, ordering: .relaxed) }
    }
#endif
