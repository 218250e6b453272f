import Resilience

/// Repeated calls of an operation that does nothing, for the benchmarks and the counter.
public struct Calls: Sendable {
    public let name: String
    /// Makes this many calls, in order.
    public let make: @Sendable (Int) async throws -> Void

    init(_ name: String, _ make: @escaping @Sendable (Int) async throws -> Void) {
        self.name = name
        self.make = make
    }

    /// Calls through a stored pipeline, like a user's.
    init(_ name: String, through pipeline: Pipeline) {
        let stored = Stored(pipeline)
        self.init(name) { count in try await stored.succeed(count) }
    }

    /// Calls that need no substitute.
    init(_ name: String, through fallback: Fallback<Int>) {
        self.init(name) { count in
            for number in 0..<count { _ = try await fallback.run { number } }
        }
    }

    /// Calls that the pipeline rejects, each caught.
    init(_ name: String, rejectedBy pipeline: Pipeline) {
        let stored = Stored(pipeline)
        self.init(name) { count in await stored.beRejected(count) }
    }

    /// The floor: the bare operation.
    public static let bare = Calls("bare call") { count in
        for number in 0..<count { _ = try await call { number } }
    }

    @inline(never)
    static func call(_ operation: () async throws -> Int) async throws -> Int { try await operation() }

    /// The same calls made by two tasks at once, half each.
    func byTwoTasks(_ name: String) -> Calls {
        Calls(name) { [make] count in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<2 { group.addTask { try await make(count / 2) } }
                try await group.waitForAll()
            }
        }
    }
}

private final class Stored: Sendable {
    let pipeline: Pipeline

    init(_ pipeline: Pipeline) { self.pipeline = pipeline }

    @inline(never)
    func succeed(_ count: Int) async throws {
        for number in 0..<count { _ = try await pipeline.run { number } }
    }

    @inline(never)
    func beRejected(_ count: Int) async {
        for number in 0..<count {
            do {
                _ = try await pipeline.run { number }
                preconditionFailure("not rejected")
            } catch {}
        }
    }
}
