import Foundation

extension Mutants {
    /// Builds the copy with every change of these sources that compiles.
    static func build(_ sources: [Source]) throws -> (sites: [Site], skipped: [Site]) {
        try copyPackage(but: sources)
        let memory = URL(filePath: ".build-mutants/skipped")
        var refused = Set(
            ((try? String(contentsOf: memory, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init))
        let found = sources.flatMap { sites(in: $0.text, named: $0.path) }
        var erred: Set<String> = []
        while true {
            var sites = found.filter { !refused.contains($0.key) }
            let numbers = numbered(sites)
            for index in sites.indices { sites[index].first = numbers[sites[index].key] ?? 0 }
            var places: [(Int, Int, Site)] = []
            for source in sources {
                let (text, there) = instrumented(source.text, sites.filter { $0.source == source.path })
                try write(text, to: copy.appending(path: source.path))
                places += there
            }
            try write(try support(sites), to: copy.appending(path: "Sources/Resilience/Mutants.swift"))
            say("building with \(sites.reduce(0) { $0 + $1.to.count }) changes")
            let (status, output) = try swift(
                ["build", "--build-tests"] + traits(of: sources) + ["-Xswiftc", "-continue-building-after-errors"])
            if status == 0 { return (sites, found.filter { !$0.isTwin && refused.contains($0.key) }) }

            let before = refused.count
            for error in output.matches(of: #/(?m)^(.*\.swift):(\d+):(\d+): error: (.*)$/#) {
                guard let line = Int(error.2), let column = Int(error.3) else { continue }
                let file = places.filter { error.1.hasSuffix($0.2.source) }
                let there = file.filter { $0.0 == line }
                // Without its only statement a function has no value; the error is reported at its end.
                let isEnd = error.4.contains("missing return")
                let place =
                    there.last { $0.1 <= column } ?? there.first
                    ?? (isEnd ? file.last { $0.0 < line && $0.2.to == ["left out"] } : nil)
                // A line that fails again is left alone: one change at a time would take a build for each.
                if !erred.insert("\(error.1):\(error.2)").inserted { refused.formUnion(there.map(\.2.key)) }
                if let place { refused.insert(place.2.key) }
            }
            if refused.count == before {
                // The erroneous change begins or ends at another line: leave out the nearest ones.
                for error in output.matches(of: #/(?m)^(.*\.swift):(\d+):\d+: error: /#) {
                    guard let line = Int(error.2) else { continue }
                    refused.formUnion(
                        places.filter { error.1.hasSuffix($0.2.source) && abs($0.0 - line) <= 9 }.map(\.2.key))
                }
            }
            if refused.count == before {
                stop(
                    Set(output.matches(of: #/(?m)^(?:\S.*: )?error: .*$/#).map { $0.output }).sorted().joined(
                        separator: "\n"))
            }
            try write(refused.sorted().joined(separator: "\n"), to: memory)
        }
    }

    /// The traits, without the adapters' large dependencies unless the sources are adapters'.
    static func traits(of sources: [Source]) -> [String] {
        let ours = [
            "ResilienceTests", "ResilienceTrafficTests", "ResilienceHTTPTests", "ResilienceSyncTests",
            "ResilienceTestingTests",
            "ResilienceFleetTests",
        ]
        let isOurs = sources.allSatisfy { ours.contains($0.testTarget) }
        return isOurs ? ["--traits", "SQLite,ServiceLifecycle,StubServer,Redis,PostgreSQL"] : ["--enable-all-traits"]
    }

    /// Numbers are the same in every build: tests that are not recompiled contain the numbers of the default arguments
    /// that they use.
    static func numbered(_ sites: [Site]) -> [String: Int] {
        var taken: Set<Int> = []
        return sites.filter { !$0.isTwin }.reduce(into: [:]) { numbers, site in
            // FNV-1a, with room for the changes of one place.
            let hash = site.key.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
            var number = Int(hash % 1_000_000 + 1) * 10
            while !taken.insert(number).inserted { number += 10 }
            numbers[site.key] = number
        }
    }

    /// Updates the copy, writing only changed files, so that the build does little; without the tests of other modules.
    static func copyPackage(but sources: [Source]) throws {
        let files = FileManager.default
        var wanted: Set<String> = ["Package.swift", "Sources/Resilience/Mutants.swift"]
        for folder in ["Sources", "Tests", "Docs"] {
            wanted.formUnion(try files.subpathsOfDirectory(atPath: folder).map { "\(folder)/\($0)" })
            for path in (try? files.subpathsOfDirectory(atPath: copy.appending(path: folder).path)) ?? []
            where !wanted.contains("\(folder)/\(path)") {
                try? files.removeItem(at: copy.appending(path: "\(folder)/\(path)"))
            }
        }
        let tests = Set(sources.map { "\"\($0.testTarget)\"" }).sorted().joined(separator: ", ")
        for path in wanted where !sources.contains(where: { $0.path == path }) {
            // A folder has no data, and some files for fuzzers are not text.
            guard var data = try? Data(contentsOf: URL(filePath: path)) else { continue }
            if path == "Package.swift" {
                let without = """

                    package.targets.removeAll { $0.type == .executable || $0.type == .test && ![\(tests)].contains($0.name) }
                    package.products.removeAll { $0 is Product.Executable }
                    """
                data += Data(without.utf8)
            }
            try write(data, to: copy.appending(path: path))
        }
    }

    static func write(_ text: String, to file: URL) throws { try write(Data(text.utf8), to: file) }

    static func write(_ data: Data, to file: URL) throws {
        if let present = try? Data(contentsOf: file), present == data { return }
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try data.write(to: file, options: .atomic)
    }

    static func swift(_ arguments: [String]) throws -> (status: Int32, output: String) {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["swift"] + arguments + ["--package-path", copy.path]
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: data, as: UTF8.self))
    }
}
