import Foundation

extension Guide {
    /// The names that the page assumes, such as a client. A page of parts of test suites assumes none, and is not a
    /// program.
    private var assumptions: URL { repository.appending(path: "Tests/Snippets/\(name).swift") }

    package var isProgram: Bool { !code.isEmpty && FileManager.default.fileExists(atPath: assumptions.path) }

    /// Everything that can be compiled: without their traits, the SQLite store and the engine for PostgreSQL are
    /// missing.
    package static func programs() throws -> [Guide] {
        let programs = try all().filter(\.isProgram)
        var stores: [String] = []
        #if !SQLite
            stores.append("SQLiteStore")
        #endif
        #if !PostgreSQL
            stores.append("PostgreSQLStore")
        #endif
        return programs.filter { program in !stores.contains { program.text.contains($0) } }
    }

    #if os(Linux) || os(macOS)
        /// The compiler's errors for the page's code, unchanged, from top to bottom, at the top level of a program;
        /// empty if there are none.
        package func compilerErrors() async throws -> String {
            let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let (main, output) = (folder.appending(path: "main.swift"), folder.appending(path: "output"))
            try program().write(to: main, atomically: true, encoding: .utf8)
            try Data().write(to: output)
            guard let modules = Self.modules else { return "there are no modules to compile it with" }
            // Up to SIL: only there does the compiler find values that are consumed although they can't be.
            let compiler = Process()
            compiler.executableURL = URL(filePath: "/usr/bin/env")
            compiler.arguments =
                ["swiftc", "-emit-sil", "-wmo", "-o", "/dev/null", "-swift-version", "6", "-I", modules.path]
                + Self.systemModules(beside: modules).flatMap { ["-Xcc", "-fmodule-map-file=\($0.path)"] }
                + ["/usr/include/postgresql", "/opt/homebrew/opt/libpq/include"].flatMap { ["-Xcc", "-I\($0)"] }
                + [main.path, assumptions.path]
            let handle = try FileHandle(forWritingTo: output)
            (compiler.standardOutput, compiler.standardError) = (handle, handle)
            try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Void, any Error>) in
                compiler.terminationHandler = { _ in ended.resume() }
                do { try compiler.run() } catch { ended.resume(throwing: error) }
            }
            return compiler.terminationStatus == 0 ? "" : try String(contentsOf: output, encoding: .utf8)
        }
    #endif

    /// Whether there are modules to compile a program with.
    package static var hasModules: Bool { modules != nil }

    /// The modules of these tests' build; nil if it was not `swift build`.
    private static var modules: URL? {
        let bundle = Bundle(for: Marker.self).bundleURL
        let products = bundle.pathExtension == "xctest" ? bundle.deletingLastPathComponent() : bundle
        let modules = products.appending(path: "Modules")
        return FileManager.default.fileExists(atPath: modules.path) ? modules : nil
    }

    private final class Marker {}

    /// The C modules that the modules need: GRDB's and FlyingFox's.
    private static func systemModules(beside modules: URL) -> [URL] {
        let checkouts = (0..<3).reduce(modules) { folder, _ in folder.deletingLastPathComponent() }
        return [
            checkouts.appending(path: "checkouts/GRDB.swift/Sources/GRDBSQLite/module.modulemap"),
            checkouts.appending(path: "checkouts/FlyingFox/CSystemLinux/include/module.modulemap"),
            repository.appending(path: "Sources/CSQLiteSystem/module.modulemap"),
            repository.appending(path: "Sources/CPostgreSQLSystem/module.modulemap"),
        ].filter { FileManager.default.fileExists(atPath: $0.path) }
    }

    /// The page's code blocks, with the imports of the assumptions. Errors name the page and its lines.
    private func program() throws -> String {
        let imports = try String(contentsOf: assumptions, encoding: .utf8).split(separator: "\n").filter {
            $0.contains(/^ *(import|#if|#endif)/)
        }
        var lines = imports.map(String.init)
        var isCode = false
        for (index, line) in text.components(separatedBy: "\n").enumerated() {
            if line == "```" { isCode = false }
            // A manifest's line is not program code.
            if isCode, !line.hasPrefix(".package(") { lines.append(line) }
            guard line == "```swift" else { continue }
            isCode = true
            lines.append("#sourceLocation(file: \"\(name).md\", line: \(index + 2))")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
