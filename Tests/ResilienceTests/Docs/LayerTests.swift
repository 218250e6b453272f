import Foundation
import TestSupport
import Testing

/// Checks the tests against Tests/README.md, and the core against Docs/Architecture.md.
@Suite(.heavy) struct LayerTests {
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

    @Test("every suite and folder in Tests/README.md exists")
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

    @Test("no test sleeps, or waits by yielding (C4, P78)")
    func noSleeping() throws {
        // On a manual clock a sleep takes no time, so `clock.sleep` is allowed.
        let forbidden = [
            "Task.sleep", "Task.yield", "Thread.sleep", "usleep(", "ContinuousClock().sleep(",
            "SuspendingClock().sleep(",
        ]
        for file in try Self.files(in: "Tests") {
            for word in forbidden { #expect(!file.text.contains(word), "\(file.path): \(word)") }
        }
    }

    @Test("state machine and exploration tests use no waiting, task or clock (C1)")
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

    @Test("every state machine has an exploration (C1)")
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

    @Test("no switch in a state machine has a default: each must handle a new case explicitly (C1)")
    func exhaustive() throws {
        let machine =
            /(?:struct|enum|extension) \w+StateMachine\b|struct \w+: (?:CircuitStateMachine|SharedCircuit|RetryBudgetStateMachine)/
        let files = try Self.files(in: "Sources").filter { $0.text.contains(machine) || $0.name == "Circuit" }
        #expect(files.count >= 25)
        for file in files { #expect(!file.text.contains(/(?m)^ *default:/), "\(file.path)") }
    }

    /// A mention, in a file of the core, of a type of another folder.
    private struct Mention: Hashable, CustomStringConvertible {
        let room: String
        let file: String
        let type: String
        let owner: String

        var description: String { "\(room)/\(file): \(type)" }
    }

    /// All mentions between folders of the core, outside of comments and texts.
    private static func mentions() throws -> Set<Mention> {
        let files = try Self.files(in: "Sources/Resilience").map { file -> (room: String, name: String, code: String) in
            let path = file.path.components(separatedBy: "Sources/Resilience/").last ?? ""
            return (
                String(path.prefix { $0 != "/" }), file.name,
                file.text.replacing(/\/\/.*/, with: "").replacing(/"[^"\n]*"/, with: "")
            )
        }
        var owners: [Substring: String] = [:]
        for file in files {
            for type in file.code.matches(
                of: /(?m)^(?:public |package |final |indirect |@\w+ )*(?:class|struct|enum|protocol|typealias) (\w+)/
            ) {
                owners[type.1] = file.room
            }
        }
        return files.reduce(into: []) { found, file in
            for word in Set(file.code.matches(of: /\b[A-Z]\w*/).map(\.output)) {
                guard let owner = owners[word], owner != file.room else { continue }
                found.insert(Mention(room: file.room, file: file.name, type: String(word), owner: owner))
            }
        }
    }

    /// The folders of the core as Docs/Architecture.md draws them, the highest floor first.
    private static func floors() throws -> [[Substring]] {
        let text = try String(contentsOf: repository.appending(path: "Docs/Architecture.md"), encoding: .utf8)
        let drawing = try #require(text.firstMatch(of: /floor by floor:\n\n```\n([\s\S]*?)```/))
        return drawing.1.split(separator: "\n").map { $0.split(separator: " ") }
    }

    @Test("no policy mentions another, and registries mention only the breaker")
    func rooms() throws {
        let policies = try #require(try Self.floors().first { $0.contains("Retry") }).map(String.init)
        let found = try Self.mentions().filter { policies.contains($0.owner) && $0.room != "Configuration" }
        let known = found.filter {
            $0.room != "Registry" || !$0.type.hasPrefix("Circuit") && $0.file != "Registries"
        }
        #expect(known == [])
    }

    @Test("the core matches the drawing in Docs/Architecture.md: a folder mentions only folders on lower floors")
    func drawn() throws {
        let floors = try Self.floors()
        let mentions = try Self.mentions()
        #expect(Set(floors.joined().map(String.init)) == Set(mentions.flatMap { [$0.room, $0.owner] }))
        func floor(_ room: String) -> Int { floors.firstIndex { $0.contains(Substring(room)) } ?? -1 }
        #expect(mentions.filter { floor($0.owner) <= floor($0.room) } == [])
    }
}
