import TestSupport
import Testing

@testable import Resilience

private let now = MonotonicInstant.second(100)

@Suite struct RetryBudgetStateMachineTests {
    // MARK: Tokens

    @Test("a budget is full at the start, and pays for exactly the retries that its tokens allow")
    func tokensRunOut() {
        var budget = TokenBudget(capacity: 500, cost: 14, throttledCost: 5)
        #expect((0..<36).map { _ in budget.withdraw(.usual, at: now) } == [Bool](repeating: true, count: 35) + [false])
        #expect(budget.tokens == 10)
        #expect((0..<3).map { _ in budget.withdraw(.throttled, at: now) } == [true, true, false])
        #expect(budget.tokens == 0 && budget.isExhausted(at: now))
    }

    // MARK: A share of the calls

    private func allowed(_ budget: inout RatioBudget) -> Int {
        var count = 0
        while count < 10_000, budget.withdraw(.usual, at: now) { count += 1 }
        return count
    }

    @Test(
        "any share is exact: 0.6 of a hundred calls are 60 retries, not 100",
        arguments: [
            (0.6, 60), (0.2, 20), (0.29, 29), (0.57, 57), (0.1, 10), (0.015, 1), (0, 0), (1, 100), (3, 300),
            (0.009_999, 0), (0.999_999, 99),
        ])
    func share(share: Double, retries: Int) {
        var budget = RatioBudget(share: share, reserve: 0, window: 10_000_000_000)
        for _ in 0..<100 { budget.succeeded(after: .none, at: now) }
        #expect(allowed(&budget) == retries && budget.isExhausted(at: now))
    }

    // MARK: Throttling

    @Test("retries stop at half of the tokens, not before, and begin again above half")
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

    @Test("each budget describes its numbers")
    func descriptions() {
        #expect(
            "\(TokenBudget(capacity: 500, cost: 14, throttledCost: 5))" == "500 tokens, 14 per retry, 5 after a 429")
        #expect(
            "\(RatioBudget(share: 0.2, reserve: 100, window: 10_000_000_000))"
                == "0.2 of the calls plus 100, in 10 s")
        #expect(
            "\(ThrottlingBudget(maxTokens: 10, ratio: 0.1))" == "above half of 10 tokens, 0.1 back per success")
    }
}
