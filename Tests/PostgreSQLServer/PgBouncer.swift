import Foundation
import Resilience

/// A test's own PgBouncer: its few connections to a server are never reset. It exits with this process.
package final class PgBouncer: Sendable {
    private static let program = "/usr/sbin/pgbouncer"

    package static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program) }

    private let folder: String
    private let life: Locked<(process: Process, input: Pipe)>

    /// libpq's settings for PgBouncer.
    package var connection: String { "host=\(folder) port=6432 user=resilience dbname=postgres" }

    /// - Parameter mode: Its `pool_mode`.
    package init(_ server: PostgreSQLServer, mode: String, connections: Int) throws {
        folder = "/tmp/resilience-pb-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o777])
        // The umask may have removed some permissions.
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder)
        let settings = """
            [databases]
            postgres = \(server.connection)
            [pgbouncer]
            unix_socket_dir = \(folder)
            listen_port = 6432
            auth_type = any
            pool_mode = \(mode)
            default_pool_size = \(connections)
            server_reset_query =
            ignore_startup_parameters = extra_float_digits
            """
        try Data(settings.utf8).write(to: URL(filePath: "\(folder)/settings"))
        let (process, input, output) = (Process(), Pipe(), Pipe())
        process.executableURL = URL(filePath: "/bin/sh")
        // When this process exits, its end of the pipe closes: then the shell stops PgBouncer.
        process.arguments = [
            "-c",
            """
            cd \(folder); exec 3<&0
            ( trap '' HUP INT TERM; read -r how <&3; kill -TERM $$; rm -rf \(folder) ) >/dev/null 2>&1 &
            exec \(PostgreSQLServer.prefix)\(Self.program) settings </dev/null 3<&- 1>&2
            """,
        ]
        process.standardInput = input
        process.standardError = output
        process.standardOutput = FileHandle.nullDevice
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        try process.run()
        life = Locked((process, input))
        try? output.fileHandleForWriting.close()
        var log = Data()
        while log.range(of: Data("process up".utf8)) == nil {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else {
                throw PostgreSQLServer.Failed(description: "pgbouncer failed: \(String(decoding: log, as: UTF8.self))")
            }
            log += data
        }
        output.fileHandleForReading.readabilityHandler = { handle in
            if handle.availableData.isEmpty { handle.readabilityHandler = nil }
        }
    }

    deinit { try? life.withLock { $0.input }.fileHandleForWriting.close() }
}
