/// A search for an order that explains a history: Wing and Gong's search ("Testing and Verifying Concurrent Objects",
/// 1993), which tries each possible next step and undoes steps that do not fit, and which remembers earlier failures,
/// as Lowe's does ("Testing for Linearizability", 2017; Horn and Kroening, "Faster Linearizability Checking via
/// P-Compositionality", 2015).
struct LinearizabilitySearch<Model: SequentialModel> {
    typealias Operation = History<Model.Input, Model.Answer>.Operation

    private struct Configuration: Hashable {
        /// How many of each thread's operations have happened. It identifies their set, since a thread's operations are
        /// in order.
        let happened: [Int]
        let model: Model
    }

    /// One step of the present attempt.
    private struct Step {
        /// The thread whose operation led here; nil at the start.
        let thread: Int?
        let model: Model
        /// Threads whose next operation may come next, the best guess last.
        var untried: [Int]
    }

    let lanes: [[Operation]]
    let start: Model
    /// The longest order found that fits: the thread of each operation, in that order.
    private(set) var longest: [Int] = []
    private var happened: [Int]
    private var failed: Set<Configuration> = []

    init(_ lanes: [[Operation]], from start: Model) {
        self.lanes = lanes
        self.start = start
        happened = lanes.map { _ in 0 }
    }

    mutating func findsOrder() -> Bool {
        if isExplained { return true }
        var steps = [Step(thread: nil, model: start, untried: candidates(after: happened))]
        while let step = steps.last {
            guard let thread = steps[steps.count - 1].untried.popLast() else {
                if steps.count > longest.count + 1 { longest = steps.compactMap(\.thread) }
                // Hashed only now: most of a history is explained without a step back, and needs no hash.
                failed.insert(Configuration(happened: happened, model: step.model))
                if let thread = step.thread { happened[thread] -= 1 }
                steps.removeLast()
                continue
            }
            var model = step.model
            let operation = lanes[thread][happened[thread]]
            let answer = model.apply(operation.input)
            if let expected = operation.answer, expected != answer { continue }
            happened[thread] += 1
            if !failed.isEmpty, failed.contains(Configuration(happened: happened, model: model)) {
                happened[thread] -= 1
                continue
            }
            steps.append(Step(thread: thread, model: model, untried: candidates(after: happened)))
            if isExplained { return true }
        }
        return false
    }

    /// The threads whose next operation was called before any pending operation returned. The thread whose operation
    /// returned first is the best guess, and comes last.
    func candidates(after happened: [Int]) -> [Int] {
        let next = lanes.indices.filter { happened[$0] < lanes[$0].count }
        let firstReturn = next.map { lanes[$0][happened[$0]].returned }.min() ?? .max
        return next.filter { lanes[$0][happened[$0]].invoked < firstReturn }
            .sorted { lanes[$0][happened[$0]].returned > lanes[$1][happened[$1]].returned }
    }

    /// Whether every operation that returned has happened.
    private var isExplained: Bool {
        lanes.indices.allSatisfy { lanes[$0].dropFirst(happened[$0]).allSatisfy { $0.answer == nil } }
    }
}
