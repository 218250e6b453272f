import ResilienceTesting
import Testing

// C3
@Suite(.timeLimit(.minutes(20))) struct ScriptedOperationTests {
    struct Down: Error, Equatable {
        var number = 0
    }

    @Test("results are played in order, and every argument is recorded")
    func queue() async throws {
        let operation = ScriptedOperation<String, Int>([.failure(Down(number: 1)), .success(7)])
        operation.enqueue(.failure(Down(number: 2)), .success(8))
        await #expect(throws: Down(number: 1)) { try await operation("a") }
        #expect(try await operation("b") == 7)
        await #expect(throws: Down(number: 2)) { try await operation("c") }
        #expect(try await operation("d") == 8)
        #expect(operation.inputs == ["a", "b", "c", "d"] && operation.callCount == 4)
    }

    @Test("the fallback is played repeatedly when the script is used up")
    func fallback() async throws {
        let operation = ScriptedOperation<Void, Int>([.success(1)], fallback: .success(9))
        var results: [Int] = []
        for _ in 0..<3 { results.append(try await operation()) }
        #expect(results == [1, 9, 9])
    }

    @Test("the fallback can be changed and removed")
    func changedFallback() async throws {
        let operation = ScriptedOperation<Void, Int>(fallback: .success(1))
        operation.fallback = .success(2)
        #expect(try await operation() == 2)
        operation.fallback = nil
        await #expect(throws: ScriptEnded(call: 2)) { try await operation() }
    }

    @Test("a call beyond the script without a fallback fails, with its number")
    func ended() async throws {
        let operation = ScriptedOperation<Void, Int>([.success(1)])
        _ = try await operation()
        await #expect(throws: ScriptEnded(call: 2)) { try await operation() }
    }

    @Test("held calls stay inside until they are released, the oldest first")
    func hold() async throws {
        let operation = ScriptedOperation<Int, Int>([.success(1), .success(2), .success(3)])
        operation.hold()
        var calls: [Task<Int, any Error>] = []
        for number in 1...3 {
            calls.append(Task { try await operation(number) })
            await operation.waitForCalls(number)
        }
        #expect(operation.running == 3)
        operation.release(1)
        #expect(try await calls[0].value == 1)
        #expect(operation.running == 2)
        operation.release()
        #expect(try await calls[1].value == 2)
        #expect(try await calls[2].value == 3)
        #expect(operation.running == 0 && operation.mostRunning == 3)
    }

    @Test("a release of some calls still holds later calls; a release of all does not")
    func release() async throws {
        let operation = ScriptedOperation<Int, Int>(fallback: .success(1))
        operation.hold()
        operation.release(5)
        let held = Task { try await operation(1) }
        await operation.waitForCalls(1)
        #expect(operation.running == 1)
        operation.release()
        #expect(try await held.value == 1)
        #expect(try await operation(2) == 1)
    }

    @Test("a held call that is cancelled throws CancellationError and is no longer running")
    func cancelled() async {
        let operation = ScriptedOperation<Int, Int>(fallback: .success(1))
        operation.hold()
        let held = Task { try await operation(1) }
        await operation.waitForCalls(1)
        held.cancel()
        await #expect(throws: CancellationError.self) { try await held.value }
        #expect(operation.running == 0 && operation.callCount == 1)
    }

    @Test("waiting for calls returns when enough have begun, or at once if they already have")
    func waitForCalls() async throws {
        let operation = ScriptedOperation<Int, Int>(fallback: .success(1))
        async let waited: Void = operation.waitForCalls(2)
        _ = try await operation(1)
        _ = try await operation(2)
        await waited
        await operation.waitForCalls(2)
    }

    @Test("reset removes calls and results, and releases held calls")
    func reset() async throws {
        let operation = ScriptedOperation<Int, Int>([.success(1), .success(2)], fallback: .success(3))
        operation.hold()
        let held = Task { try await operation(1) }
        await operation.waitForCalls(1)
        operation.reset()
        #expect(try await held.value == 1)
        #expect(operation.inputs.isEmpty && operation.callCount == 0 && operation.running == 0)
        await #expect(throws: ScriptEnded(call: 1)) { try await operation(2) }
    }

    @Test("1 000 concurrent calls each get one result and are all counted")
    func concurrent() async throws {
        let operation = ScriptedOperation<Int, Int>((0..<1_000).map { .success($0) })
        let results = try await withThrowingTaskGroup { group in
            for number in 0..<1_000 { group.addTask { try await operation(number) } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(results == Set(0..<1_000) && Set(operation.inputs) == Set(0..<1_000) && operation.running == 0)
    }
}
