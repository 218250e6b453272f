import Resilience
import Testing

@Suite struct ClassifierTests {
    @Test("an error that nobody knows is transient")
    func unknown() {
        #expect(Classifier.standard.verdict(for: Outage()) == .transient)
    }

    @Test(
        "an error that says itself what it means is believed",
        arguments: [.permanent, .throttled(retryAfter: .seconds(3)), .uncertain, .rejected, .success] as [Verdict])
    func convertible(verdict: Verdict) {
        #expect(Classifier.standard.verdict(for: Judged(verdict: verdict)) == verdict)
    }

    @Test("a classifier of one's own comes before what the error says of itself, and nil leaves it to the error")
    func own() {
        let classifier = Classifier { ($0 as? Outage)?.number == 404 ? .permanent : nil }
        #expect(classifier.verdict(for: Outage(number: 404)) == .permanent)
        #expect(classifier.verdict(for: Outage(number: 503)) == .transient)
        #expect(classifier.verdict(for: Judged(verdict: .throttled)) == .throttled)
    }

    @Test("a rejection of ours stays a rejection, whatever a classifier of one's own would say")
    func rejection() {
        let classifier = Classifier { _ in .transient }
        #expect(classifier.verdict(for: CircuitOpen(policy: "b", retryAfter: nil)) == .rejected)
        #expect(classifier.verdict(for: WouldWait(policy: "p", retryAfter: nil)) == .rejected)
    }

    @Test("a CancellationError in a task that was not cancelled is a failure like any other")
    func strayCancellation() {
        #expect(Classifier.standard.verdict(for: CancellationError()) == .transient)
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

    @Test("only a throttled verdict carries the other side's wait")
    func retryAfter() {
        #expect(Verdict.throttled(retryAfter: .seconds(9)).retryAfter == .seconds(9))
        #expect(Verdict.throttled.retryAfter == nil)
        #expect(Verdict.transient.retryAfter == nil)
    }

    @Test("only cancellations and our own rejections say nothing of the endpoint", arguments: verdicts)
    func saysNothing(verdict: Verdict, set: VerdictSet) {
        #expect(verdict.saysNothing == (set == .rejected || set == .cancelled))
    }

    @Test("a set is described by the kinds in it")
    func description() {
        #expect("\(VerdictSet([.throttled, .transient]))" == "transient+throttled")
    }
}
