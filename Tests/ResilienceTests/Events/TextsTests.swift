import Resilience
import TestSupport
import Testing

/// Texts that people read in logs.
@Suite struct TextsTests {
    @Test("the texts of bulkhead and timeout events describe what happened")
    func events() {
        #expect("\(Bulkhead.Event.queued)" == "full, call queued")
        #expect("\(Bulkhead.Event.rejected(.full))" == "full, queue full, rejecting call")
        #expect("\(Bulkhead.Event.rejected(.waitedTooLong))" == "waited too long, rejecting call")
        #expect("\(Timeout.Event.timedOut(.seconds(5)))" == "timed out after 5 s")
        let late = Timeout.Event.endedLate(by: .seconds(3))
        #expect("\(late)" == "abandoned operation ended, 3 s after its call")
    }

    @Test("a policy without a name or description uses its type's name")
    func defaults() {
        struct Plain: Policy {}
        struct Surrounding: AroundPolicy {
            func around(
                _ call: inout PolicyCall, isolation: isolated (any Actor)?,
                _ inside: nonisolated(nonsending) (MonotonicInstant) async throws -> Verdict
            ) async throws -> Verdict { try await inside(call.deadline) }
        }
        #expect(Plain().name == "Plain" && "\(Plain())" == "Plain")
        #expect(Surrounding().name == "Surrounding" && "\(Surrounding())" == "Surrounding")
    }

    @Test("a call has its pipeline's name, and a pipeline gives an error's verdict")
    func names() async throws {
        struct Naming: Policy {
            func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
                #expect(call.pipeline == "activities")
                return .proceed
            }
        }
        let pipeline = Pipeline("activities", classifier: Classifier { _ in .permanent }) { Naming() }
        try await pipeline.run {}
        #expect(pipeline.verdict(for: Outage()) == .permanent)
    }

    @Test("an around policy that skips its inside, or swallows its error, fails the call, and the error explains this")
    func lost() async {
        struct Losing: AroundPolicy {
            let skips: Bool

            func around(
                _ call: inout PolicyCall, isolation: isolated (any Actor)?,
                _ inside: nonisolated(nonsending) (MonotonicInstant) async throws -> Verdict
            ) async throws -> Verdict {
                if skips { return .success }
                do { return try await inside(call.deadline) } catch { return .transient }
            }
        }
        for skips in [true, false] {
            let error = await #expect(throws: (any Error).self) {
                try await Pipeline("activities") { Losing(skips: skips) }.run { throw Outage() }
            }
            #expect(
                error.map { "\($0)" }
                    == "activities: an around policy returned a verdict without a result: it must run its inside, and throw "
                    + "what that throws")
        }
    }
}
