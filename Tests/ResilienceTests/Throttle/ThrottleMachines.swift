@testable import Resilience

extension ThrottleStateMachine {
    /// nil for a gate without a rate.
    init(rate: Rate?, burst: Int, ramp: Duration = .zero) {
        self.init(rate.map { Limiter($0, burst: burst) } ?? .unlimited, ramp: ramp)
    }

    init(_ window: Throttle.Window, ramp: Duration = .zero) { self.init(Limiter(window), ramp: ramp) }

    /// Lets in everybody in line who may go.
    mutating func admitted(at now: Instant) -> [UInt64] {
        var tickets: [UInt64] = []
        while let next = admitNext(at: now) { tickets.append(next.ticket) }
        return tickets
    }

    /// How many of so many calls of cost 1 go at once.
    mutating func allowed(asks: Int, at now: Instant) -> Int { (0..<asks).count { _ in ask(at: now) == .go } }
}
