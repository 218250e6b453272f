/// No order of a history's operations explains its answers.
///
/// The description shows the operations as they ran, one column per thread, the longest order that fits, and where it
/// ends.
public struct NotLinearizable: Error, CustomStringConvertible {
    public let description: String

    init<Model>(_ search: LinearizabilitySearch<Model>) {
        let order = Self.replay(search)
        description =
            (["Not linearizable: no order of these operations gives their answers.", ""]
            + Self.timeline(search.lanes)
            + ["", "The longest order that fits:"] + Self.end(of: order.fitting)
            + ["After it the model answers otherwise:"] + order.contradicted)
            .joined(separator: "\n")
    }

    private static func replay<Model>(
        _ search: LinearizabilitySearch<Model>
    ) -> (fitting: [String], contradicted: [String]) {
        var model = search.start
        var happened = search.lanes.map { _ in 0 }
        let fitting = search.longest.map { thread in
            let operation = search.lanes[thread][happened[thread]]
            let answer = model.apply(operation.input)
            happened[thread] += 1
            return "  thread \(thread): \(operation.input) → \(answer)"
        }
        let contradicted = search.candidates(after: happened).compactMap { thread -> String? in
            let operation = search.lanes[thread][happened[thread]]
            var model = model
            let answer = model.apply(operation.input)
            guard let given = operation.answer, given != answer else { return nil }
            return "  thread \(thread): \(operation.input) → \(given), and not \(answer)"
        }
        return (fitting, contradicted)
    }

    private static func timeline<Input, Answer>(_ lanes: [[History<Input, Answer>.Operation]]) -> [String] {
        var events: [(time: Int, thread: Int, text: String)] = []
        for (thread, operations) in lanes.enumerated() {
            for operation in operations {
                events.append((operation.invoked, thread, "┌ \(operation.input)"))
                guard let answer = operation.answer else { continue }
                events.append((operation.returned, thread, "└ \(answer)"))
            }
        }
        events.sort { $0.time < $1.time }
        let widest = 48
        for index in events.indices where events[index].text.count > widest {
            events[index].text = events[index].text.prefix(widest - 1) + "…"
        }
        let titles = lanes.indices.map { "thread \($0)" }
        let widths = lanes.indices.map { thread in
            (events.filter { $0.thread == thread }.map(\.text.count) + [titles[thread].count]).max()! + 3
        }
        func row(_ cells: [String]) -> String {
            let padded = zip(cells, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined()
            return String(padded.reversed().drop { $0 == " " }.reversed())
        }
        var isUnderWay = lanes.map { _ in false }
        let rows = events.map { event in
            var cells = isUnderWay.map { $0 ? "│" : "" }
            cells[event.thread] = event.text
            isUnderWay[event.thread] = event.text.hasPrefix("┌")
            return row(cells)
        }
        return [row(titles)] + end(of: rows)
    }

    /// The last lines show the error.
    private static func end(of lines: [String]) -> [String] {
        let shown = 30
        return lines.count > shown ? ["(\(lines.count - shown) before)"] + lines.suffix(shown) : lines
    }
}
