import Resilience

/// Walks a state machine through every history up to a length, and through longer random ones.
///
/// ```swift
/// @Test("nobody passes without a coin")
/// func turnstile() throws {
///     let explorer = Explorer(Turnstile())
///     let exploration = try explorer.exploreAll(depth: 12)
///     #expect(exploration.transitions > 8_000)
///     try explorer.exploreRandomly(walks: 100, length: 1_000, seed: 1)
/// }
/// ```
///
/// A failure is thrown as a ``CounterExample``: the shortest history found that shows it, printed as a test to paste.
public struct Explorer<Machine: ExplorableMachine> {
    private typealias Input = Machine.Input

    private let initial: Machine
    package let code: String

    /// Creates an explorer.
    ///
    /// - Parameters:
    ///   - initial: A machine in its first state.
    ///   - code: The code that makes it, for the test that a ``CounterExample`` prints. `Machine()` by default.
    public init(_ initial: Machine, code: String = "\(Machine.self)()") {
        self.initial = initial
        self.code = code
    }

    /// Walks every history of up to `depth` inputs.
    ///
    /// Without an ``ExplorableMachine/identity``, it uses little memory, and time grows as the number of inputs to the
    /// power of `depth`. With one, each state is kept, and explored once.
    ///
    /// - Parameters:
    ///   - depth: How many inputs one history may have. Optional if the machine has an identity.
    ///   - transitions: The largest number of inputs to apply in all; no limit by default. If the limit is reached, the
    ///     shortest histories of a machine with an identity were explored; a machine without an identity was explored
    ///     depth first.
    /// - Returns: The extent of the exploration.
    /// - Throws: ``CounterExample`` if an input breaks an invariant.
    @discardableResult
    public func exploreAll(depth: Int = .max, transitions: Int = .max) throws -> Exploration {
        precondition(depth < .max || initial.identity != nil, "Explorer: a machine without an identity needs a depth")
        var search = Search(depth: depth, budget: transitions)
        if initial.identity == nil {
            search.deep(initial, limit: depth)
        } else {
            search.broad(initial)
        }
        if let found = search.found { throw counterExample(found.trace, found.violation) }
        return search.exploration
    }

    /// Walks histories of random inputs.
    ///
    /// - Parameters:
    ///   - walks: The number of histories.
    ///   - length: How many inputs each history may have.
    ///   - seed: Chooses the inputs; the same seed walks the same histories.
    /// - Returns: The extent of the exploration.
    /// - Throws: ``CounterExample`` if an input breaks an invariant.
    @discardableResult
    public func exploreRandomly(walks: Int, length: Int, seed: UInt64) throws -> Exploration {
        var random = SeededGenerator(seed: seed)
        var transitions = 0
        for _ in 0..<walks {
            var machine = initial
            var trace: [Input] = []
            while trace.count < length, let input = machine.inputs.randomElement(using: &random) {
                trace.append(input)
                transitions += 1
                do {
                    try machine.apply(input)
                } catch {
                    throw counterExample(trace, error)
                }
            }
        }
        return Exploration(transitions: transitions, states: nil, depth: length, isComplete: false)
    }

    // MARK: Shrinking

    private func counterExample(_ trace: [Input], _ violation: any Error) -> CounterExample<Input> {
        var (trace, violation) = thinned(trace, violation)
        // No further input can be left out, but another history of the same inputs may be shorter.
        if trace.count > 1 {
            var search = Search(depth: trace.count - 1, allowed: Set(trace), budget: 100_000)
            search.shallowFirst(initial)
            if let found = search.found { (trace, violation) = found }
        }
        return CounterExample(code: code, trace: trace, violation: violation)
    }

    /// Leaves out inputs, first by halves and finally one by one, while an invariant still breaks: the "ddmin" of
    /// Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (2002).
    private func thinned(_ trace: [Input], _ violation: any Error) -> (trace: [Input], violation: any Error) {
        var best = (trace: trace, violation: violation)
        var length = max(1, trace.count / 2)
        while true {
            var start = 0
            var improved = false
            while start < best.trace.count {
                let end = min(start + length, best.trace.count)
                if let shorter = replay(best.trace[..<start] + best.trace[end...]),
                    shorter.trace.count < best.trace.count
                {
                    best = shorter
                    improved = true
                } else {
                    start = end
                }
            }
            if length == 1, !improved { return best }
            length = max(1, length / 2)
        }
    }

    /// Applies the possible inputs until one breaks an invariant; nil if none does.
    private func replay(_ inputs: ArraySlice<Input>) -> (trace: [Input], violation: any Error)? {
        var machine = initial
        var trace: [Input] = []
        for input in inputs where machine.inputs.contains(input) {
            trace.append(input)
            do {
                try machine.apply(input)
            } catch {
                return (trace, error)
            }
        }
        return nil
    }

    // MARK: Searching

