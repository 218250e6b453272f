import ResilienceTesting

@testable import Resilience

extension Throttle {
    /// A call comes, or one that waits asks again.
    /// - Returns: until when it waits; nil if it goes.
    func enter(_ slot: inout PolicySlot, cost: Int = 1, on clock: ManualClock) -> MonotonicInstant? {
        let core = PipelineCore.bare(on: clock)
        defer { withExtendedLifetime(core) {} }
        var call = PolicyCall(core, RunOptions(cost: cost))
        guard case .park(_, let until) = enter(&call, &slot) else { return nil }
        return until
    }
}

extension ThrottleLimit {
    /// Of a window.
    var calls: Int { if case .window(let calls, _, _) = kind { calls } else { .max } }
    var period: Duration { if case .window(_, let period, _) = kind { period } else { .zero } }
    var isSliding: Bool { if case .window(_, _, .sliding) = kind { true } else { false } }
    var anchor: MonotonicInstant? { if case .window(_, _, .fixed(let anchor)) = kind { anchor } else { nil } }
}

extension ThrottleStateMachine {
    /// nil for a gate without a rate.
    init(rate: ThrottleRate?, burst: Int, ramp: Duration = .zero) {
        self.init(Limiter(rate.map { .rate($0.calls, per: $0.period, burst: burst) } ?? .unlimited), ramp: ramp)
    }

    init(_ window: ThrottleLimit, ramp: Duration = .zero) { self.init(Limiter(window), ramp: ramp) }

    /// The head of the line asks again.
    /// - Returns: who goes, or is sent away; nil if nobody does.
    mutating func admitNext(at now: MonotonicInstant) -> (ticket: UInt64, answer: Answer)? {
        guard let ticket = head?.ticket else { return nil }
        let answer = askAgain(ticket, at: now)
        return answer.lets || answer == .never ? (ticket, answer) : nil
    }

    /// Everybody in line asks again, in order, and those go who may.
    mutating func admitted(at now: MonotonicInstant) -> [UInt64] {
        var tickets: [UInt64] = []
        while let next = admitNext(at: now) { tickets.append(next.ticket) }
        return tickets
    }

    /// How many of so many calls of cost 1 go at once.
    mutating func allowed(asks: Int, at now: MonotonicInstant) -> Int { (0..<asks).count { _ in ask(at: now) == .go } }
}
