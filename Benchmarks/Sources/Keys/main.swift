import Foundation
import Resilience

// The cost of a registry with many keys: `Keys [COUNT]`. Each case has its own process; the memory is the growth of its
// resident size (Linux). Times are in nanoseconds: to make an entry, to find one in random order, to find one of 256,
// to replace an idle one by a new one.

let arguments = CommandLine.arguments
let count = arguments.dropFirst().first.flatMap { Int($0) } ?? 1_000_000

func residentBytes() -> Int {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii) else { return 0 }
    return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
}

func nanoseconds(_ times: Int, _ body: () -> Void) -> Double {
    let start = ContinuousClock.now
    body()
    return start.duration(to: .now) / .nanoseconds(1) / Double(times)
}

/// Keys are integers, so that the key's own memory does not count.
@inline(__always)
func measure<Value: RegistryEntry>(_ name: String, _ make: @escaping @Sendable (Int) -> Value) throws {
    guard let chosen = arguments.dropFirst(2).first else {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: arguments[0])
        process.arguments = ["\(count)", name]
        try process.run()
        return process.waitUntilExit()
    }
    guard name == chosen else { return }
    let registry = PolicyRegistry<Int, Value>(capacity: count, make: make)
    let before = residentBytes()
    let making = nanoseconds(count) { for key in 0..<count { _ = registry[key] } }
    let bytes = (residentBytes() - before) / count
    var key = 1
    let finding = nanoseconds(count) {
        for _ in 0..<count {
            key = (key &* 1_103_515_245 &+ 12_345) & Int.max
            _ = registry[key % count]
        }
    }
    let few = nanoseconds(count) { for key in 0..<count { _ = registry[key & 255] } }
    let replacing = nanoseconds(100_000) { for key in 0..<100_000 { _ = registry[count + key] } }
    precondition(registry.count == count)
    let figures = [Double(bytes), making, finding, few, replacing].map { String(format: "%10.0f", $0) }
    print(name.padding(toLength: 32, withPad: " ", startingAt: 0) + figures.joined())
}

if arguments.count < 3 {
    let titles = ["bytes/key", "made", "found", "of 256", "replaced"]
    let right = titles.map { String(repeating: " ", count: 10 - $0.count) + $0 }.joined()
    print("\(count) keys".padding(toLength: 32, withPad: " ", startingAt: 0) + right)
    fflush(nil)
}
try measure("breaker, consecutive failures") { _ in CircuitBreaker() }
try measure("breaker, window of 100 calls") { _ in CircuitBreaker(tripping: .failureRatio(0.5)) }
try measure("throttle") { _ in Throttle(limit: .perSecond(10, burst: 20)) }
try measure("bulkhead") { _ in Bulkhead(limit: 10) }
try measure("pipeline of retry and breaker") { _ in
    Pipeline {
        Retry()
        CircuitBreaker()
    }
}
