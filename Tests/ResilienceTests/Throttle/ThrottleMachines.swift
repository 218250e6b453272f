import ResilienceTesting

@testable import Resilience

extension Throttle {
    /// A new or waiting call asks to enter.
    /// - Returns: Until when it waits; nil if it goes.
    func enter(_ slot: inout PolicySlot, cost: Int = 1, on clock: ManualClock) -> MonotonicInstant? {
        let core = PipelineCore.bare(on: clock)
        defer { withExtendedLifetime(core) {} }
        var call = PolicyCall(core, RunOptions(cost: cost))
        guard case .park(_, let until) = enter(&call, &slot) else { return nil }
        return until
    }
}

extension ThrottleLimit {
    /// The calls that a window allows; .max for other limits.
    var calls: Int { if case .window(let calls, _, _) = kind { calls } else { .max } }
    var period: Duration { if case .window(_, let period, _) = kind { period } else { .zero } }
    var isSliding: Bool { if case .window(_, _, .sliding) = kind { true } else { false } }
    var anchor: MonotonicInstant? { if case .window(_, _, .fixed(let anchor)) = kind { anchor } else { nil } }
}

extension ThrottleStateMachine {
    /// A nil rate makes a gate.
    init(rate: ThrottleRate?, burst: Int, ramp: Duration = .zero) {
        self.init(Limiter(rate.map { .rate($0.calls, per: $0.period, burst: burst) } ?? .unlimited), ramp: ramp)
    }

    init(_ window: ThrottleLimit, ramp: Duration = .zero) { self.init(Limiter(window), ramp: ramp) }

    /// The head of the line asks again.
    /// - Returns: The call that goes or is rejected; nil if the head keeps waiting.
    mutating func admitNext(at now: MonotonicInstant) -> (ticket: UInt64, answer: Answer)? {
        guard let ticket = head?.ticket else { return nil }
        let answer = askAgain(ticket, at: now)
        return answer.lets || answer == .never ? (ticket, answer) : nil
    }

    /// All calls in line ask again, in order, and go if they may.
    mutating func admitted(at now: MonotonicInstant) -> [UInt64] {
        var tickets: [UInt64] = []
        while let next = admitNext(at: now) { tickets.append(next.ticket) }
        return tickets
    }

    /// The number of calls of cost 1 that go at once.
    mutating func allowed(asks: Int, at now: MonotonicInstant) -> Int { (0..<asks).count { _ in ask(at: now) == .go } }
}
