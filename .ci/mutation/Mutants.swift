// Mutation testing with one build. In a copy of the package, each place of a source that could be wrong
// becomes a switch on a number read from the environment:
//
//     guard share <= tolerance else { return nil }
//     guard mutantCondition(212, share ∁∀∁ tolerance) else { return nil }
//
// With MUTANT=212 the condition is true, with 213 false. The operator, made for this place, has numbers of its own. The
// tests then run once for each number. Changes that no test notices are listed: a test is missing, or none can notice
// them.
//
// A change can make a loop endless, or a test wait for ever. So the tests get five times the processor time and the
// time that they took without any change. A change that exceeds that runs once more at the end, alone, and is listed
// separately.

import Foundation

@main enum Mutants {
    static let copy = URL(filePath: ".build-mutants/package")

    static func main() throws {
        let began = Date()
        let only = CommandLine.arguments.dropFirst()
        let chosen = try Source.all(containing: only)
        guard !chosen.isEmpty else { stop("no source's path contains \(only.joined(separator: " or "))") }

        let (sites, skipped) = try build(chosen)
        let folder = try swift(["build", "--show-bin-path"]).output.trimmingCharacters(in: .whitespacesAndNewlines)
        let runner = Runner(tests: URL(filePath: folder).appending(path: "swift-resiliencePackageTests.xctest"))

        say(row("source", "changes", "noticed", "survived", "by time", "skipped", "not tried"))
        let minutes = ProcessInfo.processInfo.environment["MINUTES"].flatMap { Double($0) }
        let wanted = try ProcessInfo.processInfo.environment["ONLY"].map { path in
            Set(try String(contentsOf: URL(filePath: path), encoding: .utf8).split(separator: "\n").map(String.init))
        }
        let unknown = (wanted ?? []).subtracting(sites.flatMap(\.mutants).map(\.key))
        for key in unknown.sorted() { say("no such change: \(key)") }
        let deadline = minutes.map { Date() + $0 * 60 } ?? .distantFuture
        var survivors: [Mutant] = []
        var late: [(Mutant, [Stage])] = []
        for source in chosen {
            let mutants = sites.filter { $0.source == source.path }.flatMap(\.mutants)
                .filter { wanted?.contains($0.key) ?? true }
            if mutants.isEmpty || Date() > deadline {
                say(row(source.name, "\(mutants.count)", "", "", "", "", "\(mutants.count)"))
                continue
            }
            let stages = try source.tests().compactMap { runner.stage(filter: $0.filter, skip: $0.skip) }
            let results = zip(mutants, runner.results(of: mutants, stages, until: deadline))
            let alive = results.filter { $1 == .passed }.map(\.0)
            let timedOut = results.filter { $1 == .timedOut }.map(\.0)
            let rest = results.filter { $1 == .notTried }.map(\.0)
            survivors += alive
            late += timedOut.map { ($0, stages) }
            say(
                row(
                    source.name, "\(mutants.count)",
                    "\(mutants.count - alive.count - timedOut.count - rest.count)", "\(alive.count)",
                    "\(timedOut.count)", "\(skipped.count { $0.source == source.path })", "\(rest.count)"))
            for mutant in alive { say("survives: \(mutant.shown)") }
        }
        for (mutant, stages) in late {
            let result = runner.result(of: mutant, stages)
            if result == .passed { survivors.append(mutant) }
            say("\(result == .timedOut ? "noticed by time" : "out of time, then \(result)"): \(mutant.shown)")
        }
        say("\(Int(Date().timeIntervalSince(began))) s\n")
        for site in skipped { say("does not compile: \(site.key)") }

        say("\(survivors.count) changes survive.")
        if !unknown.isEmpty { exit(1) }
    }

    static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

    static func row(_ cells: String...) -> String {
        cells.enumerated().map { index, cell in
            let gap = String(repeating: " ", count: max(0, (index == 0 ? 28 : 10) - cell.count))
            return index == 0 ? cell + gap : gap + cell
        }.joined()
    }

    static func stop(_ message: String) -> Never {
        say(message)
        exit(2)
    }
}
