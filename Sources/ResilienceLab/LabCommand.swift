#if Lab
    import ArgumentParser
    import Foundation
    import Resilience
    import ResilienceSimulation

    @main
    struct LabCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "resilience-lab",
            abstract: "Runs outages in simulated time, with the policies that guard real calls.",
            discussion: """
                Nothing here touches a network, and a run of minutes takes seconds. The same seed gives the same \
                figures, to the last digit.

                Exit status: 0 done; 1 a file is not usable; 64 wrong names, settings or options.
                """,
            subcommands: [List.self, Run.self, Compare.self, Sweep.self, Try.self, Reality.self])
    }

    extension LabCommand {
        fileprivate static func scenario(
            _ name: String, _ set: [String]
        ) throws -> (LabScenario, LabScenario.Values) {
            do {
                let scenario = try LabScenario.named(name)
                return (scenario, try scenario.values(set))
            } catch let problem as LabProblem {
                throw ValidationError(problem.description)
            }
        }

        struct Output: ParsableArguments {
            @Flag(help: "Print the figures as one JSON object.")
            var json = false

            @Option(help: ArgumentHelp("Write a page with charts to this file.", valueName: "file"))
            var html: String?

            @Option(help: ArgumentHelp("Write the first chart as an SVG to this file.", valueName: "file"))
            var svg: String?

            /// Before a run that takes a minute.
            func validate() throws {
                for path in [html, svg].compactMap(\.self) {
                    let (file, files) = (URL(fileURLWithPath: path), FileManager.default)
                    var isFolder: ObjCBool = false
                    guard files.isWritableFile(atPath: file.deletingLastPathComponent().path) else {
                        throw ValidationError("\(path) can't be written: there is no such folder, or it is read-only.")
                    }
                    guard !files.fileExists(atPath: file.path, isDirectory: &isFolder) || !isFolder.boolValue else {
                        throw ValidationError("\"\(path)\" can't be written: it is a folder.")
                    }
                }
            }

            func write(_ report: LabReport) throws {
                print(json ? report.json : report.text)
                if let html { try Self.write(report.page.html(), to: html) }
                if let svg, let chart = report.page.sections.lazy.flatMap(\.charts).first {
                    try Self.write(chart.svg(), to: svg)
                }
            }

            private static func write(_ text: String, to path: String) throws {
                do { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) } catch {
                    throw ValidationError("\(path) can't be written: \(error.localizedDescription)")
                }
            }
        }

        struct Seed: ParsableArguments {
            @Option(help: "The same seed gives the same run.")
            var seed: UInt64 = 1
        }

        struct List: ParsableCommand {
            static let configuration = CommandConfiguration(abstract: "Lists the scenarios and their settings.")

            func run() {
                for scenario in LabScenario.all {
                    print("\(scenario.name): \(scenario.title)")
                    for setting in scenario.settings {
                        print("    \(setting.name)=\(setting.standard.short)  \(setting.help)")
                    }
                }
            }
        }

        struct Run: ParsableCommand {
            static let configuration = CommandConfiguration(abstract: "Runs a scenario.")

            @Argument(help: "The scenario: see list. Or a JSON file, as in Docs/Lab.md.") var scenario: String
            @OptionGroup var seed: Seed
            @Option(parsing: .upToNextOption, help: "Other settings, as name=number.") var set: [String] = []
            @OptionGroup var output: Output

            func run() throws {
                if scenario.hasSuffix(".json") {
                    guard let data = FileManager.default.contents(atPath: scenario) else {
                        throw LabProblem("\(scenario) can't be read")
                    }
                    if !set.isEmpty { throw ValidationError("--set is for the lab's own scenarios.") }
                    let name = URL(fileURLWithPath: scenario).deletingPathExtension().lastPathComponent
                    return try output.write(ScenarioFile(reading: data).report(seed: seed.seed, name: name))
                }
                let (scenario, values) = try LabCommand.scenario(scenario, set)
                try output.write(scenario.report(seed: seed.seed, values))
            }
        }

        struct Compare: ParsableCommand {
            static let configuration = CommandConfiguration(abstract: "Runs two scenarios, or one with two settings.")

            @Argument(help: "A scenario, perhaps with settings: layers,budget=0") var first: String
            @Argument(help: "The other one.") var second: String
            @OptionGroup var seed: Seed
            @OptionGroup var output: Output

            func run() throws {
                let reports = try [first, second].map { text in
                    let parts = text.split(separator: ",").map(String.init)
                    let (scenario, values) = try LabCommand.scenario(parts.first ?? "", Array(parts.dropFirst()))
                    return (text, try scenario.report(seed: seed.seed, values))
                }
                try output.write(.comparison(reports))
            }
        }

        struct Sweep: ParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Runs a scenario with several values of one setting.")

            @Argument(help: "The scenario.") var scenario: String
            @Argument(help: "The setting.") var key: String
            @Argument(help: "The first value.") var from: Double
            @Argument(help: "The last value.") var to: Double
            @Option(help: "How many values, 2 to 1000.") var steps = 10
            @OptionGroup var seed: Seed
            @OptionGroup var output: Output

            func validate() throws {
                guard (2...1000).contains(steps) else { throw ValidationError("--steps must be 2 to 1000.") }
                guard from.isFinite, to.isFinite else { throw ValidationError("The values must be finite.") }
            }

            func run() throws {
                let (scenario, _) = try LabCommand.scenario(scenario, [])
                let runs = try (0..<steps).map { step in
                    let value = from + (to - from) * Double(step) / Double(steps - 1)
                    let (_, values) = try LabCommand.scenario(scenario.name, ["\(key)=\(value)"])
                    if !output.json { Progress.show(step, of: steps) }
                    return (value, try scenario.report(seed: seed.seed, values))
                }
                if !output.json { Progress.clear() }
                try output.write(.sweep(of: scenario, key, runs))
            }
        }

        struct Try: ParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Tries your settings against the shape of your service.",
                discussion: """
                    The file is the one that services read with ResilienceConfiguration, or one pipeline's settings \
                    alone. The pipeline meets a day of troubles, one after the other: an outage, lost answers, a \
                    brown-out, errors, 429s, stragglers, a lost zone, a storm of calls.

                    A service is \(ServiceText.form)
                    """)

            @Argument(help: "The settings' file.") var file: String
            @Option(help: "The pipeline in the file, if it has several.") var pipeline: String?
            @Option(help: "The service, in words.") var service = "p50 20ms p99 100ms capacity 200/s"
            @Option(help: "Calls, as 100/s. (default: half of the capacity)") var load: String?
            @Option(help: "How many clients, 1 to 10000.") var clients = 10
            @Option(help: "How long each trouble lasts, as 30s.") var outage = "30s"
            @Option(help: "Calls of a TrafficRecorder, to play back in place of the troubles.") var recording: String?
            @Option(help: "The pipeline's name in the recording, if it has several.") var pipelineRecorded: String?
            @Flag(help: "The calls may be repeated, whatever their effect.") var idempotent = false
            @OptionGroup var seed: Seed
            @OptionGroup var output: Output

            func run() throws {
                guard (1...10_000).contains(clients) else { throw ValidationError("--clients must be 1 to 10000.") }
                let service: ServiceModel
                let length: Duration
                let rate: Double
                do {
                    service = try ServiceText.service(self.service)
                    length = try ServiceText.time(outage)
                    guard length > .zero else { throw LabProblem("a trouble lasts more than 0 s") }
                    rate = try load.map(ServiceText.rate) ?? service.capacity / 2
                    try ServiceText.check(load: rate, for: length + .seconds(90))
                } catch let problem as LabProblem {
                    throw ValidationError(problem.description)
                }
                guard let data = FileManager.default.contents(atPath: file) else {
                    throw LabProblem("\(file) can't be read")
                }
                let (name, settings) = try SettingsFile(data).settings(of: pipeline)
                var trial = Trial(
                    name: name, settings: settings, service: service, load: rate, clients: clients, length: length,
                    isIdempotent: idempotent ? true : nil, seed: seed.seed)
                if let recording {
                    guard let data = FileManager.default.contents(atPath: recording) else {
                        throw LabProblem("\(recording) can't be read")
                    }
                    trial.recording = try RecordedTraffic(reading: data, of: pipelineRecorded)
                }
                try output.write(trial.report())
            }
        }
    }

    extension LabCommand {
        struct Reality: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Runs one outage with a real server on loopback, and simulated; takes 20 seconds.")

            @OptionGroup var output: Output

            func run() async throws { try output.write(await RealityCheck().report()) }
        }
    }

    /// Progress on a terminal.
    enum Progress {
        static func show(_ step: Int, of steps: Int) { write("\r\(step + 1) of \(steps)") }
        static func clear() { write("\r                    \r") }

        private static func write(_ text: String) {
            if isatty(2) == 1 { FileHandle.standardError.write(Data(text.utf8)) }
        }
    }
#else
    import Foundation

    @main
    enum LabCommand {
        static func main() {
            FileHandle.standardError.write(
                Data("resilience-lab needs the Lab trait: swift run --traits Lab resilience-lab\n".utf8))
            exit(1)
        }
    }
#endif
