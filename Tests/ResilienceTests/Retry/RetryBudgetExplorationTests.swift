import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// The inputs of a budget.
private enum BudgetInput: Hashable {
    case succeeded(after: Withdrawal)
    case failed(after: Withdrawal, mayPass: Bool)
    case withdraw(Withdrawal)
    case giveBack(Withdrawal)
    case wait(Int64)
}

private let everyInput: [BudgetInput] = [
    .succeeded(after: .none), .succeeded(after: .throttled), .succeeded(after: .usual),
    .failed(after: .none, mayPass: true), .failed(after: .none, mayPass: false), .failed(after: .usual, mayPass: true),
    .withdraw(.usual), .withdraw(.throttled), .giveBack(.usual), .giveBack(.throttled), .giveBack(.none),
]

/// A token budget compared with a set that has one element per token.
private struct CountedTokens: ExplorableMachine {
    private var machine: TokenBudget
    private var model: Set<Int>
    private let missing: (Withdrawal) -> Int

    init(capacity: Int, cost: Int, throttledCost: Int) {
        machine = TokenBudget(capacity: capacity, cost: cost, throttledCost: throttledCost)
        model = Set(0..<capacity)
        missing = { $0 == .usual ? cost : $0 == .throttled ? throttledCost : 0 }
    }

    let inputs = everyInput
    var identity: [Int]? { [machine.tokens] }

    mutating func apply(_ input: BudgetInput) throws {
        let instant = MonotonicInstant.second(1)
        switch input {
        case .succeeded(let last):
            machine.succeeded(after: last, at: instant)
            for _ in 0..<(last == .none ? 1 : missing(last)) { add() }
        case .failed(let last, let mayPass):
            machine.failed(after: last, mayPass: mayPass, at: instant)
        case .withdraw(let withdrawal):
            let isPaid = machine.withdraw(withdrawal, at: instant)
            try require(isPaid, is: model.count >= missing(withdrawal))
            if isPaid { for _ in 0..<missing(withdrawal) { model.removeFirst() } }
        case .giveBack(let withdrawal):
            machine.giveBack(withdrawal)
            for _ in 0..<missing(withdrawal) { add() }
        case .wait:
            break
        }
        try require(machine.tokens, is: model.count, "what is left")
        try require(machine.isFull, is: model.count == machine.capacity, "whether it is full")
        try require(machine.isExhausted(at: instant), is: model.count < missing(.usual), "whether it is exhausted")
        try require(machine.retriesLeft(at: instant), is: model.count / missing(.usual), "the retries left")
    }

    private mutating func add() {
        if let free = (0..<machine.capacity).first(where: { !model.contains($0) }) { model.insert(free) }
    }
}

/// A ratio budget compared with a list of all calls and retries.
private struct RecordedRatio: ExplorableMachine {
    private let share: Int128
    private let reserve: Int128
    private let window: Int64
    private var machine: RatioBudget
    private var now: MonotonicInstant
    private var calls: [Int128] = []
    private var retries: [Int128] = []
    private var latest = Int128(Int64.min)

    /// - Parameter share: In millionths.
    init(share: Int128, reserve: Int64, window: Int64 = 20, start: Int64 = 0) {
        machine = RatioBudget(share: Double(share) / 1_000_000, reserve: reserve, window: window)
        self.share = share
        self.reserve = Int128(reserve)
        self.window = window
        now = MonotonicInstant(nanoseconds: start)
    }

    let inputs = everyInput + [.wait(1), .wait(2), .wait(7), .wait(25), .wait(-2)]

    mutating func apply(_ input: BudgetInput) throws {
        switch input {
        case .succeeded(let last):
            machine.succeeded(after: last, at: now)
            if last == .none { count() }
        case .failed(let last, let mayPass):
            machine.failed(after: last, mayPass: mayPass, at: now)
            if last == .none { count() }
        case .withdraw(let withdrawal):
            let isPaid = machine.withdraw(withdrawal, at: now)
            latest = slice
            try require(isPaid, is: retriesLeft > 0)
            if isPaid { retries.append(slice) }
        case .giveBack(let withdrawal):
            machine.giveBack(withdrawal)
        case .wait(let length):
            now = MonotonicInstant(nanoseconds: now.nanoseconds.saturatingAdding(length))
        }
        try require(machine.isExhausted(at: now), is: retriesLeft == 0, "whether it is exhausted")
        try require(machine.retriesLeft(at: now), is: Int(clamping: retriesLeft), "the retries left")
        try require(machine.isAtRest(at: now), is: !retries.contains(where: inWindow.contains), "whether it is at rest")
    }

