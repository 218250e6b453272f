#if Configuration
    import Configuration
    import Foundation
    import Resilience
    import ResilienceConfiguration
    import ResilienceTraffic
    import TestSupport
    import Testing

    /// The code of the pages in Sources/ResilienceConfiguration/ResilienceConfiguration.docc, unchanged.
    @Suite(.timeLimit(.minutes(20)), .responsive) struct ResilienceConfigurationExamples {
        struct Client: Sendable {
            func page() async throws -> String { "page" }
            func search() async throws -> String { "found" }
        }

        let client = Client()

        private static func page(_ name: String) throws -> String {
            try String(
                contentsOf: repository.appending(
                    path: "Sources/ResilienceConfiguration/ResilienceConfiguration.docc/\(name).md"), encoding: .utf8)
        }

        /// The landing page's file, unchanged.
        private func config() async throws -> ConfigReader {
            let page = try Self.page("ResilienceConfiguration")
            let json = try #require(page.components(separatedBy: "```json\n").dropFirst().first)
            return try await Configurations.file(json.components(separatedBy: "\n```")[0])
        }

        @Test("the landing page's pipelines are made from its file, and follow the file's changes")
        func pipelines() async throws {
            let config = try await config()
            let pipelines = try ConfiguredPipelines(["catalog"], reader: config)
            let running = Task { await pipelines.run() }
            let page = try await pipelines["catalog"].run {
                try await client.page()
            }
            #expect(page == "page")
            #expect(
                try pipelines["catalog"].elements.map(\.name) == ["timeout", "retry", "bulkhead", "attemptTimeout"])
            running.cancel()
            await running.value
        }

        @Test("the landing page's pipelines are made from a file by its path")
        func file() async throws {
            let page = try Self.page("ResilienceConfiguration")
            let json = try #require(page.components(separatedBy: "```json\n").dropFirst().first)
            let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
            try json.components(separatedBy: "\n```")[0].write(toFile: path, atomically: true, encoding: .utf8)
            defer { try? FileManager.default.removeItem(atPath: path) }
            let observers = PolicyObservers()
            let pipelines = try ConfiguredPipelines(
                ["catalog"], file: path, observers: observers)
            #expect(try pipelines["catalog"].elements.count == 4)
        }

        @Test("the landing page's pipelines may have all policies")
        func allPolicies() throws {
            let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
            try #"{"resilience": {"pipelines": {"catalog": {"policies": ["retry", "hedge", "chaos"]}}}}"#
                .write(toFile: path, atomically: true, encoding: .utf8)
            defer { try? FileManager.default.removeItem(atPath: path) }
            let observers = PolicyObservers()
            let pipelines = try ConfiguredPipelinesOf<Pipeline.AllSettings>(
                ["catalog"], file: path, observers: observers)
            #expect(try pipelines["catalog"].elements.map(\.name) == ["retry", "hedge", "chaos"])
        }

        @Test("the landing page's registry is made from its file")
        func registry() async throws {
            let config = try await config()
            let pipelines = try ConfiguredPipelines(reader: config)
            let endpoints = try pipelines.registry("endpoints")
            let found = try await endpoints["/search"].run {
                try await client.search()
            }
            #expect(found == "found")
            #expect(endpoints["/search"].description.contains("0 retries"))
            #expect(endpoints["/page"].description.contains("2 retries"))
        }

        @Test("the landing page's observer receives changes, and its closure adds what a configuration can't express")
        func made() async throws {
            let config = try await config()
            let isUnavailable: @Sendable (any Error) -> Bool = { _ in true }
            let observers = PolicyObservers { event in
                if event.detail is ConfigurationEvent { print(event) }
            }
            let pipelines = try ConfiguredPipelines(
                ["catalog"], reader: config, observers: observers
            ) { name, settings in
                Pipeline(
                    name, settings: settings,
                    classifier: Classifier { isUnavailable($0) ? .transient : .permanent },
                    observers: observers)
            }
            #expect(try await pipelines["catalog"].run { 7 } == 7)
        }

        @Test("the landing page's keys that nothing reads are found")
        func unknown() async throws {
            let config = try await config()
            let pipelines = try ConfiguredPipelines(["catalog"], reader: config)
            let unknown = pipelines.unknownKeys(
                among: ["resilience.pipelines.catalog.retry.maxRetires"])
            #expect(unknown.count == 1)
        }

        @Test(
            "every line of the pages' code is in a test", arguments: ["ResilienceConfiguration", "ConfigurationSchema"])
        func lines(name: String) throws {
            func lines(_ code: String) -> [String] {
                code.components(separatedBy: "\n").map { line in
                    line.components(separatedBy: "//")[0].trimmingCharacters(in: .whitespaces)
                }.filter { !$0.isEmpty }
            }
            let tests = Set(lines(try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)))
            let blocks = try Self.page(name).components(separatedBy: "```swift\n").dropFirst()
            let code = blocks.flatMap { lines($0.components(separatedBy: "\n```")[0]) }
            let missing = code.filter { !tests.contains($0) }
            #expect(missing == [])
        }

        @Test("the landing page names every public type")
        func topics() throws {
            let page = try Self.page("ResilienceConfiguration")
            let folder = repository.appending(path: "Sources/ResilienceConfiguration")
            let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            let sources = try files.filter { $0.pathExtension == "swift" }.map {
                try String(contentsOf: $0, encoding: .utf8)
            }
            let names = Set(
                sources.flatMap {
                    $0.matches(of: /\n    public (?:final class|struct|enum) (\w+)/).map { String($0.1) }
                })
            #expect(names.count == 6)
            for name in names { #expect(page.contains("- ``\(name)``"), "\(name)") }
        }
    }
#endif
