import Testing

@testable import Resilience
@testable import ResilienceTraffic

@Suite struct HedgeStateMachineTests {
    private func at(_ milliseconds: Int64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: milliseconds * 1_000_000)
    }

    private func machine(
        maxHedges: Int = 1, delay: Int64? = 100, on verdicts: VerdictSet = .transient, deadline: Int64? = nil
    ) -> HedgeStateMachine {
        HedgeStateMachine(
            maxHedges: maxHedges, delay: delay.map { $0 * 1_000_000 }, on: verdicts,
            deadline: deadline.map(at) ?? .distantFuture, at: at(0))
    }

    @Test("a hedge begins after the delay, the next after another delay, up to the limit")
    func delays() {
        var machine = machine(maxHedges: 2)
        #expect(machine.step(at: at(0)) == .wait(until: at(100)))
        #expect(machine.step(at: at(100)) == .begin)
        machine.began(at: at(105))
        #expect(machine.step(at: at(105)) == .wait(until: at(205)))
        #expect(machine.step(at: at(205)) == .begin)
        machine.began(at: at(205))
        #expect(machine.step(at: at(900)) == .wait(until: .distantFuture) && machine.hedges == 2)
    }

    @Test("without a delay all copies begin at once; without hedges, or with an unknown delay, no hedge begins")
    func extremes() {
        var machine = machine(maxHedges: 3, delay: 0)
        var begun = 0
        while machine.step(at: at(0)) == .begin {
            machine.began(at: at(0))
            begun += 1
        }
        #expect(begun == 3 && machine.step(at: at(0)) == .wait(until: .distantFuture))
        #expect(self.machine(maxHedges: 0).step(at: at(1_000)) == .wait(until: .distantFuture))
        #expect(self.machine(delay: nil).step(at: at(1_000)) == .wait(until: .distantFuture))
    }

    @Test(
        "a decisive end ends the call at once, and later ends change nothing",
        arguments: [Verdict.success, .permanent])
    func decided(verdict: Verdict) {
        var machine = machine()
        machine.began(at: at(100))
        let isKept = machine.ended(verdict, at: at(120))
        #expect(isKept && machine.isDecided)
        #expect(machine.step(at: at(120)) == .end)
        let later = machine.ended(.success, at: at(130))
        #expect(!later && machine.step(at: at(130)) == .end)
    }

    @Test("a transient failure does not win while a copy runs, and begins the next copy at once (P27)")
    func failureDoesNotWin() {
        var machine = machine(maxHedges: 2)
        let kept1 = machine.ended(.transient, at: at(10))
        #expect(kept1)
        #expect(machine.step(at: at(10)) == .begin)
        machine.began(at: at(10))
        #expect(machine.step(at: at(10)) == .wait(until: at(110)))
        machine.began(at: at(110))
        let kept2 = machine.ended(.transient, at: at(120))
        #expect(kept2)
        #expect(machine.step(at: at(120)) == .wait(until: .distantFuture))
        let isKept = machine.ended(.success, at: at(130))
        #expect(isKept && machine.step(at: at(130)) == .end)
    }

    @Test("any other failure does not win, and does not begin the next copy at once")
    func otherFailure() {
        var machine = machine(on: [])
        machine.began(at: at(100))
        let kept3 = machine.ended(.uncertain, at: at(120))
        #expect(kept3)
        #expect(machine.step(at: at(120)) == .wait(until: .distantFuture))
        var alone = self.machine(on: [])
        let isKept = alone.ended(.transient, at: at(10))
        #expect(isKept && alone.step(at: at(10)) == .end)
    }

    @Test(
        "a copy that is throttled, rejected, cancelled or not to be retried stops further copies, but not running copies",
        arguments: [
            Verdict.throttled, .rejected, .cancelled, Verdict(.transient, shouldRetry: false),
            Verdict(.permanent, shouldRetry: false),
        ])
    func stops(verdict: Verdict) {
        var machine = machine(maxHedges: 3)
        machine.began(at: at(100))
        _ = machine.ended(verdict, at: at(110))
        let next = machine.step(at: at(900))
        #expect(next == (verdict.kind == .permanent ? .end : .wait(until: .distantFuture)))
        let isKept = machine.ended(.success, at: at(910))
        #expect(isKept != (verdict.kind == .permanent))
    }

    @Test("the next copy begins after the other side's named wait; if no copy runs, the call ends instead of waiting")
    func namedWait() {
        var machine = machine(maxHedges: 2)
        machine.began(at: at(100))
        let kept4 = machine.ended(.transient(retryAfter: .milliseconds(500)), at: at(110))
        #expect(kept4)
        #expect(machine.step(at: at(110)) == .wait(until: at(610)))
        #expect(machine.step(at: at(610)) == .begin)
        var alone = self.machine(maxHedges: 2)
        let kept5 = alone.ended(.transient(retryAfter: .milliseconds(500)), at: at(10))
        #expect(kept5)
        #expect(alone.step(at: at(10)) == .end)
    }

    @Test("if the other side asks for a retry, the next copy begins at once, whatever the verdict's kind")
    func wished() {
        var machine = machine(on: [])
        let isKept = machine.ended(Verdict(.permanent, shouldRetry: true), at: at(10))
        #expect(isKept && !machine.isDecided)
        #expect(machine.step(at: at(10)) == .begin)
    }

    @Test("if no copy succeeds, the call ends with the most informative end, and the later of two equal ends")
    func worth() {
        let ranked: [[Verdict]] = [
            [.rejected, .cancelled], [.transient, .uncertain], [Verdict(.uncertain, shouldRetry: true)],
            [.transient(retryAfter: .seconds(1))],
            [.transient(retryAfter: .seconds(2))], [.throttled],
            [.throttled(retryAfter: .seconds(1))], [Verdict(.transient, shouldRetry: false)],
        ]
        for (rank, first) in ranked.enumerated().flatMap({ rank, all in all.map { (rank, $0) } }) {
            for (otherRank, second) in ranked.enumerated().flatMap({ rank, all in all.map { (rank, $0) } }) {
                var machine = machine()
                machine.began(at: at(100))
                let kept6 = machine.ended(first, at: at(110))
                #expect(kept6)
                let isKept = machine.ended(second, at: at(120))
                #expect(isKept == (otherRank >= rank), "\(second) after \(first)")
                #expect(machine.step(at: at(120)) == .end || machine.step(at: at(120)) == .begin)
            }
        }
    }

    @Test("a hedge about to begin does not begin if the server has meanwhile asked for a wait")
    func waitMeanwhile() {
        var machine = machine(maxHedges: 2)
        machine.began(at: at(100))
        #expect(machine.step(at: at(200)) == .begin)
        _ = machine.ended(.transient(retryAfter: .seconds(30)), at: at(200))
        let hasBegun = machine.began(at: at(200))
        #expect(!hasBegun && machine.step(at: at(200)) == .wait(until: at(30_200)))
    }

    @Test("if a rejection asks for a retry, a hedge ignores this, as a retry policy does")
    func wishOfARejection() {
        var machine = machine(maxHedges: 2)
        machine.began(at: at(100))
        _ = machine.ended(Verdict(.rejected, shouldRetry: true), at: at(110))
        #expect(machine.step(at: at(900)) == .wait(until: .distantFuture))
    }

    @Test("once no copy runs, no further copy begins, even if its delay or wait is over when the machine is asked")
    func askedLate() {
        for verdict in [Verdict.uncertain, .transient(retryAfter: .milliseconds(50))] {
            var machine = machine()
            _ = machine.ended(verdict, at: at(10))
            #expect(machine.step(at: at(900)) == .end)
        }
    }

    @Test(
        "a hedge about to begin does not begin if a copy has meanwhile ended",
        arguments: [Verdict.success, .throttled])
    func endedMeanwhile(verdict: Verdict) {
        var machine = machine(maxHedges: 2)
        #expect(machine.step(at: at(100)) == .begin)
        _ = machine.ended(verdict, at: at(100))
        let hasBegun = machine.began(at: at(100))
        #expect(!hasBegun && machine.hedges == 0 && machine.step(at: at(900)) == .end)
    }

    @Test(
        "any failure can be configured to begin the next copy at once",
        arguments: [Verdict.permanent, .throttled, .rejected])
    func chosen(verdict: Verdict) {
        var machine = machine(on: [.permanent, .throttled, .rejected])
        _ = machine.ended(verdict, at: at(10))
        #expect(!machine.isDecided && machine.step(at: at(10)) == .begin)
    }

    @Test("no hedge begins at or after the deadline, and the call does not wait for one", arguments: [100, 99, 0, -5])
    func deadline(deadline: Int64) {
        var machine = machine(deadline: deadline)
        #expect(machine.step(at: at(0)) == .wait(until: .distantFuture))
        #expect(machine.step(at: at(100)) == .wait(until: .distantFuture))
        _ = machine.ended(.transient, at: at(120))
        #expect(machine.step(at: at(120)) == .end)
        var late = self.machine(deadline: 101)
        #expect(late.step(at: at(100)) == .begin)
        #expect(late.step(at: at(101)) == .wait(until: .distantFuture))
        _ = late.ended(.transient, at: at(101))
        #expect(late.step(at: at(101)) == .end)
    }

    @Test("if no more copies may begin, the running copy continues, and its end is the call's")
    func noMore() {
        var machine = machine(maxHedges: 3)
        machine.mayBeginNoMore()
        #expect(machine.step(at: at(500)) == .wait(until: .distantFuture))
        let isKept = machine.ended(.transient, at: at(600))
        #expect(isKept && machine.step(at: at(600)) == .end)
    }

    @Test(
        "at the clock's first and last instants a race waits for ever rather than until a wrong time",
        arguments: [Int64.max, Int64.max - 5, Int64.min])
    func ends(start: Int64) {
        let now = MonotonicInstant(nanoseconds: start)
        let machine = HedgeStateMachine(
            maxHedges: 1, delay: .max, on: .transient, deadline: .distantFuture, at: now)
        guard case .wait(let until) = machine.step(at: now) else {
            Issue.record("\(machine.step(at: now))")
            return
        }
        #expect(until >= now)
    }
}