    private mutating func count() {
        latest = slice
        calls.append(slice)
    }

    /// The present tenth of a window, or the latest tenth with an input.
    private var slice: Int128 {
        max(latest, (Int128(now.nanoseconds) - Int128(Int64.min)) / Int128(window / 10))
    }

    private var inWindow: PartialRangeFrom<Int128> { (slice - 9)... }

    private var retriesLeft: Int128 {
        let paidFor = Int128(calls.count(where: inWindow.contains)) * share / 1_000_000 + reserve
        return max(0, min(paidFor, Int128(Int64.max)) - Int128(retries.count(where: inWindow.contains)))
    }
}

/// A throttling budget compared with its rule in integers.
private struct HalvedTokens: ExplorableMachine {
    private var machine: ThrottlingBudget
    private let greatest: Int
    private let ratio: Int
    private var tokens: Int

    /// - Parameter ratio: In thousandths.
    init(maxTokens: Int, ratio: Int) {
        machine = ThrottlingBudget(maxTokens: maxTokens, ratio: Double(ratio) / 1_000)
        self.ratio = ratio
        greatest = maxTokens * 1_000
        tokens = greatest
    }

    let inputs = everyInput
    var identity: [Int]? { [machine.tokens] }

    mutating func apply(_ input: BudgetInput) throws {
        let instant = MonotonicInstant.second(1)
        switch input {
        case .succeeded(let last):
            machine.succeeded(after: last, at: instant)
            tokens = tokens + ratio > greatest ? greatest : tokens + ratio
        case .failed(let last, let mayPass):
            machine.failed(after: last, mayPass: mayPass, at: instant)
            if mayPass { tokens = tokens < 1_000 ? 0 : tokens - 1_000 }
        case .withdraw(let withdrawal):
            try require(machine.withdraw(withdrawal, at: instant), is: 2 * tokens > greatest)
        case .giveBack(let withdrawal):
            machine.giveBack(withdrawal)
        case .wait:
            break
        }
        try require(machine.tokens, is: tokens, "what is left")
        try require(machine.isExhausted(at: instant), is: 2 * tokens <= greatest, "whether it is exhausted")
        try require(machine.isFull, is: tokens == greatest, "whether it is full")
        let left = stride(from: tokens, to: 0, by: -1_000).prefix { 2 * $0 > greatest }.count
        try require(machine.retriesLeft(at: instant), is: left, "the retries left")
    }
}

@Suite(.heavy) struct RetryBudgetExplorationTests {
    @Test(
        "a TokenBudget pays for retries that its tokens cover, and never exceeds its capacity",
        arguments: [(0, 1, 1), (3, 2, 5), (20, 14, 5), (120, 14, 5)])
    func tokens(capacity: Int, cost: Int, throttledCost: Int) throws {
        let explorer = Explorer(
            CountedTokens(capacity: capacity, cost: cost, throttledCost: throttledCost),
            code: "CountedTokens(capacity: \(capacity), cost: \(cost), throttledCost: \(throttledCost))")
        let exploration = try explorer.explore()
        #expect(exploration.isComplete && exploration.transitions >= 10, "\(exploration)")
    }

    @Test(
        "a RatioBudget pays for its share of the window's calls plus the reserve, for any order of inputs",
        arguments: [(200_000, 0), (600_000, 1), (1_000_000, 0), (2_500_000, 3), (0, 2), (1_000_000_000, .max)]
            as [(Int128, Int64)])
    func ratio(share: Int128, reserve: Int64) throws {
        for start in [0, -5, .min, .max - 100] as [Int64] {
            let explorer = Explorer(
                RecordedRatio(share: share, reserve: reserve, start: start),
                code: "RecordedRatio(share: \(share), reserve: \(reserve), start: \(start))")
            try explorer.exploreRandomly(length: 1_000, seed: 5)
            #expect(try explorer.exploreAll(depth: 3).transitions >= 3_000)
        }
    }

    @Test(
        "a ThrottlingBudget rejects at half its tokens or fewer, and keeps them between zero and the maximum",
        arguments: [(1, 400), (10, 100), (3, 1), (2, 1_500)])
    func throttling(maxTokens: Int, ratio: Int) throws {
        let explorer = Explorer(
            HalvedTokens(maxTokens: maxTokens, ratio: ratio),
            code: "HalvedTokens(maxTokens: \(maxTokens), ratio: \(ratio))")
        let exploration = try explorer.explore()
        #expect(exploration.isComplete && exploration.transitions >= 30, "\(exploration)")
    }
}
