import Foundation
import GRDB
import Resilience
import ResilienceSync
import Synchronization

// The cost of a large backlog in SQLite: `Backlog [COUNT]`. First, durable enqueues and bare inserts of the same
// columns into a plain table with the same settings, in turn, so that the disk's variations affect both. Then COUNT
// mutations are added, the file is opened with each check, and all are flushed through handlers that answer at once,
// with the memory for that (Linux).

let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1_000_000
let folder = FileManager.default.temporaryDirectory.appending(path: "backlog-\(UUID().uuidString)")
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: folder) }

func residentMegabytes() -> Double {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii) else { return 0 }
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0
    return pages * Double(sysconf(Int32(_SC_PAGESIZE))) / 1_000_000
}

func seconds(_ body: () async throws -> Void) async rethrows -> Double {
    let start = ContinuousClock.now
    try await body()
    return start.duration(to: .now) / .seconds(1)
}

func line(_ name: String, _ figures: String) {
    print(name.padding(toLength: 40, withPad: " ", startingAt: 0) + figures)
}

func format(_ value: Double, _ digits: Int = 0) -> String { String(format: "%.\(digits)f", value) }

let payload = Data(repeating: 7, count: 200)
func mutation(_ number: Int) -> Mutation {
    Mutation(id: "m-\(number)", entity: "note-\(number % (count / 4 + 1))", kind: "note", payload: payload)
}

for (batch, rounds) in [(1, 1_000), (500, 100)] {
    try await Ladder(folder: folder, batch: batch, rounds: rounds).run()
}
if CommandLine.arguments.contains("ladder") {
    try FileManager.default.removeItem(at: folder)
    exit(0)
}

// A backlog.
let path = folder.appending(path: "backlog.sqlite").path
do {
    let queue = SyncQueue(store: try SQLiteStore(path: path), pipeline: Pipeline {}) { _ in }
    let filling = try await seconds {
        for start in stride(from: 0, to: count, by: 1000) {
            try await queue.enqueue((start..<min(start + 1000, count)).map(mutation))
        }
    }
    let size = (try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
    line("\(count) enqueued, 1000 at a time", "\(format(Double(count) / filling)) a second, \(size / count) bytes each")
}
for check in [SQLiteStore.Check.full, .quick, .none] {
    let opening = try await seconds { _ = try SQLiteStore(path: path, check: check) }
    line("opened with the check \(check)", "\(format(opening * 1000)) ms")
}
do {
    let peak = Peak()
    let queue = SyncQueue(
        store: try SQLiteStore(path: path, check: .none), pipeline: Pipeline {},
        configuration: SyncQueueConfiguration(maxInFlight: 8),
        handlers: [
            .batch("note", upTo: 100) { mutations in
                peak.note()
                return mutations.map { _ in .success(()) }
            }
        ])
    let before = residentMegabytes()
    let status = try await seconds { _ = try await queue.status }
    line("status of \(count) pending", "\(format(status * 1000, 2)) ms")
    let draining = try await seconds { _ = try await queue.drain() }
    line("flushed, 100 a request, 8 at once", "\(format(Double(count) / draining)) a second")
    line("memory", "\(format(before, 1)) MB before the flush, \(format(peak.megabytes, 1)) MB at most during it")
    let pending = try await queue.status.pending
    precondition(pending == 0)
}

final class Peak: Sendable {
    private let highest = Mutex(0.0)

    var megabytes: Double { highest.withLock { $0 } }

    func note() {
        let now = residentMegabytes()
        highest.withLock { $0 = max($0, now) }
    }
}