    private struct Search {
        /// How many inputs one history may have; after the search, the length of the longest history.
        var depth: Int
        /// Only these inputs are tried; nil tries all.
        var allowed: Set<Input>?
        /// The largest number of transitions.
        var budget = Int.max
        var transitions = 0
        var states: Int?
        /// Whether every input was tried: neither the depth nor the budget left one out.
        var isComplete = true
        var trace: [Input] = []
        var found: (trace: [Input], violation: any Error)?

        var exploration: Exploration {
            Exploration(transitions: transitions, states: states, depth: depth, isComplete: isComplete)
        }

        /// Walks paths in turn, each to its end.
        mutating func deep(_ machine: Machine, limit: Int) {
            for input in machine.inputs where allowed?.contains(input) ?? true {
                guard trace.count < limit, transitions < budget else {
                    isComplete = false
                    return
                }
                var next = machine
                trace.append(input)
                transitions += 1
                do {
                    try next.apply(input)
                } catch {
                    found = (trace, error)
                }
                if found == nil { deep(next, limit: limit) }
                trace.removeLast()
                if found != nil { return }
            }
        }

        /// Walks short paths before longer ones, so that the first path found is among the shortest.
        mutating func shallowFirst(_ machine: Machine) {
            for limit in 1...depth where found == nil && transitions < budget { deep(machine, limit: limit) }
        }

        /// Walks all states of one depth before the next depth, each state once.
        mutating func broad(_ machine: Machine) {
            /// How each state was first reached: from which state, by which input.
            var origins: [(parent: Int, input: Input?)] = [(-1, nil)]
            var seen: Set<Machine.Identity> = []
            defer { states = seen.count }
            if let identity = machine.identity { seen.insert(identity) }
            var layer = [(machine, 0)]
            var reached = 0
            while reached < depth, !layer.isEmpty {
                reached += 1
                var next: [(Machine, Int)] = []
                for (machine, index) in layer {
                    for input in machine.inputs {
                        guard transitions < budget else {
                            (depth, isComplete) = (reached, false)
                            return
                        }
                        var successor = machine
                        transitions += 1
                        do {
                            try successor.apply(input)
                        } catch {
                            found = (Self.path(to: index, origins) + [input], error)
                            return
                        }
                        guard let identity = successor.identity, seen.insert(identity).inserted else { continue }
                        origins.append((index, input))
                        next.append((successor, origins.count - 1))
                    }
                }
                layer = next
            }
            (depth, isComplete) = (reached, layer.isEmpty)
        }

        private static func path(to index: Int, _ origins: [(parent: Int, input: Input?)]) -> [Input] {
            var path: [Input] = []
            var index = index
            while let input = origins[index].input {
                path.append(input)
                index = origins[index].parent
            }
            return path.reversed()
        }
    }
}

/// The extent of an exploration.
public struct Exploration: Sendable, Hashable, CustomStringConvertible {
    /// The number of inputs applied.
    public let transitions: Int
    /// The number of different states met; nil if the machine has no identity, or the walks were random.
    public let states: Int?
    /// The length of the longest history, or its limit.
    public let depth: Int
    /// Whether every reachable state was met.
    ///
    /// Then the result holds for histories of any length.
    public let isComplete: Bool

    public var description: String {
        let states = states.map { ", \($0) states" } ?? ""
        return "\(transitions) transitions\(states), \(isComplete ? "complete" : "depth \(depth)")"
    }
}

/// The shortest history found that breaks an invariant.
public struct CounterExample<Input: Hashable & Sendable>: Error, CustomStringConvertible {
    package let code: String
    /// The inputs, in order; the last one breaks the invariant.
    public let trace: [Input]
    /// The error of the last input.
    public let violation: any Error

    package init(code: String, trace: [Input], violation: any Error) {
        self.code = code
        self.trace = trace
        self.violation = violation
    }

    /// The code of a test that fails in the same way.
    ///
    /// It assumes that an input other than an enum describes itself as code.
    public var test: String {
        let lines = trace.map { "    try machine.apply(\(Self.text(of: $0)))" }
        return """
            @Test("\(Self.quoted("\(violation)"))")
            func counterExample() throws {
                var machine = \(code)
            \(lines.joined(separator: "\n"))
            }
            """
    }

    public var description: String { "\(violation), after \(trace.count) inputs:\n\n\(test)" }

    private static func text(of input: Input) -> String {
        let isEnum = Mirror(reflecting: input).displayStyle == .enum
        let text = isEnum ? ".\(input)" : String(reflecting: input)
        // A private type's name is printed after "(unknown context at $1234).", which is cut off here.
        return text.split(separator: "(unknown context at ").enumerated().map { index, part in
            index == 0 ? String(part) : part.split(separator: ").", maxSplits: 1).dropFirst().joined()
        }.joined()
    }

    private static func quoted(_ text: String) -> String {
        text.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\\\"")
    }
}
