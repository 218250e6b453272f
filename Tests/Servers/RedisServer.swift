package import Foundation
import Resilience

/// A Redis or Valkey server for a test or a trial, on a socket in its own folder.
package final class RedisServer: Sendable {
    /// The program's path; nil if neither is installed.
    package static let program: String? = ["redis-server", "valkey-server"].lazy.compactMap { name in
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return (path.split(separator: ":").map(String.init) + ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"])
            .map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }.first

    package static var isInstalled: Bool { program != nil }
    package static let isMissing =
        "Neither redis-server nor valkey-server is installed: apt-get install redis-server, or brew install valkey"

    package let folder: URL
    package var socket: String { folder.appendingPathComponent("s").path }
    private let running: Locked<Running>
    private let options: [String]

    /// Starts a server, and returns when it accepts connections.
    /// - Parameter options: The server's options, such as `--requirepass secret`.
    package init(_ options: [String] = []) throws {
        // A short path: a socket's path has at most 107 bytes.
        folder = URL(fileURLWithPath: "/tmp/r\(UInt64.random(in: .min ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.options = options
        running = Locked(try Self.start(in: folder, options))
    }

    private struct Running {
        /// A shell that stops the server when this process exits for any reason.
        let shell: Process
        /// The shell waits for the end of this pipe.
        let input: Pipe
        let pid: Int32
    }

    private static func start(in folder: URL, _ options: [String]) throws -> Running {
        guard let program else { throw Missing() }
        let (shell, input, output) = (Process(), Pipe(), Pipe())
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments =
            [
                "-c", #""$@" 2>/dev/null </dev/null & echo "pid $!"; exec >/dev/null; read line; kill -9 $!"#, "sh",
                program,
            ]
            + [
                "--port", "0", "--unixsocket", folder.appendingPathComponent("s").path, "--save", "", "--appendonly",
                "no",
            ]
            + ["--dir", folder.path] + options
        (shell.standardInput, shell.standardOutput, shell.standardError) = (input, output, FileHandle.nullDevice)
        try shell.run()
        // The server prints when it is ready.
        var text = ""
        while !text.contains("eady to accept connections") || !text.contains("pid ") {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw Failed(output: text) }
            text += String(decoding: data, as: UTF8.self)
        }
        let pid = text.split(separator: "\n").lazy.compactMap { $0.hasPrefix("pid ") ? Int32($0.dropFirst(4)) : nil }
            .first
        return Running(shell: shell, input: input, pid: pid ?? 0)
    }

    package struct Missing: Error {}
    package struct Failed: Error { let output: String }

    package var pid: Int32 { running.withLock { $0.pid } }

    /// Kills the server at once, like a crash.
    package func kill() {
        running.withLock { running in
            Foundation.kill(running.pid, SIGKILL)
            try? running.input.fileHandleForWriting.close()
            running.shell.waitUntilExit()
        }
    }

    /// Starts it again, empty, after ``kill()``.
    package func restart() throws {
        let next = try Self.start(in: folder, options)
        running.withLock { $0 = next }
    }

    /// Stops the server's process, like a machine that hangs: the server keeps its connections, and answers nothing.
    package func pause() { Foundation.kill(pid, SIGSTOP) }

    package func resume() { Foundation.kill(pid, SIGCONT) }

    deinit {
        kill()
        try? FileManager.default.removeItem(at: folder)
    }
}
