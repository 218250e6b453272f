import ResilienceTesting
import Testing

/// A turnstile that forgets to take the coin after `mistakeAt` pushes.
private struct Turnstile: ExplorableMachine {
    enum Input { case coin, push, wait }

    var mistakeAt = Int.max
    var merges = false
    private var coins = 0
    private var pushes = 0
    private var passed = 0
    private var paid = 0

    init(mistakeAt: Int = .max, merges: Bool = false) {
        self.mistakeAt = mistakeAt
        self.merges = merges
    }

    struct Place: Hashable { let coins, pushes, passed, paid: Int }

    var identity: Place? { merges ? Place(coins: coins, pushes: pushes, passed: passed, paid: paid) : nil }

    var inputs: [Input] { paid < 3 ? [.coin, .push, .wait] : [.push, .wait] }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .coin:
            coins += 1
            paid += 1
        case .push where coins > 0:
            if pushes != mistakeAt { coins -= 1 }
            pushes += 1
            passed += 1
        case .push, .wait:
            break
        }
        try require(passed <= paid, "\(passed) passed for \(paid) coins")
    }
}

// C8
@Suite struct ExplorerTests {
    @Test("every history up to the depth is walked once")
    func all() throws {
        // Three inputs at every step, except two once three coins are in.
        let exploration = try Explorer(Turnstile()).exploreAll(depth: 3)
        #expect(exploration.transitions == 3 + 9 + 27)
        #expect(exploration.states == nil && !exploration.isComplete)
        #expect("\(exploration)" == "39 transitions, depth 3")
    }

    @Test("equal states are expanded once, and without a new state the exploration is complete")
    func merged() throws {
        let exploration = try Explorer(Turnstile(merges: true)).exploreAll(depth: 100)
        // From 0 to 3 coins paid, and at most as many passages.
        #expect(exploration.states == 1 + 2 + 3 + 4)
        #expect(exploration.isComplete)
        #expect("\(exploration)" == "26 transitions, 10 states, complete")
    }

    @Test("an exploration that its depth cuts off is not reported as complete", arguments: [0, 1, 2])
    func cut(depth: Int) throws {
        #expect(try !Explorer(Turnstile(merges: true)).exploreAll(depth: depth).isComplete)
        #expect(try !Explorer(Turnstile()).exploreAll(depth: depth).isComplete)
    }

    @Test("without a depth it continues until there is no new state, and reports the longest history")
    func unlimited() throws {
        let exploration = try Explorer(Turnstile(merges: true)).exploreAll()
        // Three coins and three pushes reach the last state; one more input shows that it was the last.
        #expect(exploration.isComplete && exploration.depth == 7 && exploration.transitions == 26)
    }

    @Test("an exploration stops after its limit of transitions", arguments: [0, 1, 25, 26])
    func budget(transitions: Int) throws {
        let exploration = try Explorer(Turnstile(merges: true)).exploreAll(transitions: transitions)
        #expect(exploration.transitions == transitions && exploration.isComplete == (transitions == 26))
        #expect(try Explorer(Turnstile()).exploreAll(depth: 9, transitions: transitions).transitions == transitions)
    }

    @Test("a machine without inputs is complete at once")
    func ended() throws {
        struct Ended: ExplorableMachine {
            var inputs: [Int] { [] }
            mutating func apply(_ input: Int) throws {}
        }
        let exploration = try Explorer(Ended()).exploreAll(depth: 5)
        #expect(exploration.isComplete && exploration.transitions == 0)
        #expect(try Explorer(Ended()).exploreRandomly(walks: 3, length: 5, seed: 1).transitions == 0)
    }

    @Test("a fault is found with the shortest history, in either kind of search", arguments: [true, false])
    func shortest(merges: Bool) throws {
        let explorer = Explorer(Turnstile(mistakeAt: 1, merges: merges))
        let found = try #require(throws: CounterExample<Turnstile.Input>.self) { try explorer.exploreAll(depth: 9) }
        #expect(found.trace.count == 5)
        #expect("\(found.violation)" == "3 passed for 2 coins")
    }

    @Test("a long random history is shrunk to the shortest one", arguments: 1...20)
    func shrunk(seed: UInt64) throws {
        let explorer = Explorer(Turnstile(mistakeAt: 2))
        let found = try #require(throws: CounterExample<Turnstile.Input>.self) {
            try explorer.exploreRandomly(walks: 200, length: 500, seed: seed)
        }
        #expect(found.trace.count == 7)
        #expect(!found.trace.contains(.wait))
    }

    @Test("the same seed walks the same histories")
    func seeded() throws {
        func walk(_ seed: UInt64) throws -> [Turnstile.Input] {
            var trace: [Turnstile.Input] = []
            let explorer = Explorer(Turnstile(mistakeAt: 0))
            do { try explorer.exploreRandomly(walks: 9, length: 50, seed: seed) } catch let error
                as CounterExample<Turnstile.Input>
            {
                trace = error.trace
            }
            return trace
        }
        #expect(try walk(3) == walk(3))
    }

    @Test("a finding is printed as a test to paste")
    func printed() throws {
        let explorer = Explorer(Turnstile(mistakeAt: 0), code: "Turnstile(mistakeAt: 0)")
        let found = try #require(throws: CounterExample<Turnstile.Input>.self) { try explorer.exploreAll(depth: 4) }
        #expect(
            found.test == """
                @Test("2 passed for 1 coins")
                func counterExample() throws {
                    var machine = Turnstile(mistakeAt: 0)
                    try machine.apply(.coin)
                    try machine.apply(.push)
                    try machine.apply(.push)
                }
                """)
        #expect("\(found)".hasPrefix("2 passed for 1 coins, after 3 inputs:\n\n@Test("))
        // The same test, pasted:
        var machine = Turnstile(mistakeAt: 0)
        try machine.apply(.coin)
        try machine.apply(.push)
        #expect(throws: BrokenInvariant("2 passed for 1 coins")) { try machine.apply(.push) }
    }

    private enum Order: Hashable {
        case add(Side, times: Int)
        enum Side { case left, right }
    }

    @Test("inputs with any values print as code")
    func values() {
        let orders = CounterExample<Order>(
            code: "M()", trace: [.add(.left, times: 2)], violation: BrokenInvariant("\"no\""))
        #expect(orders.test.contains("try machine.apply(.add("))
        #expect(orders.test.contains("Order.Side.left, times: 2))"))
        #expect(!orders.test.contains("unknown context"))
        #expect(orders.test.hasPrefix(#"@Test("\"no\"")"#))
        let words = CounterExample<String>(code: "M()", trace: ["a"], violation: BrokenInvariant("no"))
        #expect(words.test.contains(#"try machine.apply("a")"#))
    }
}
