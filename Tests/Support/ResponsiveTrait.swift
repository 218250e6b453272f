package import Testing

/// Begins a test when other tests' tasks no longer delay it: for tests with timeouts in real time, on machines where
/// all tests together block a task for longer than these timeouts.
package struct ResponsiveTrait: TestTrait, SuiteTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let clock = ContinuousClock()
        var quick = 0
        while testCase != nil && quick < 10 {
            let wait = await clock.measure { await Task.detached {}.value }
            quick = wait < .milliseconds(50) ? quick + 1 : 0
        }
        try await function()
    }
}

extension Trait where Self == ResponsiveTrait {
    /// For tests with timeouts in real time.
    package static var responsive: Self { ResponsiveTrait() }
}
