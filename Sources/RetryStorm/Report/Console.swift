#if Demo
    import Foundation
    import Resilience

    /// The output for people. The result itself goes to standard output; with `--json` nothing else does.
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
            // A reader that has gone away is no reason to stop, because the mutations are in the database.
            try? handle.write(contentsOf: Data(text.utf8))
        }

        /// Shows the progress of `body` while it runs: on a terminal in one line that is rewritten, otherwise in a few
        /// plain lines.
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
