import Foundation
import Resilience
@testable import ResilienceSync
import ResilienceTesting
import TestSupport
import Testing

/// An operator's commands on very many mutations run in short steps, and can be continued (P70).
@Suite(.timeLimit(.minutes(20)), .heavy) struct OperatorTests {
    enum Command: String, CaseIterable { case revive, discard, removePending }

    private let fixture = Fixture()

    /// 2 500 mutations that are dead or to be cleared, and "z1", which is neither.
    private func fill(_ store: any MutationStore, for command: Command) async throws {
        try await store.append(Mutation.many(2_500))
        if command != .removePending {
            _ = try await store.apply((1...2_500).map { .died($0, error: "410", rest: .skip) }, claiming: [])
            try await store.append([Mutation("z1")])
        }
    }

    private func carryOut(_ command: Command, on queue: SyncQueue) async throws -> Int {
        switch command {
        case .revive: try await queue.retryDead()
        case .discard: try await queue.discardDead()
        case .removePending: try await queue.clear()
        }
    }

    private func steps(_ command: Command) -> [Int] {
        fixture.events.compactMap { event in
            switch (command, event) {
            case (.revive, .revived(let count)), (.discard, .discarded(let count)),
                (.removePending, .cleared(let count)):
                count
            default: nil
            }
        }
    }

    private func left(_ store: any MutationStore, for command: Command) async throws -> Int {
        let totals = try await store.totals()
        return command == .removePending ? totals.pending : totals.dead
    }

    @Test("2 500 mutations are changed in steps of 1 000, and each step is reported (P70)", arguments: Command.allCases)
    func steps(command: Command) async throws {
        for store in try everyStore() {
            let fixture = Fixture()
            try await fill(store, for: command)
            let queue = fixture.queue(store)
            try await queue.pause()
            #expect(try await carryOut(command, on: queue) == 2_500)
            let counts = fixture.events.compactMap { event in
                switch event {
                case .revived(let count), .discarded(let count), .cleared(let count): count
                default: nil
                }
            }
            #expect(counts == [1_000, 1_000, 500])
            #expect(try await left(store, for: command) == 0)
            #expect(try await carryOut(command, on: queue) == 0)
        }
    }

    @Test(
        "between two steps, a mutation that dies stays dead, and a mutation enqueued or retried is not cleared",
        arguments: Command.allCases)
    func meanwhile(command: Command) async throws {
        for store in try everyStore() {
            try await fill(store, for: command)
            if command == .removePending {
                let last = try #require(try await store.pendingPositions().max())
                _ = try await store.apply([.died(last, error: "410", rest: .skip)], claiming: [])
            }
            let hooked = HookedStore(inner: store, at: .after(command.rawValue)) {
                if command == .removePending {
                    _ = try await store.reviveAll(at: Date())
                    try await store.append([Mutation("y1")])
                } else {
                    let z = try #require(try await store.pending(after: 2_500, limit: 1).first)
                    _ = try await store.apply([.died(z.position, error: "410", rest: .skip)], claiming: [])
                }
            }
            let queue = Fixture().queue(hooked)
            try await queue.pause()
            #expect(try await carryOut(command, on: queue) == (command == .removePending ? 2_499 : 2_500))
            if command == .removePending {
                #expect(try await store.pending(after: .min, limit: 9).map(\.mutation.id) == ["2499", "y1"])
            } else {
                #expect(try await store.dead(after: .min, limit: 9).map(\.mutation.id) == ["z1"])
            }
            await queue.stop()
        }
    }

    @Test("after a store error, the next call handles the remaining mutations (P70)", arguments: Command.allCases)
    func error(command: Command) async throws {
        for store in try everyStore() {
            try await fill(store, for: command)
            let queue = Fixture().queue(
                HookedStore(inner: store, at: .before(command.rawValue), number: 2) { throw Refusal.unavailable })
            try await queue.pause()
            await #expect(throws: Refusal.self) { try await carryOut(command, on: queue) }
            #expect(try await left(store, for: command) == 1_500)
            #expect(try await carryOut(command, on: queue) == 1_500)
            #expect(try await left(store, for: command) == 0)
            await queue.stop()
        }
    }

    @Test("cancelling ends a command between two steps, except a clear", arguments: Command.allCases)
    func cancelled(command: Command) async throws {
        let store = MemoryStore()
        try await fill(store, for: command)
        let queue = fixture.queue(
            HookedStore(inner: store, at: .after(command.rawValue)) {
                if command != .removePending { withUnsafeCurrentTask { $0?.cancel() } }
            })
        try await queue.pause()
        let result = await Task {
            if command == .removePending { withUnsafeCurrentTask { $0?.cancel() } }
            return try await carryOut(command, on: queue)
        }.result
        if command == .removePending {
            #expect(try result.get() == 2_500)
        } else {
            #expect(throws: CancellationError.self) { try result.get() }
            #expect(steps(command) == [1_000] && store.deadCount() == 1_500)
        }
    }

    @Test("two concurrent operators change each mutation once", arguments: Command.allCases)
    func twice(command: Command) async throws {
        for store in try everyStore() {
            try await fill(store, for: command)
            let queues = [Fixture().queue(store), Fixture().queue(store)]
            for queue in queues { try await queue.pause() }
            let count = try await withThrowingTaskGroup(of: Int.self) { group in
                for queue in queues { group.addTask { try await carryOut(command, on: queue) } }
                return try await group.reduce(0, +)
            }
            #expect(count == 2_500)
            #expect(try await left(store, for: command) == 0)
            for queue in queues { await queue.stop() }
        }
    }
}
