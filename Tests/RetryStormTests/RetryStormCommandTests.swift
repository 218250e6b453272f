#if Demo
    import ArgumentParser
    import Testing

    @testable import RetryStorm

    @Suite struct RetryStormCommandTests {
        @Test(
            "the command explains wrong arguments",
            arguments: [
                (["--mutations", "-1"], "--mutations is -1, and must be 0 to 1000000."),
                (["--mutations", "1000001"], "--mutations is 1000001, and must be 0 to 1000000."),
                (["--mutations", "x"], "The value 'x' is invalid"),
                (["--rate", "0"], "--rate is 0, and must be 1 to 1000000."),
                (["--rate", "9223372036854775807"], "--rate is 9223372036854775807, and must be 1 to 1000000."),
                (["--burst", "0"], "--burst is 0, and must be 1 to 1000000."),
                (["--time-scale", "nan"], "--time-scale is nan, and must be above 0 and at most 100."),
                (["--time-scale", "0"], "--time-scale is 0.0, and must be above 0 and at most 100."),
                (["--rate", "--json"], "The value '--json' is invalid"),
                (["--picture", ""], "--picture is empty, and must be a file."),
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
