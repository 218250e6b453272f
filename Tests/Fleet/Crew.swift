#if Redis
    import Foundation
    import Resilience

    /// The members of one trial: copies of this program.
    struct Crew {
        private(set) var plan: Plan
        private let programs: [(process: Process, output: Pipe)]

        /// Starts the members. They begin to call together, after enough time for all to start.
        /// - Parameter link: Another way to the server, and how many members use it; nil if all members use the plan's
        ///   way.
        init(_ plan: Plan, for length: Duration, through link: (link: Link, members: Int)? = nil) throws {
            self.plan = plan
            self.plan.begin = SystemTimeBase.shared.now + .seconds(1) + .milliseconds(100) * plan.members
            self.plan.end = self.plan.begin + length
            var own = self.plan
            programs = try (0..<plan.members).map { index in
                own.address = link.flatMap { index < $0.members ? .port($0.link.port) : nil } ?? plan.address
                let text = String(decoding: try JSONEncoder().encode(own), as: UTF8.self)
                let (process, output) = (Process(), Pipe())
                process.executableURL = URL(filePath: CommandLine.arguments[0])
                process.arguments = ["member", text]
                process.standardOutput = output
                try process.run()
                return (process, output)
            }
        }

        struct Failed: Error, CustomStringConvertible {
            let description: String
        }

        /// Waits until all members have exited.
        func records() throws -> [Record] {
            try programs.map { program in
                let data = program.output.fileHandleForReading.readDataToEndOfFile()
                program.process.waitUntilExit()
                guard program.process.terminationStatus == 0 else {
                    throw Failed(description: "a member has failed: status \(program.process.terminationStatus)")
                }
                return try JSONDecoder().decode(Record.self, from: data)
            }
        }
    }

    /// The sum of what all members have seen.
    struct Sum {
        let plan: Plan
        let records: [Record]

        /// The slots from one instant to another.
        func slots(_ from: MonotonicInstant, _ to: MonotonicInstant) -> Range<Int> {
            let count = records.first?.slots.count ?? 0
            func index(_ time: MonotonicInstant) -> Int {
                min(max(Int(plan.begin.duration(to: time) / Record.slot), 0), count)
            }
            return index(from)..<max(index(from), index(to))
        }

        /// The admitted calls, by member.
        func admitted(in slots: Range<Int>) -> [Int] {
            records.map { $0.slots[slots].reduce(0) { $0 + $1.admitted } }
        }

        /// How many calls each slot allows: the limit, plus a part for each member that counts alone during the slot.
        /// Such a member also gets its part of the burst each time it begins to count alone.
        func allowed(in slots: Range<Int>) -> (calls: [Double], away: Double) {
            let part = Double(Plan.rate) * (Record.slot / .seconds(1)) / Double(plan.members)
            var (calls, away) = ([Double](repeating: part * Double(plan.members), count: slots.count), 0)
            for record in records {
                let ends = record.turns.dropFirst().map(\.time) + [plan.end]
                for (turn, end) in zip(record.turns, ends) where turn.isAway {
                    let time = self.slots(turn.time, end + Record.slot).clamped(to: slots)
                    guard let first = time.first else { continue }
                    for slot in time { calls[slot - slots.lowerBound] += part }
                    calls[first - slots.lowerBound] += Double(max(1, Plan.burst / plan.members))
                    away += time.count
                }
            }
            return (calls, Double(away) / Double(max(1, slots.count)))
        }

        func total(in slots: Range<Int>) -> Int { admitted(in: slots).reduce(0, +) }

        /// The largest number of calls by which any stretch of time exceeded its limit and the burst; below 0 if none
        /// did.
        /// - Parameter allowed: How many calls each slot allows; nil for the limit alone.
        func overshoot(in slots: Range<Int>, allowed: [Double]? = nil) -> Int {
            let perSlot = Double(Plan.rate) * (Record.slot / .seconds(1))
            var (excess, worst) = (0.0, -Double.infinity)
            for slot in slots {
                let went = Double(records.reduce(0) { $0 + $1.slots[slot].admitted })
                // The excess of the worst stretch that ends with this slot.
                excess = max(excess, 0) + went - (allowed?[slot - slots.lowerBound] ?? perSlot)
                worst = max(worst, excess)
            }
            return Int(worst.rounded(.up)) - Plan.burst
        }

        /// The duration of the longest call; and the most by which a call took longer than its budget plus the lateness
        /// of its member's timers at that time.
        func longest(in slots: Range<Int>) -> (time: Duration, over: Duration) {
            var (longest, over) = (0, Int.min)
            for record in records {
                for slot in slots {
                    let time = record.slots[slot].longest
                    // The slots of the call, and one more on each side.
                    let first = max(0, slot - time / Record.slot.microseconds - 1)
                    let end = min(record.slots.count, slot + 2)
                    let late = record.slots[first..<end].reduce(0) { max($0, $1.late) }
                    (longest, over) = (max(longest, time), max(over, time - late - plan.budget.microseconds))
                }
            }
            return (.microseconds(longest), .microseconds(over))
        }

        /// The percentile: this share of all values is at most as large.
        static func quantile(_ share: Double, of counts: [[Int: Int]]) -> Duration {
            let all = counts.reduce(into: [Int: Int]()) { $0.merge($1, uniquingKeysWith: +) }
            var rest = Int((Double(all.values.reduce(0, +)) * share).rounded(.up))
            for (value, count) in all.sorted(by: { $0.key < $1.key }) {
                rest -= count
                if rest <= 0 { return .microseconds((value + 1) * 100) }
            }
            return .zero
        }
    }

    /// How far a machine may miss the toolkit's promises. The hard limits hold on every machine.
    struct Bounds {
        /// How much longer a call may take than its budget, beyond the lateness of timers.
        var slack = Duration.milliseconds(20)
        /// How much of the limit may stay unused.
        var loss = 0.02
        /// How much a member's share may differ from an equal share.
        var unfairness = 0.1
        /// How soon a member must notice that the engine is back, counted from the engine's return or from a later
        /// failed question: the breaker's second, a quarter more, and the time of the question.
        var untilBack = Duration.milliseconds(1_500)

        static let busy = Bounds(
            slack: .milliseconds(100), loss: 0.05, unfairness: 0.25, untilBack: .milliseconds(1_800))
    }

    extension Duration {
        var text: String { "\((self / .milliseconds(1) * 10).rounded() / 10) ms" }
    }
#endif
