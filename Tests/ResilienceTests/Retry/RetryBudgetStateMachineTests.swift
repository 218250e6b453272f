import TestSupport
import Testing

@testable import Resilience

private let now = MonotonicInstant.second(100)

@Suite struct RetryBudgetStateMachineTests {
    // MARK: Tokens

    @Test("full at the start, it pays for as many retries as its tokens allow, and for no more")
    func tokensRunOut() {
        var budget = TokenBudget(capacity: 500, cost: 14, throttledCost: 5)
        #expect((0..<36).map { _ in budget.withdraw(.usual, at: now) } == [Bool](repeating: true, count: 35) + [false])
        #expect(budget.tokens == 10)
        #expect((0..<3).map { _ in budget.withdraw(.throttled, at: now) } == [true, true, false])
        #expect(budget.tokens == 0 && budget.isExhausted(at: now))
    }

    @Test(
        "a success brings back 1, or what the retry before it had cost",
        arguments: [(.none, 101), (.throttled, 105), (.usual, 114)] as [(Withdrawal, Int)])
    func tokensReturn(last: Withdrawal, tokens: Int) {
        var budget = TokenBudget(capacity: 500, cost: 14, throttledCost: 5)
        for _ in 0..<80 { _ = budget.withdraw(.throttled, at: now) }
        budget.succeeded(after: last, at: now)
        #expect(budget.tokens == tokens)
        budget.giveBack(last)
        #expect(budget.tokens == tokens + (last == .none ? 0 : tokens - 100))
    }

    @Test("what comes back never exceeds the capacity, and failures bring and take nothing")
    func tokensCapped() {
        var budget = TokenBudget(capacity: 20, cost: 14, throttledCost: .max)
        #expect(budget.isFull && !budget.withdraw(.throttled, at: now))
        #expect(budget.withdraw(.usual, at: now) && !budget.isFull)
        budget.failed(after: .usual, mayPass: true, at: now)
        #expect(budget.tokens == 6 && budget.isExhausted(at: now))
        budget.succeeded(after: .throttled, at: now)
        #expect(budget.tokens == 20 && budget.isFull && !budget.isExhausted(at: now))
        budget.succeeded(after: .none, at: now)
        #expect(budget.tokens == 20)
    }

    // MARK: A share of the calls

    private func allowed(_ budget: inout RatioBudget, at now: MonotonicInstant = now) -> Int {
        var count = 0
        while count < 10_000, budget.withdraw(.usual, at: now) { count += 1 }
        return count
    }

    @Test(
        "the share is exact, whatever it is: 0.6 of a hundred calls are 60 retries, not 100",
        arguments: [
            (0.6, 60), (0.2, 20), (0.29, 29), (0.57, 57), (0.1, 10), (0.015, 1), (0, 0), (1, 100), (3, 300),
            (0.009_999, 0), (0.999_999, 99),
        ])
    func share(share: Double, retries: Int) {
        var budget = RatioBudget(share: share, reserve: 0, window: 10_000_000_000)
        for _ in 0..<100 { budget.succeeded(after: .none, at: now) }
        #expect(allowed(&budget) == retries && budget.isExhausted(at: now))
    }

    @Test("a failed call counts as one that succeeds does, and retries of calls count as none")
    func whatCounts() {
        var budget = RatioBudget(share: 1, reserve: 0, window: 10_000_000_000)
        budget.failed(after: .none, mayPass: false, at: now)
        budget.failed(after: .usual, mayPass: true, at: now)
        budget.succeeded(after: .throttled, at: now)
        #expect(allowed(&budget) == 1)
    }

    @Test("the reserve is there without any call, and adds to the share")
    func reserve() {
        var budget = RatioBudget(share: 0.5, reserve: 3, window: 10_000_000_000)
        #expect(allowed(&budget) == 3)
        for _ in 0..<4 { budget.succeeded(after: .none, at: now) }
        #expect(allowed(&budget) == 2)
        budget.giveBack(.usual)
        #expect(allowed(&budget) == 0 && !budget.isFull)
    }

