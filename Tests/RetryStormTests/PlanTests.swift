#if Demo
    import ArgumentParser
    import Foundation
    import Testing

    @testable import RetryStorm

    @Suite struct PlanTests {
        private func plan(_ arguments: String...) throws -> Plan { try RetryStormCommand.parse(arguments).plan }

        @Test("the defaults")
        func theDefaults() throws {
            let plan = try plan()
            #expect(plan.source == .madeUp(count: 1000, seed: 1))
            #expect(plan.server == .ours(.init(rate: 25, burst: 25)))
            #expect(plan.runs == [.naive, .toolkit])
            #expect(plan.timeScale == 1 && plan.database == nil)
        }

        @Test("the burst is the rate unless given")
        func theBurstIsTheRateUnlessGiven() throws {
            #expect(try plan("--rate", "50").server == .ours(.init(rate: 50, burst: 50)))
            #expect(try plan("--rate", "50", "--burst", "5").server == .ours(.init(rate: 50, burst: 5)))
        }

        @Test("a foreign server gets the toolkit unless a storm is asked for")
        func aForeignServerGetsTheToolkitUnlessAStormIsAskedFor() throws {
            let url = try #require(URL(string: "https://example.org:8443/m"))
            #expect(try plan("--url", url.absoluteString).runs == [.toolkit])
            #expect(try plan("--url", url.absoluteString, "--only", "naive").runs == [.naive])
            #expect(try plan("--url", url.absoluteString).server == .at(url, nil))
            #expect(
                try plan("--url", url.absoluteString, "--rate", "5").server == .at(url, .init(rate: 5, burst: 5)))
        }

        @Test(
            "says what is wrong",
            arguments: [
                (["--mutations", "-1"], "--mutations is -1, and must be 0 to 1000000."),
                (["--mutations", "1000001"], "--mutations is 1000001, and must be 0 to 1000000."),
                (["--mutations", "99999999999999999999"], "The value '99999999999999999999' is invalid"),
                (["--mutations", "x"], "The value 'x' is invalid"),
                (["--rate", "0"], "--rate is 0, and must be 1 to 1000000."),
                (["--rate", "9223372036854775807"], "--rate is 9223372036854775807, and must be 1 to 1000000."),
                (["--burst", "0"], "--burst is 0, and must be 1 to 1000000."),
                (["--time-scale", "nan"], "--time-scale is nan, and must be above 0 and at most 100."),
                (["--time-scale", "inf"], "--time-scale is inf, and must be above 0 and at most 100."),
                (["--time-scale", "0"], "--time-scale is 0.0, and must be above 0 and at most 100."),
                (["--only", "both"], "The value 'both' is invalid"), (["--seed", "-1"], "The value '-1' is invalid"),
                (["--rate", "--json"], "The value '--json' is invalid"),
                (["--rate"], "Missing value for '--rate <rate>'"),
                (["--input", "f", "--mutations", "3"], "--input and --mutations exclude each other."),
                (["--input", ""], "--input is empty, and must be a file."),
                (["--database", ""], "--database is empty, and must be a file."),
                (["--picture", ""], "--picture is empty, and must be a file."),
                (["--picture", "f", "--url", "http://host/"], "--picture shows what our own server saw"),
                (["--url", "ftp://host/"], "--url is \"ftp://host/\", and must be like"),
                (["--url", "http://"], "--url is \"http://\", and must be like"),
                (["--url", "host"], "--url is \"host\", and must be like"),
                (["--url", ""], "--url is \"\", and must be like"),
                (["--url", "http://host:0/"], "--url is \"http://host:0/\", and must be like"),
                (["--url", "http://host:70000/"], "--url is \"http://host:70000/\", and must be like"),
                (["--url", "http://host/", "--burst", "3"], "--burst with --url needs --rate"),
                (["--nonsense"], "Unknown option '--nonsense'"),
            ])
        func saysWhatIsWrong(arguments: [String], message: String) {
            #expect {
                _ = try RetryStormCommand.parse(arguments)
            } throws: { error in
                RetryStormCommand.message(for: error).contains(message)
                    && RetryStormCommand.exitCode(for: error) == .validationFailure
            }
        }
    }
#endif
