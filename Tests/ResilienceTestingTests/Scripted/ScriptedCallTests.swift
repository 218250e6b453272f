import ResilienceTesting
import Testing

/// Functions of every kind, each with a script behind it, like the test doubles of a code base.
// C3
@Suite(.timeLimit(.minutes(20))) struct ScriptedCallTests {
    enum Trouble: Error, Equatable {
        case offline, malformed(Int)
    }

    private protocol Account: Sendable {
        func balance(of name: String) async throws -> Int
        func isKnown(_ name: String) async -> Bool
        func close(_ name: String) async throws(Trouble)
        func parse(_ text: String) throws -> [String]
        func check(_ text: String) throws(Trouble) -> Int
        func greeting(for name: String) -> String
        func track(_ event: String)
    }

    private struct TestAccount: Account {
        let balances = ScriptedOperation<String, Int>()
        let known = ScriptedCall<String, Bool, Never>()
        let closings = ScriptedCall<String, Void, Trouble>()
        let parsed = ScriptedOperation<String, [String]>()
        let checks = ScriptedCall<String, Int, Trouble>()
        let greetings = ScriptedCall<String, String, Never>()
        let events = ScriptedCall<String, Void, Never>(fallback: .success(()))

        func balance(of name: String) async throws -> Int { try await balances(name) }
        func isKnown(_ name: String) async -> Bool { await known(name) }
        func close(_ name: String) async throws(Trouble) { try await closings(name) }
        func parse(_ text: String) throws -> [String] { try parsed.call(text) }
        func check(_ text: String) throws(Trouble) -> Int { try checks.call(text) }
        func greeting(for name: String) -> String { greetings.call(name) }
        func track(_ event: String) { events.call(event) }
    }

    private let account = TestAccount()

    @Test("an async function that can't throw plays its script, then its fallback, and records each call")
    func asyncNeverThrows() async {
        account.known.enqueue(.success(true), .success(false))
        account.known.fallback = .success(true)
        var answers: [Bool] = []
        for name in ["a", "b", "c", "d"] { answers.append(await account.isKnown(name)) }
        #expect(answers == [true, false, true, true])
        #expect(account.known.inputs == ["a", "b", "c", "d"] && account.known.callCount == 4)
    }

    @Test("a synchronous function that throws plays its script, and records each call")
    func synchronousThrows() throws {
        account.parsed.enqueue(.success(["run"]), .failure(Trouble.malformed(1)))
        #expect(try account.parse("a") == ["run"])
        #expect(throws: Trouble.malformed(1)) { try account.parse("b") }
        #expect(throws: ScriptEnded(call: 3)) { try account.parse("c") }
        #expect(account.parsed.inputs == ["a", "b", "c"] && account.parsed.running == 0)
    }

    @Test("a synchronous function that can't throw plays its script, and records each call")
    func synchronous() {
        account.greetings.enqueue(.success("hello"))
        account.greetings.fallback = .success("again")
        #expect(["a", "b", "c"].map { account.greeting(for: $0) } == ["hello", "again", "again"])
        account.track("opened")
        account.track("closed")
        #expect(account.events.inputs == ["opened", "closed"])
        #expect(account.events.mostRunning == 1 && account.events.running == 0)
    }

    @Test("a function with a typed throw throws that type")
    func typed() async {
        account.checks.enqueue(.failure(.malformed(7)), .success(1))
        do throws(Trouble) {
            _ = try account.check("a")
        } catch {
            #expect(error == .malformed(7))
        }
        #expect(throws: Never.self) { try account.check("b") }
        account.closings.enqueue(.failure(.offline))
        await #expect(throws: Trouble.offline) { try await account.close("a") }
    }

    @Test("return values can be listed without a result around them")
    func returning() async throws {
        let known = ScriptedCall<String, Bool, Never>(returning: [true], fallback: false)
        #expect(await known("a"))
        #expect(await !known("b"))
        let fetch = ScriptedOperation<Void, Int>(returning: [1, 2])
        #expect(try await fetch() == 1)
        #expect(try await fetch() == 2)
        await #expect(throws: ScriptEnded(call: 3)) { try await fetch() }
    }

    @Test("an async function that can't throw can be held; when cancelled, it plays its result at once")
    func held() async {
        account.known.enqueue(.success(true), .success(false))
        account.known.hold()
        let calls = [Task { await account.isKnown("a") }]
        await account.known.waitForCalls(1)
        let second = Task { await account.isKnown("b") }
        await account.known.waitForCalls(2)
        #expect(account.known.running == 2)
        second.cancel()
        #expect(await second.value == false)
        #expect(account.known.running == 1)
        account.known.release()
        #expect(await calls[0].value)
    }

    @Test("a cancelled call with a typed throw also plays its result")
    func heldTyped() async {
        account.closings.enqueue(.failure(.offline))
        account.closings.hold()
        let call = Task { try await account.close("a") }
        await account.closings.waitForCalls(1)
        call.cancel()
        await #expect(throws: Trouble.offline) { try await call.value }
    }

    @Test("a synchronous call is not held, and counts for tasks that wait for calls")
    func synchronousIsNotHeld() async {
        account.events.hold()
        async let waited: Void = account.events.waitForCalls(2)
        account.track("opened")
        account.track("closed")
        await waited
        #expect(account.events.running == 0)
    }

    @Test("1 000 synchronous calls on all threads each get one result and are all counted")
    func concurrent() async {
        for number in 0..<1_000 { account.greetings.enqueue(.success("\(number)")) }
        let greetings = await withTaskGroup { group in
            for number in 0..<1_000 { group.addTask { account.greeting(for: "\(number)") } }
            return await group.reduce(into: Set()) { $0.insert($1) }
        }
        let expected = Set((0..<1_000).map { "\($0)" })
        #expect(greetings == expected && Set(account.greetings.inputs) == expected)
        #expect(account.greetings.running == 0)
    }

    @Test("a call that can't throw and has no result left traps, and names the call")
    func ended() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = await ScriptedCall<Void, Int, Never>()()
        }
        let text = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
        #expect(text.contains("Call 1 has no result: the script is used up, and there is no fallback."))
    }
}