    @Test(
        "calls and retries count for a window, to a tenth of it, and not after it",
        arguments: [(0, 0), (9, 0), (10, 3), (11, 3), (1_000_000, 3)] as [(Int64, Int)])
    func window(later: Int64, retries: Int) {
        var budget = RatioBudget(share: 1, reserve: 3, window: 10_000_000_000)
        budget.succeeded(after: .none, at: now)
        #expect(allowed(&budget) == 4)
        #expect(allowed(&budget, at: now + .seconds(later)) == retries)
    }

    @Test("after a long silence the whole window is forgotten, not one slice of it")
    func silence() {
        var budget = RatioBudget(share: 1, reserve: 0, window: 10_000_000_000)
        for second in 0..<10 { budget.succeeded(after: .none, at: .second(100 + Int64(second))) }
        var soon = budget
        #expect(allowed(&soon, at: .second(114)) == 5)
        #expect(allowed(&budget, at: .second(3600)) == 0)
    }

    @Test("a reading earlier than the latest counts as the latest, and the ends of time are no overflow")
    func outOfOrder() {
        var budget = RatioBudget(share: 1, reserve: 0, window: 10)
        budget.succeeded(after: .none, at: .distantPast)
        #expect(!budget.isExhausted(at: .distantPast) && allowed(&budget, at: .distantFuture) == 0)
        budget.succeeded(after: .none, at: .distantPast)
        #expect(allowed(&budget, at: .distantFuture) == 1)
        var huge = RatioBudget(share: 1000, reserve: .max, window: 10)
        #expect(huge.withdraw(.usual, at: now) && !huge.isExhausted(at: now))
    }

    @Test("before the base's start slices are told apart as after it")
    func negativeInstants() {
        var budget = RatioBudget(share: 1, reserve: 0, window: 10)
        budget.succeeded(after: .none, at: MonotonicInstant(nanoseconds: -3))
        #expect(!budget.isExhausted(at: MonotonicInstant(nanoseconds: 6)))
        #expect(budget.isExhausted(at: MonotonicInstant(nanoseconds: 7)))
    }

    // MARK: Throttling

    @Test("retries stop when half of the tokens are gone, not before, and begin again above it")
    func half() {
        var budget = ThrottlingBudget(maxTokens: 10, ratio: 0.1)
        for _ in 0..<4 { budget.failed(after: .none, mayPass: true, at: now) }
        #expect(budget.withdraw(.usual, at: now) && budget.tokens == 6_000)
        budget.failed(after: .usual, mayPass: true, at: now)
        #expect(!budget.withdraw(.usual, at: now) && budget.isExhausted(at: now))
        budget.succeeded(after: .none, at: now)
        #expect(budget.withdraw(.throttled, at: now) && budget.tokens == 5_100)
        budget.giveBack(.throttled)
        #expect(budget.tokens == 5_100)
    }

    @Test("its tokens stay between none and all, and failures that no retry is for cost nothing")
    func ends() {
        var budget = ThrottlingBudget(maxTokens: 1, ratio: 0.4)
        budget.failed(after: .none, mayPass: false, at: now)
        #expect(budget.isFull)
        for _ in 0..<3 { budget.failed(after: .none, mayPass: true, at: now) }
        #expect(budget.tokens == 0 && !budget.isFull)
        for tokens in [400, 800, 1_000, 1_000] {
            budget.succeeded(after: .none, at: now)
            #expect(budget.tokens == tokens)
        }
    }

    @Test("an odd number of tokens has a half too")
    func odd() {
        var budget = ThrottlingBudget(maxTokens: 3, ratio: 0.001)
        budget.failed(after: .none, mayPass: true, at: now)
        #expect(!budget.isExhausted(at: now))
        budget.failed(after: .none, mayPass: true, at: now)
        #expect(budget.isExhausted(at: now) && budget.tokens == 1_000)
        budget.succeeded(after: .none, at: now)
        #expect(budget.tokens == 1_001)
    }

    @Test("each describes its numbers")
    func descriptions() {
        #expect("\(TokenBudget(capacity: 500, cost: 14, throttledCost: 5))" == "500 tokens, 14 a retry, 5 after a 429")
        #expect(
            "\(RatioBudget(share: 0.2, reserve: 100, window: 10_000_000_000))"
                == "0.2 of the calls and 100 besides, in 10 s")
        #expect(
            "\(ThrottlingBudget(maxTokens: 10, ratio: 0.1))" == "above half of 10 tokens, 0.1 back a success")
    }
}
