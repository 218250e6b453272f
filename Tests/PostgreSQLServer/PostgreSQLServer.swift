import Foundation
import Resilience

/// A test's own PostgreSQL server, in a temporary folder, on a Unix socket. When this process exits for any reason, the
/// server exits and its folder is removed.
package final class PostgreSQLServer: Sendable {
    package struct Failed: Error, CustomStringConvertible {
        package let description: String
    }

    /// The folder of the programs `initdb` and `postgres`; nil if they are not installed.
    package static let programs: String? = {
        let folders = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        let versions = folders.compactMap { Int($0) }.sorted(by: >).map { "/usr/lib/postgresql/\($0)/bin" }
        let named = ProcessInfo.processInfo.environment["POSTGRESQL_PROGRAMS"].map { [$0] } ?? []
        let others = ["/opt/homebrew/bin", "/usr/local/pgsql/bin", "/usr/local/bin", "/usr/bin"]
        return (named + versions + others).first { FileManager.default.isExecutableFile(atPath: "\($0)/initdb") }
    }()

    package static var isInstalled: Bool { programs != nil }

    package static let missing: String =
        "PostgreSQL's server is not installed: apt-get install postgresql, or name the folder of initdb in POSTGRESQL_PROGRAMS"

    /// The user who runs the server, which can't run as root; nil for the current user.
    private static var owner: (user: String, group: String)? {
        guard getuid() == 0 else { return nil }
        return getpwnam("postgres") == nil ? ("nobody", "nogroup") : ("postgres", "postgres")
    }

    /// The beginning of a command that runs as the owner.
    static var prefix: String {
        owner.map { "setpriv --reuid=\($0.user) --regid=\($0.group) --clear-groups " } ?? ""
    }

    private let folder: String
    private let life: Locked<(process: Process, input: Pipe)?>

    /// libpq's settings for the server.
    package var connection: String { "host=\(folder) user=resilience dbname=postgres" }

    /// Starts a server, and returns when it accepts connections.
    /// - Parameter settings: Additional ones, such as `max_connections=5`.
    package init(_ settings: [String] = []) throws {
        guard let programs = Self.programs else { throw Failed(description: Self.missing) }
        // A socket's path has at most 107 bytes.
        folder = "/tmp/resilience-pg-\(UUID().uuidString.prefix(8))"
        life = Locked(nil)
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
        if let (user, group) = Self.owner {
            try FileManager.default.setAttributes(
                [.ownerAccountName: user, .groupOwnerAccountName: group], ofItemAtPath: folder)
        }
        let initialize = """
            cd \(folder) && \(Self.prefix)\(programs)/initdb -D \(folder)/data -U resilience -A trust --no-sync -E UTF8 \
            --locale=C >\(folder)/initdb.log 2>&1
            """
        let made = Process()
        made.executableURL = URL(filePath: "/bin/sh")
        made.arguments = ["-c", initialize]
        try made.run()
        made.waitUntilExit()
        guard made.terminationStatus == 0 else {
            throw Failed(description: "initdb failed: see \(folder)/initdb.log")
        }
        try start(settings)
    }

    deinit { stop(keepsFolder: false) }

    /// Starts the server again after ``stop(keepsFolder:)``.
    package func start(_ settings: [String] = []) throws {
        guard let programs = Self.programs else { throw Failed(description: Self.missing) }
        let options = (["fsync=off", "listen_addresses=", "unix_socket_directories=\(folder)"] + settings)
            .map { "-c '\($0)'" }.joined(separator: " ")
        let (process, input, output) = (Process(), Pipe(), Pipe())
        process.executableURL = URL(filePath: "/bin/sh")
        // When this process exits, its end of the pipe closes.
        process.arguments = [
            "-c",
            """
            cd \(folder); exec 3<&0
            ( trap '' HUP INT TERM; read -r how <&3; kill -QUIT $$
              n=0; while [ -e data/postmaster.pid ] && [ $n -lt 100 ]; do sleep 0.05; n=$((n+1)); done
              if [ "$how" != keep ]; then rm -rf \(folder); fi ) >/dev/null 2>&1 &
            exec \(Self.prefix)\(programs)/postgres -D \(folder)/data \(options) </dev/null 3<&- 1>&2
            """,
        ]
        process.standardInput = input
        process.standardError = output
        process.standardOutput = FileHandle.nullDevice
        // Otherwise the shell would also hold this end of the pipe, and never see it close.
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        try process.run()
        try? output.fileHandleForWriting.close()
        var log = Data()
        let ready = Data("database system is ready to accept connections".utf8)
        while log.range(of: ready) == nil {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else {
                throw Failed(description: "postgres failed: \(String(decoding: log, as: UTF8.self))")
            }
            log += data
        }
        // Later output is not needed, but must not fill the pipe.
        output.fileHandleForReading.readabilityHandler = { handle in
            if handle.availableData.isEmpty { handle.readabilityHandler = nil }
        }
        life.withLock { $0 = (process, input) }
    }

    /// Kills the server at once, like a crash.
    package func stop(keepsFolder: Bool = true) {
        guard
            let (process, input) = life.withLock({ life in
                defer { life = nil }
                return life
            })
        else { return }
        try? input.fileHandleForWriting.write(contentsOf: Data((keepsFolder ? "keep\n" : "remove\n").utf8))
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
