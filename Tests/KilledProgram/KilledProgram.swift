import Foundation
import Resilience

/// A copy of this program that may be killed, and its output.
///
/// The program writes lines: `stored` and a number, or `send`, a number, an entity and a key. A `send` is answered with
/// the key and a status.
package struct KilledProgram {
    package let status: Int32
    package let isKilled: Bool

    /// Runs the program until it exits. Blocks the calling thread.
    /// - Parameters:
    ///   - arguments: Its arguments.
    ///   - moment: When it is killed; nil lets it live.
    ///   - stored: Gets the number of each stored mutation.
    ///   - answer: Answers its requests with a status.
    package init(
        _ arguments: [String], killedAfter moment: Duration?, stored: (Int) -> Void,
        answer: (_ id: Int, _ entity: String, _ key: String) -> Int
    ) throws {
        let program = Process()
        program.executableURL = URL(filePath: CommandLine.arguments[0])
        program.arguments = arguments
        // The backtrace of a poison pill's trap shows nothing new, and would take seconds.
        program.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        let (input, output) = (Pipe(), Pipe())
        program.standardInput = input
        program.standardOutput = output
        try program.run()
        let pid = program.processIdentifier
        let base = SystemTimeBase.shared
        let killing = moment.map { base.schedule(at: base.now + $0) { kill(pid, SIGKILL) } }
        var rest = Data()
        while case let data = output.fileHandleForReading.availableData, !data.isEmpty {
            rest += data
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let words = String(decoding: rest[rest.startIndex..<end], as: UTF8.self).split(separator: " ")
                rest = Data(rest[(end + 1)...])
                guard words.count > 1, let id = Int(words[1]) else { continue }
                switch (words[0], words.count) {
                case ("stored", 2): stored(id)
                case ("send", 4):
                    let line = "\(words[3]) \(answer(id, String(words[2]), String(words[3])))\n"
                    try? input.fileHandleForWriting.write(contentsOf: Data(line.utf8))
                default: break
                }
            }
        }
        if let killing { base.cancel(killing) }
        program.waitUntilExit()
        status = program.terminationStatus
        isKilled = program.terminationReason == .uncaughtSignal && status == SIGKILL
    }
}

/// Runs blocking work.
package func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}
