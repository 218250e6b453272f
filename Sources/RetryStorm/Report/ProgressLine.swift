#if Demo
    /// The progress of a run, in one line.
    struct ProgressLine: Sendable, Equatable, CustomStringConvertible {
        var name: String
        var total: Int
        var delivered: Int
        var requests: Int
        var throttled: Int
        var elapsed: Duration
        /// The rest of a pause; nil or zero if there is none.
        var pausedFor: Duration?
        /// The rate that the server is believed to allow, in requests per second; nil if it is unknown.
        var rate: Double?
        /// Whether the run has ended, successfully or not.
        var isOver = false

        /// Fits a terminal of 80 columns.
        var description: String {
            var parts = [
                "\(name)\(String(repeating: " ", count: max(0, 8 - name.count)))\(bar) \(delivered)/\(total)",
                "\(requests) requests", "\(throttled) × 429",
            ]
            if isOver {
                parts.append("in \(Table.seconds(elapsed / .seconds(1)))")
            } else if let pausedFor, pausedFor > .zero {
                parts.append("paused \(Table.seconds(pausedFor / .seconds(1)))")
            } else {
                if let rate { parts.append("\(Table.fixed(rate, 1))/s") }
                if let left { parts.append("\(Table.fixed(left, 0)) s left") }
            }
            return String(parts.joined(separator: "  ").prefix(79))
        }

        private static let width = 16

        private var bar: String {
            let done = total == 0 ? Self.width : min(Self.width, delivered * Self.width / total)
            return String(repeating: "━", count: done) + String(repeating: "╌", count: Self.width - done)
        }

        /// The estimated seconds left, at the average speed so far.
        private var left: Double? {
            guard delivered > 0, delivered < total else { return nil }
            return elapsed / .seconds(1) * Double(total - delivered) / Double(delivered)
        }
    }

    /// Decides when to print a line if lines can't be rewritten: at every tenth, and after a long silence.
    struct PlainCadence: Sendable {
        static let silence = Duration.seconds(5)

        private var tenth = 0
        private var spokeAt = Duration.zero

        mutating func speaks(_ line: ProgressLine) -> Bool {
            // The last line is always printed, at the end.
            guard line.delivered < line.total else { return false }
            let tenth = line.delivered * 10 / line.total
            guard tenth > self.tenth || line.elapsed - spokeAt >= Self.silence else { return false }
            self.tenth = tenth
            spokeAt = line.elapsed
            return true
        }
    }
#endif
