import Foundation
import TestSupport
import Testing

/// Holds the tests to Tests/README.md, and the core to Docs/Architecture.md.
@Suite struct LayerTests {
    struct File {
        let path: String
        let text: String

        var name: String { String(path.split(separator: "/").last?.dropLast(".swift".count) ?? "") }
    }

    private static func files(in folder: String) throws -> [File] {
        let found = FileManager.default.enumerator(
            at: repository.appending(path: folder), includingPropertiesForKeys: nil)
        return try (found?.allObjects ?? []).compactMap { $0 as? URL }
            .filter { $0.pathExtension == "swift" && $0.lastPathComponent != "LayerTests.swift" }
            .map { File(path: $0.path, text: try String(contentsOf: $0, encoding: .utf8)) }
    }

    @Test("every suite and folder that Tests/README.md names is there")
    func named() throws {
        let readme = try String(contentsOf: repository.appending(path: "Tests/README.md"), encoding: .utf8)
        let files = try Self.files(in: "Tests")
        let cells = readme.split(separator: "\n").filter { $0.hasPrefix("| C") }.map { $0.split(separator: "|")[1] }
        #expect(cells.count >= 8)
        for name in cells.flatMap({ $0.matches(of: /`(…?)(\w+)`/).map(\.output) }) {
            let isThere = files.contains { file in
                name.1.isEmpty ? file.path.contains("/\(name.2)") : file.name.hasSuffix(name.2)
            }
            #expect(isThere, "\(name.0)")
        }
    }

    @Test("no test sleeps, and none waits by yielding")
    func noSleeping() throws {
        // On a manual clock a sleep takes no time: `clock.sleep` is not among these.
        let forbidden = [
            "Task.sleep", "Task.yield", "Thread.sleep", "usleep(", "ContinuousClock().sleep(",
            "SuspendingClock().sleep(",
        ]
        for file in try Self.files(in: "Tests") {
            for word in forbidden { #expect(!file.text.contains(word), "\(file.path): \(word)") }
        }
    }

    @Test("tests of decisions know no waiting, no task and no clock")
    func pure() throws {
        let files = try Self.files(in: "Tests").filter {
            $0.name.hasSuffix("StateMachineTests") || $0.name.hasSuffix("ExplorationTests")
        }
        #expect(files.count >= 12)
        for file in files {
            for word in ["await ", "async ", "Task {", "ManualClock("] {
                #expect(!file.text.contains(word), "\(file.path): \(word)")
            }
        }
    }

    @Test("every machine is explored")
    func explored() throws {
        let explorations = try Self.files(in: "Tests").filter { $0.name.hasSuffix("ExplorationTests") }.map(\.text)
            .joined()
        let machines = try Self.files(in: "Sources").flatMap { file in
            file.text.matches(
                of: /(?:struct|enum) (\w+StateMachine)\b|struct (\w+): (?:Circuit|RetryBudget)StateMachine/
            )
            .map { String($0.output.1 ?? $0.output.2 ?? "") }
        }
        #expect(machines.count >= 6)
        for machine in machines { #expect(explorations.contains(machine), "\(machine) has no exploration") }
    }

    /// What a folder of the core names of another one that is a policy's, without comments and texts.
    private static func namesOfPolicies() throws -> Set<String> {
        let files = try Self.files(in: "Sources/Resilience").map { file -> (room: String, name: String, code: String) in
            let path = file.path.components(separatedBy: "Sources/Resilience/").last ?? ""
            return (
                String(path.prefix { $0 != "/" }), file.name,
                file.text.replacing(/\/\/.*/, with: "").replacing(/"[^"\n]*"/, with: "")
            )
        }
        // A policy tells something.
        let policies = Set(files.filter { ["\($0.room)Event", "\($0.room)Error"].contains($0.name) }.map(\.room))
        #expect(policies.isSuperset(of: ["Retry", "CircuitBreaker", "Bulkhead", "Throttle", "Timeout", "Fallback"]))
        var owners: [Substring: String] = [:]
        for file in files where policies.contains(file.room) {
            for type in file.code.matches(
                of: /(?m)^(?:public |package |final |@frozen )*(?:class|struct|enum|protocol|typealias) (\w+)/)
            {
                owners[type.1] = file.room
            }
        }
        var found: Set<String> = []
        for file in files {
            for word in Set(file.code.matches(of: /\b[A-Z]\w*/).map(\.output)) {
                guard let owner = owners[word], owner != file.room else { continue }
                found.insert("\(file.room)/\(file.name): \(word)")
            }
        }
        return found
    }

    @Test("no policy names another one, and of the rest of the core only deadlines and registries name any")
    func rooms() throws {
        let found = try Self.namesOfPolicies()
        let expected = { (name: String) in
            name.hasPrefix("Registry/") && name.contains(": Circuit")
                || ["Pipeline/PipelineCore: TimeoutRace", "Pipeline/PipelineCore: TimedOut"].contains(name)
        }
        #expect(found.filter { !expected($0) } == [])
        #expect(found.contains("Pipeline/PipelineCore: TimeoutRace"), "the search finds nothing")
    }
}
