import Resilience
import TestSupport
import Testing

@Suite struct ClassifierTests {
    @Test("an operation with an unknown error may have had its effect, so the error is uncertain (P75)")
    func unknown() {
        struct Unknown: Error {}
        #expect(Classifier.standard.verdict(for: Unknown()) == .uncertain)
    }

    @Test(
        "the standard classifier uses an error's own verdict",
        arguments: [.permanent, .throttled(retryAfter: .seconds(3)), .uncertain, .rejected, .success] as [Verdict])
    func convertible(verdict: Verdict) {
        #expect(Classifier.standard.verdict(for: Judged(verdict: verdict)) == verdict)
    }

    @Test("a custom classifier comes before the error's own verdict, and nil leaves the decision to the error")
    func own() {
        let classifier = Classifier { ($0 as? Outage)?.number == 404 ? .permanent : nil }
        #expect(classifier.verdict(for: Outage(number: 404)) == .permanent)
        #expect(classifier.verdict(for: Outage(number: 503)) == .transient)
        #expect(classifier.verdict(for: Judged(verdict: .throttled)) == .throttled)
    }

    @Test("a policy's rejection stays a rejection, whatever a custom classifier returns")
    func rejection() {
        let classifier = Classifier { _ in .transient }
        #expect(classifier.verdict(for: CircuitOpen(policy: "b", retryAfter: nil)) == .rejected)
        #expect(classifier.verdict(for: WouldWait(policy: "p", retryAfter: nil)) == .rejected)
    }

    @Test("a CancellationError in a task that was not cancelled is an ordinary failure")
    func strayCancellation() {
        #expect(Classifier.standard.verdict(for: CancellationError()) == .uncertain)
    }
}

@Suite struct VerdictTests {
    private static let verdicts: [(Verdict, VerdictSet)] = [
        (.success, .success), (.transient, .transient), (.throttled, .throttled),
        (.throttled(retryAfter: .seconds(9)), .throttled), (.uncertain, .uncertain), (.permanent, .permanent),
        (.rejected, .rejected), (.cancelled, .cancelled),
    ]

    @Test("a set of one kind contains that kind of verdict and no other", arguments: verdicts)
    func sets(verdict: Verdict, set: VerdictSet) {
        #expect(set.contains(verdict))
        for (other, otherSet) in Self.verdicts where otherSet != set { #expect(!set.contains(other)) }
        #expect(!VerdictSet([]).contains(verdict))
    }

    @Test("any kind of verdict carries the service's wait, to the nanosecond, rounded up", arguments: verdicts)
    func retryAfter(verdict: Verdict, set: VerdictSet) {
        for (named, kept) in [
            (.seconds(9), .seconds(9)), (.zero, .zero), (.seconds(-1), .seconds(-1)),
            (Duration(attoseconds: 1), .nanoseconds(1)), (.seconds(Int64.max), .nanoseconds(Int64.max)),
            (.seconds(Int64.min), .nanoseconds(Int64.min + 1)),
        ] as [(Duration, Duration)] {
            let waiting = Verdict(verdict.kind, retryAfter: named)
            #expect(waiting.retryAfter == kept && waiting.namedWait == (kept > .zero ? kept : nil))
            #expect(set.contains(waiting))
        }
        #expect(Verdict(verdict.kind).retryAfter == nil && Verdict(verdict.kind).namedWait == nil)
        #expect(Verdict.transient(retryAfter: nil) == .transient && Verdict.throttled(retryAfter: nil) == .throttled)
    }

    @Test("a verdict's text has its wait and whether to retry")
    func texts() {
        #expect("\(Verdict.uncertain)" == "uncertain")
        #expect("\(Verdict.transient(retryAfter: .seconds(2)))" == "transient (retry in 2 s)")
        #expect("\(Verdict(.permanent, shouldRetry: true))" == "permanent (retry)")
        #expect("\(Verdict(.throttled, retryAfter: .seconds(2), shouldRetry: true))" == "throttled (retry in 2 s)")
        #expect("\(Verdict(.transient, shouldRetry: false))" == "transient (do not retry)")
        let both = Verdict(.throttled, retryAfter: .seconds(2), shouldRetry: false)
        #expect("\(both)" == "throttled (wait 2 s, do not retry)")
    }

    @Test("a verdict takes at most 16 bytes, which are passed in registers")
    func size() {
        #expect(MemoryLayout<Verdict>.size <= 16)
    }

    @Test("only cancellations and rejections by policies are inconclusive about the endpoint", arguments: verdicts)
    func saysNothing(verdict: Verdict, set: VerdictSet) {
        #expect(verdict.saysNothing == (set == .rejected || set == .cancelled))
    }

    @Test("a set's description lists its kinds")
    func description() {
        #expect("\(VerdictSet([.throttled, .transient]))" == "transient+throttled")
    }
}
