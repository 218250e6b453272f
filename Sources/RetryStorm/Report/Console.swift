#if Demo
    import Foundation
    import Resilience

    /// The output for people. The result itself goes to standard output; with `--json` nothing else does.
    struct Console: Sendable {
        private let handle: FileHandle
        private let isTerminal: Bool

        init(standardError: Bool) {
            handle = standardError ? .standardError : .standardOutput
            isTerminal = isatty(handle.fileDescriptor) == 1
        }

        func print(_ line: String) { write(line + "\n") }

        // A closed stream does not stop the run.
        private func write(_ text: String) { try? handle.write(contentsOf: Data(text.utf8)) }

        /// Shows the progress of `body` while it runs: on a terminal in one line that is rewritten, otherwise in a line
        /// every 5 seconds.
        func following(
            _ line: @escaping @Sendable () -> String, during body: () async throws -> Void
        ) async throws {
            let ticker = Task {
                while (try? await Task.sleep(for: isTerminal ? .milliseconds(200) : .seconds(5))) != nil {
                    if isTerminal { write("\r\(line())\u{1B}[K") } else { print(line()) }
                }
            }
            defer { ticker.cancel() }
            try await body()
            ticker.cancel()
            await ticker.value
            print(isTerminal ? "\r\(line())\u{1B}[K" : line())
        }
    }
#endif
