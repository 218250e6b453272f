import Resilience
import ResilienceTesting
import TestSupport
import Testing

@Suite struct LastGoodTests {
    let clock = ManualClock()

    @Test("a result older than maxAge is not returned; a result whose age is exactly maxAge is returned")
    func maxAge() async throws {
        let last = LastGood<Int>(maxAge: .seconds(60), timeBase: clock)
        let fallback = Pipeline(timeBase: clock) {}.withFallback(toLastGood: last)
        _ = try await fallback.run { 1 }
        clock.advance(by: .seconds(60))
        #expect(try await fallback.run { throw Outage() } == 1)
        clock.advance(by: .nanoseconds(1))
        await #expect(throws: Outage.self) { try await fallback.run { throw Outage() } }
        #expect(last.value == nil && last.age == .seconds(60) + .nanoseconds(1))
    }

    @Test("a substitute, or a result judged a failure, is not kept as the last good result")
    func onlySuccesses() async throws {
        let last = LastGood<Int>(timeBase: clock)
        let fallback = Pipeline(timeBase: clock) {}.withFallback(toLastGood: last, otherwise: { _ in 99 })
        #expect(try await fallback.run { throw Outage() } == 99)
        #expect(last.value == nil)
        #expect(try await fallback.run(judging: { _ in .transient }) { _ in 503 } == 99)
        #expect(last.value == nil)
        #expect(try await fallback.run(judging: { _ in .success }) { _ in 200 } == 200)
        #expect(last.value == 200)
    }

    @Test("a value kept by hand is returned, and a forgotten value is not")
    func byHand() async throws {
        let last = LastGood<Int>(timeBase: clock)
        let fallback = Pipeline(timeBase: clock) {}.withFallback(toLastGood: last)
        last.keep(5)
        clock.advance(by: .seconds(3))
        #expect(last.age == .seconds(3))
        #expect(try await fallback.run { throw Outage() } == 5)
        last.forget()
        #expect(last.age == nil)
        await #expect(throws: Outage.self) { try await fallback.run { throw Outage() } }
    }

    @Test("a replaced value is released outside the lock: its deinit may read the last good result (P7, P38)")
    func letGo() {
        final class Page: Sendable {
            let onDeinit: @Sendable () -> Void
            init(_ onDeinit: @escaping @Sendable () -> Void) { self.onDeinit = onDeinit }
            deinit { onDeinit() }
        }
        let journal = Journal()
        let last = LastGood<Page>(timeBase: clock)
        let note = { @Sendable [weak last] in journal.note("\(last?.value == nil)") }
        last.keep(Page(note))
        last.keep(Page(note))
        last.forget()
        #expect(journal.lines == ["false", "true"])
    }
}
