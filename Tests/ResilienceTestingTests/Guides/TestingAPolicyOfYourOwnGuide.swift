import Resilience
import ResilienceTesting
import Synchronization
import Testing

// The code of Docs/TestingAPolicyOfYourOwn.md, unchanged.

struct QuotaStateMachine: Hashable {
    let limit: Int
    let window: Duration
    private(set) var used = 0
    private(set) var windowNumber: UInt64 = 0
    private(set) var windowEnds = MonotonicInstant.distantPast

    enum Answer: Equatable {
        case go
        case reject(retryAfter: Duration)
    }

    init(limit: Int, window: Duration) {
        self.limit = limit
        self.window = window
    }

    mutating func ask(at now: MonotonicInstant) -> Answer {
        if windowEnds <= now {
            used = 0
            windowNumber += 1
            windowEnds = now + window
        }
        guard used < limit else { return .reject(retryAfter: now.duration(to: windowEnds)) }
        used += 1
        return .go
    }

    /// A call did not reach the other side after all.
    mutating func giveBack(windowNumber: UInt64) {
        if windowNumber == self.windowNumber { used -= 1 }
    }
}

final class Quota: Policy {
    let name = "quota"
    var timeBase: (any TimeBase)? { base }
    private let base: any TimeBase
    private let machine: Mutex<QuotaStateMachine>

    init(limit: Int, window: Duration, timeBase: any TimeBase = .system) {
        base = timeBase
        machine = Mutex(QuotaStateMachine(limit: limit, window: window))
    }

    func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        let now = call.now
        let (answer, number) = machine.withLock { ($0.ask(at: now), $0.windowNumber) }
        switch answer {
        case .go:
            slot.first = number
            return .proceed
        case .reject(let retryAfter):
            return .reject(QuotaUsedUp(retryAfter: retryAfter))
        }
    }

    func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        if outcome.verdict == .rejected { machine.withLock { $0.giveBack(windowNumber: slot.first) } }
        return .pass
    }

    func forecast(_ call: inout PolicyCall) -> PolicyForecast {
        // On a copy: the call does not take place.
        var machine = machine.withLock { $0 }
        return switch machine.ask(at: call.now) {
        case .go: .proceeds
        case .reject(let retryAfter): .rejects(retryAfter: retryAfter)
        }
    }
}

struct QuotaUsedUp: Rejection {
    let retryAfter: Duration?
    var description: String { "The quota is used up." }
}

@Suite struct QuotaStateMachineTests {
    var machine = QuotaStateMachine(limit: 2, window: .seconds(60))
    let start = MonotonicInstant(nanoseconds: 0)

    @Test("a third call in the window is rejected, with the time until the window ends")
    mutating func third() {
        #expect(machine.ask(at: start) == .go)
        #expect(machine.ask(at: start + .seconds(10)) == .go)
        #expect(machine.ask(at: start + .seconds(20)) == .reject(retryAfter: .seconds(40)))
        #expect(machine.ask(at: start + .seconds(60)) == .go)
    }
}

struct ExploredQuota: ExplorableMachine {
    enum Input { case ask, wait, giveBackFirst }

    var machine = QuotaStateMachine(limit: 2, window: .seconds(3))
    var now = MonotonicInstant(nanoseconds: 0)
    /// The model: the window of every call that is counted, and those whose end is still to come.
    var counted: [UInt64] = []
    var inside: [UInt64] = []

    var inputs: [Input] { inside.isEmpty ? [.ask, .wait] : [.ask, .wait, .giveBackFirst] }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .wait:
            now = now + .seconds(1)
        case .ask:
            if machine.ask(at: now) == .go {
                counted.append(machine.windowNumber)
                inside.append(machine.windowNumber)
            }
        case .giveBackFirst:
            let number = inside.removeFirst()
            machine.giveBack(windowNumber: number)
            counted.remove(at: counted.firstIndex(of: number)!)
        }
        let inThisWindow = counted.count { $0 == machine.windowNumber }
        try require(machine.used, is: inThisWindow, "the count")
        try require(inThisWindow <= 2, "\(inThisWindow) calls in one window")
    }
}

@Suite struct QuotaExplorationTests {
    @Test("no history of ten inputs, and no random long history, gets more calls into a window than allowed")
    func all() throws {
        let explorer = Explorer(ExploredQuota())
        #expect(try explorer.exploreAll(depth: 10).transitions > 20_000)
        try explorer.exploreRandomly(walks: 20, length: 1_000, seed: 1)
    }
}

struct QuotaModel: SequentialModel {
    enum Input { case ask }

    var machine = QuotaStateMachine(limit: 3, window: .seconds(60))

    /// Whether the call may go ahead.
    mutating func apply(_ input: Input) -> Bool { machine.ask(at: MonotonicInstant(nanoseconds: 0)) == .go }
}

@Suite struct QuotaTests {
    // C8
    @Test("a quota keeps the contract of a policy")
    func contract() async {
        let report = await PolicyContract { clock in Quota(limit: 4, window: .seconds(60), timeBase: clock) }
            .check()
        #expect(report.violations == [])
    }

    @Test("a quota's answers on several threads are its machine's answers in some order")
    func linearizable() async throws {
        let quota = Quota(limit: 3, window: .seconds(60), timeBase: ManualClock())
        let history = History<QuotaModel.Input, Bool>(threads: 4)
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<4 {
                group.addTask {
                    for _ in 0..<10 {
                        history.record(.ask, onThread: thread) {
                            do { _ = try quota.tryAcquire() } catch { return false }
                            return true
                        }
                    }
                }
            }
        }
        try history.check(against: QuotaModel())
    }

    @Test("a call that an inner policy rejects does not use up the quota")
    func rejectedFurtherIn() async {
        let clock = ManualClock()
        let bulkhead = Bulkhead(limit: 1, timeBase: clock)
        let pipeline = Pipeline(timeBase: clock) {
            Quota(limit: 2, window: .seconds(60), timeBase: clock)
            bulkhead
        }
        let permit = try? bulkhead.tryAcquire()
        for _ in 0..<10 {
            await #expect(throws: BulkheadFull.self) { try await pipeline.run {} }
        }
        permit?.complete(.success)
        await #expect(throws: Never.self) { try await pipeline.run {} }
    }
}
