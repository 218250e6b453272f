#if Configuration
    import Configuration
    import Foundation
    import Resilience
    import ResilienceTesting
    import TestSupport
    import Testing

    @testable import ResilienceConfiguration

    @Suite(.timeLimit(.minutes(20)), .responsive) struct SettingsFileTests {
        let recorder = EventRecorder()
        let clock = ManualClock()
        let content = Content()

        /// The file's content; nil if the file is gone.
        final class Content: Sendable {
            let text = Locked<String?>(nil)
        }

        private func write(_ pipelines: String?) {
            content.text.withLock { $0 = pipelines.map { #"{"resilience": {"pipelines": \#($0)}}"# } }
        }

        private func configured(_ names: [String] = ["p"]) throws -> ConfiguredPipelines {
            let file = try SettingsFile("settings.json") { [content] in
                guard let text = content.text.withLock({ $0 }) else { throw SettingsFile.Unreadable("it is gone") }
                return Data(text.utf8)
            }
            return try ConfiguredPipelines(
                names, file: (file, .seconds(5)), timeBase: clock, observers: PolicyObservers(recorder))
        }

        private var events: [ConfigurationEvent] { recorder.events(of: ConfigurationEvent.self) }

        /// Runs the pipelines while these steps happen, each right before the next check of the file.
        private func follow(_ pipelines: ConfiguredPipelines, _ happenings: [() -> Void]) async {
            let running = Task { await pipelines.run() }
            for happening in happenings {
                await clock.waitForSleepers(1)
                happening()
                clock.advance(by: .seconds(5))
            }
            await clock.waitForSleepers(1)
            running.cancel()
            await running.value
        }

        @Test("the file is checked every few seconds, and changes are applied")
        func followed() async throws {
            write(#"{"p": {"retry": {"maxRetries": 2}}}"#)
            let pipelines = try configured()
            await follow(pipelines, [{}, { write(#"{"p": {"retry": {"maxRetries": 5}}}"#) }, {}])
            #expect(try pipelines["p"].description.contains("5 retries"))
            #expect(events == [.applied(restarted: [])])
        }

        @Test(
            "an unused name is reported at the start, with a suggestion, and again only if it changes (P76)"
        )
        func unknown() async throws {
            write(#"{"p": {"retry": {"maxRetires": 9, "maxRetries": 2}}}"#)
            let pipelines = try configured()
            let unknown = UnknownSetting(path: "resilience.pipelines.p.retry.maxRetires", suggestion: "maxRetries")
            #expect(events == [.unknown([unknown])])
            #expect(events[0].severity == .warning)
            #expect("\(events[0])" == "nothing reads resilience.pipelines.p.retry.maxRetires; did you mean maxRetries?")
            await follow(
                pipelines,
                [
                    {}, { write(#"{"p": {"retry": {"maxRetires": 9, "maxRetries": 3}}}"#) },
                    { write(#"{"p": {"retry": {"maxRetries": 3}}}"#) },
                    { write(#"{"p": {"retry": {"maxRetries": 3}, "bulkhed": {"limit": 1}}}"#) },
                ])
            #expect(
                events.dropFirst() == [
                    .applied(restarted: []),
                    .unknown([UnknownSetting(path: "resilience.pipelines.p.bulkhed", suggestion: "bulkhead")]),
                ])
        }

        @Test(
            "a broken or missing file is reported once, as a warning, and the settings stay until a good file is back (P76)"
        )
        func unreadable() async throws {
            write(#"{"p": {"retry": {"maxRetries": 2}}}"#)
            let pipelines = try configured()
            let broken = { content.text.withLock { $0 = "{" } }
            await follow(
                pipelines,
                [
                    broken, {}, {}, { write(nil) }, {}, { write(#"{"p": {"retry": {"maxRetries": 2}}}"#) },
                    { write(nil) },
                    { write(#"{"p": {"retry": {"maxRetries": 7}}}"#) },
                ])
            #expect(events.map(\.kind) == ["unreadable", "unreadable", "unreadable", "applied"])
            #expect(events.dropLast().allSatisfy { $0.severity == .warning })
            #expect(
                "\(events[0])".hasPrefix(
                    "the settings file can't be read, the settings stay: settings.json: it is not usable JSON: "
                ))
            #expect("\(events[1])" == "the settings file can't be read, the settings stay: settings.json: it is gone")
            #expect(try pipelines["p"].description.contains("7 retries"))
        }

        @Test("a file that can't be read throws at the start", arguments: ["{", "[]", #"{"a": [{"b": 1}]}"#, nil])
        func unreadableAtTheStart(text: String?) throws {
            content.text.withLock { $0 = text }
            #expect(throws: SettingsFile.Unreadable.self) { try configured() }
        }

        @Test("a file on disk is read; an unreadable one throws an error with its name")
        func onADisk() throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let path = folder.appending(path: "settings.json").path
            let error = #expect(throws: InvalidSettings.self) { try ConfiguredPipelines(["p"], file: path) }
            #expect(error?.description.contains("\(path)") == true && error?.description.contains("it is gone") == true)
            try #"{"resilience": {"pipelines": {"p": {"retry": {"maxRetries": 2}}}}}"#
                .write(toFile: path, atomically: true, encoding: .utf8)
            let pipelines = try ConfiguredPipelines(["p"], file: path)
            #expect(try pipelines["p"].description.contains("2 retries"))
            try #"{"resilience": {"pipelines": {"p": {"retry": {"maxRetries": 3}}}}}"#
                .write(toFile: path, atomically: true, encoding: .utf8)
            pipelines.reload()
            #expect(try pipelines["p"].description.contains("3 retries"))
            try Data(count: 1 << 21).write(to: URL(filePath: path))
            #expect(throws: InvalidSettings.self) { try ConfiguredPipelines(["p"], file: path) }
        }

        @Test(
            "within each path, only names that nothing reads are reported",
            arguments: [
                (["pipelines", "p", "retry", "maxRetries"], nil), (["pipelines", "p", "policies"], nil),
                (["pipelines", "p", "retrys"], "retry"), (["pipelines", "p", "RETRY"], "retry"),
                (["pipelines", "p", "circuitBreaker", "openFor", "lengthSecond"], "lengthSeconds"),
                (["pipelines", "p", "circuitBreaker", "tripping", "rules", "0", "kind"], nil),
                (["pipelines", "p", "circuitBreaker", "tripping", "rules", "0", "knid"], "kind"),
                // This setting is read, and then rejected with another error.
                (["pipelines", "p", "timeout", "limit"], nil),
                (["pipelines", "p", "timeout", "limitMilliseconds"], nil),
                (["pipelines", "p"], nil), (["pipeline", "p", "retry"], "pipelines"), (["x"], "-"),
                (["pipelines", "p", "retry", "maxRetries", "more"], "-"), (["pipelines", "p", "retry", ""], "-"),
                (["registries", "r", "default", "retry", "maxRetries"], nil),
                (["registries", "r", "defaults", "retry"], "default"), (["registries", "r", "overrideNames"], nil),
                (["registries", "r", "overrides", "a", "key"], nil),
                (["registries", "r", "overrides", "a", "retry", "maxretries2"], "maxRetries"),
                (["registries", "r", "overrides", "aa", "retry", "maxRetries"], "a"),
                (["registries", "r", "overrides", "unlisted", "key"], "-"), (["registries", "r"], nil),
            ] as [([String], String?)])
        func places(key: [String], suggestion: String?) {
            let found = UnknownSetting.all(
                among: [["resilience"] + key, ["other", "x"]], of: Pipeline.Settings.self, at: ["resilience"]
            ) { $0 == "r" ? ["a"] : [] }
            #expect(found.map { $0.suggestion ?? "-" } == (suggestion.map { [$0] } ?? []), "\(found)")
        }
    }
#endif
