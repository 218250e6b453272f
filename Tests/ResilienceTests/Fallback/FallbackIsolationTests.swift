import Resilience
import ResilienceTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct FallbackIsolationTests {
    /// Not `Sendable`.
    final class Notes {
        var lines = 0
    }

    static let fallback: Fallback<Notes> = Pipeline { Timeout(limit: .seconds(60)) }.withFallback { failure in
        failure.verdict == .throttled ? nil : Notes()
    }

    actor Ledger {
        var calls = 0
        let notes = Notes()

        func run() async throws -> Bool {
            var attempts = 0
            let notes = self.notes
            let same = try await FallbackIsolationTests.fallback.run {
                self.assertIsolated()
                calls += 1
                attempts += 1
                notes.lines += 1
                return notes
            }
            let other = try await FallbackIsolationTests.fallback.run {
                calls += 1
                throw Outage()
            }
            self.assertIsolated()
            return same === notes && other !== notes && calls == 2 && attempts == 1
        }
    }

    @Test("called from an actor, the operation uses its state, captures a var and returns a non-Sendable value")
    func fromActor() async throws {
        #expect(try await Ledger().run())
    }

    @MainActor
    @Test("called from the main actor, the operation and the substitute run there")
    func fromMainActor() async throws {
        let fallback: Fallback<Int> = Pipeline {}.withFallback { _ in
            MainActor.assertIsolated()
            return 7
        }
        let number = try await fallback.run {
            MainActor.assertIsolated()
            throw Outage()
        }
        #expect(number == 7)
    }
}
