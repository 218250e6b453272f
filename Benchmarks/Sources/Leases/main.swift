import Calls
import Foundation

// The cost of leased permits: `Leases [CALLS [ROUNDS]]`. Nanoseconds per call of an operation that returns at once, and
// the ratio to a throttle with the same limit in this process alone. All take turns. The fastest round shows a call
// that finds permits: rounds are so short that some are not interrupted, whatever else the machine does. The mean
// includes the questions to the engine, which itself costs nothing here.

let calls = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 2_000
let rounds = CommandLine.arguments.dropFirst(2).first.flatMap { Int($0) } ?? 5_000

let names = ["throttle, with permits", "bare call", "throttle of a fleet, with permits"]
let cases = names.compactMap { name in Calls.all.first { $0.name == name } } + [Calls.leasing]
precondition(cases.count == names.count + 1)

var fastest = [Double](repeating: .infinity, count: cases.count)
var sums = [Double](repeating: 0, count: cases.count)
for _ in 0..<rounds {
    for (index, one) in cases.enumerated() {
        let start = ContinuousClock.now
        try await one.make(calls)
        let time = start.duration(to: .now) / .nanoseconds(1) / Double(calls)
        fastest[index] = min(fastest[index], time)
        sums[index] += time
    }
}
print("".padding(toLength: 40, withPad: " ", startingAt: 0) + " fastest  ratio    mean  ratio")
for index in cases.indices {
    let (least, mean) = (fastest[index], sums[index] / Double(rounds))
    let figures = String(
        format: "%8.0f %6.2f %7.0f %6.2f", least, least / fastest[0], mean, mean / (sums[0] / Double(rounds)))
    print(cases[index].name.padding(toLength: 40, withPad: " ", startingAt: 0) + figures)
}
