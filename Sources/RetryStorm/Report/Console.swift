#if Demo
    import Foundation
    import Resilience

    /// Where people read. The result itself goes to standard output, and nothing else does where a program reads it.
    struct Console: Sendable {
        private let handle: FileHandle
        private let isTerminal: Bool

        init(standardError: Bool) {
            handle = standardError ? .standardError : .standardOutput
            isTerminal = isatty(standardError ? STDERR_FILENO : STDOUT_FILENO) == 1
        }

        func print(_ line: String) { Self.write(line + "\n", to: handle) }

        static func complain(_ line: String) { write(line + "\n", to: .standardError) }

        static func result(_ text: String) { write(text + "\n", to: .standardOutput) }

        private static func write(_ text: String, to handle: FileHandle) {
            // A reader that has gone away is no reason to stop: what matters is in the database.
            try? handle.write(contentsOf: Data(text.utf8))
        }

        /// Shows how far `body` is while it runs: in one line rewritten on a terminal, else in a few plain ones.
        func following<R>(
            _ line: @escaping @Sendable () -> ProgressLine, _ body: () async throws -> R
        ) async throws -> R {
            let ticker = Task {
                var cadence = PlainCadence()
                while !Task.isCancelled {
                    let line = line()
                    if isTerminal {
                        Self.write("\r\(line)\u{1B}[K", to: handle)
                    } else if cadence.speaks(line) {
                        print("\(line)")
                    }
                    try? await Task.sleep(for: .milliseconds(200))
                }
            }
            let result: Result<R, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            ticker.cancel()
            await ticker.value
            var last = line()
            last.isOver = true
            print(isTerminal ? "\r\(last)\u{1B}[K" : "\(last)")
            return try result.get()
        }
    }
#endif
