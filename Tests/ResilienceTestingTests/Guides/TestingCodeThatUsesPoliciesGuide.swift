import Resilience
import ResilienceTesting
import Testing

// The code of Docs/TestingCodeThatUsesPolicies.md, unchanged.

struct Unavailable: Error, Equatable {}

struct Activities: Sendable {
    let pipeline: Pipeline
    let breaker: CircuitBreaker
    let fetch: @Sendable (String) async throws -> [String]

    init(timeBase: any TimeBase = .system, fetch: @escaping @Sendable (String) async throws -> [String]) {
        let breaker = CircuitBreaker("activities", tripping: .consecutiveFailures(3), timeBase: timeBase)
        self.breaker = breaker
        pipeline = Pipeline("activities", timeBase: timeBase, isIdempotent: true) {
            Retry(maxRetries: 2, backoff: .constant(.seconds(1)))
            breaker
            Timeout(limit: .seconds(5))
        }
        self.fetch = fetch
    }

    func page(_ path: String) async throws -> [String] {
        try await pipeline.run { try await fetch(path) }
    }
}

struct Export: Sendable {
    let activities: Activities
    let clock: any Clock<Duration>

    /// Asks every ten seconds until the export is there.
    func download() async throws -> [String] {
        while true {
            let lines = try await activities.page("/export")
            if !lines.isEmpty { return lines }
            try await clock.sleep(for: .seconds(10))
        }
    }
}

protocol Account: Sendable {
    var token: String? { get set }
    func balance() async throws -> Int
    func isKnown(_ name: String) async -> Bool
    func parse(_ text: String) throws -> [String]
    func track(_ event: String)
}

struct TestAccount: Account {
    @ScriptedProperty var token: String? = nil
    let balances = ScriptedOperation<Void, Int>()
    let known = ScriptedCall<String, Bool, Never>(returning: [true], fallback: false)
    let parsed = ScriptedOperation<String, [String]>(returning: [["run"]])
    let events = ScriptedCall<String, Void, Never>(fallback: .success(()))

    func balance() async throws -> Int { try await balances() }
    func isKnown(_ name: String) async -> Bool { await known(name) }
    func parse(_ text: String) throws -> [String] { try parsed.call(text) }
    func track(_ event: String) { events.call(event) }
}

/// The code under test.
private func balanceAfterRefresh(of account: some Account) async throws -> Int {
    do {
        return try await account.balance()
    } catch {
        var account = account
        account.track("refreshed \(account.token ?? "nothing")")
        account.token = "fresh"
        return try await account.balance()
    }
}

@Suite(.timeLimit(.minutes(20))) struct ActivitiesTests {
    let clock = ManualClock()

    // C3
    @Test("a page that fails twice comes on the third attempt, two seconds later")
    func retries() throws {
        let fetch = ScriptedOperation<String, [String]>([
            .failure(Unavailable()), .failure(Unavailable()), .success(["run"]),
        ])
        let activities = Activities(timeBase: clock) { try await fetch($0) }
        let start = clock.now
        #expect(try clock.run { try await activities.page("/1") } == ["run"])
        #expect(fetch.inputs == ["/1", "/1", "/1"])
        #expect(start.duration(to: clock.now) == .seconds(2))
    }

    @Test("an export that is ready at the third request comes after twenty seconds")
    func polls() throws {
        let fetch = ScriptedOperation<String, [String]>([.success([]), .success([])], fallback: .success(["run"]))
        let export = Export(activities: Activities(timeBase: clock) { try await fetch($0) }, clock: clock)
        let start = clock.now
        #expect(try clock.run { try await export.download() } == ["run"])
        #expect(start.duration(to: clock.now) == .seconds(20))
    }

    @Test("a fetch that hangs is tried again after five seconds")
    func hangs() throws {
        let fetch = ScriptedOperation<String, [String]>(fallback: .success([]))
        fetch.hold()
        let activities = Activities(timeBase: clock) { try await fetch($0) }
        try clock.run { [clock] in
            async let page = activities.page("/1")
            await clock.runUntilIdle()
            #expect(clock.sleepers == [clock.now + .seconds(5)])
            clock.advance(by: .seconds(5))
            await clock.runUntilIdle()
            fetch.release()
            _ = try await page
        }
        #expect(fetch.callCount == 2)
    }

    // C2
    @Test("three failures open the breaker, and an observer gets these events in this order")
    func opens() throws {
        let recorder = EventRecorder()
        let fetch = ScriptedOperation<String, [String]>(fallback: .failure(Unavailable()))
        let activities = Activities(timeBase: clock) { try await fetch($0) }
        activities.breaker.observers.add(recorder)
        #expect(throws: Unavailable.self) { try clock.run { try await activities.page("/1") } }
        #expect(throws: CircuitOpen.self) { try clock.run { try await activities.page("/1") } }
        #expect(
            recorder.contains(
                inOrder: [
                    CircuitBreaker.Event.failure(3, of: 3), .opened(3, of: 3, for: .seconds(60)),
                    .rejected(retryAfter: .seconds(60)),
                ]))
        #expect(recorder.count { $0 == CircuitBreaker.Event.opened(3, of: 3, for: .seconds(60)) } == 1)
    }

    @Test(
        "in any order of the steps of ten tasks, three calls reach a service that is down", arguments: 0..<50)
    func interleavings(seed: UInt64) throws {
        let fetch = ScriptedOperation<String, [String]>(fallback: .failure(Unavailable()))
        let activities = Activities(timeBase: clock) { try await fetch($0) }
        try clock.run(seed: seed) {
            await withTaskGroup(of: Void.self) { group in
                for page in 0..<10 { group.addTask { _ = try? await activities.page("/\(page)") } }
            }
        }
        #expect(fetch.callCount == 3)
        #expect(activities.breaker.status.isTripped)
    }

    @Test("after a cancelled page, no fetch runs and nothing sleeps")
    func cancelled() async throws {
        let fetch = ScriptedOperation<String, [String]>()
        fetch.hold()
        let activities = Activities(timeBase: clock) { try await fetch($0) }
        let task = Task { try await activities.page("/1") }
        await fetch.waitForCalls(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(fetch.running == 0 && clock.sleepers.isEmpty)
    }

    @Test("the second attempt begins a second after the first has failed")
    func secondAttempt() async throws {
        let fetch = ScriptedOperation<String, [String]>([.failure(Unavailable())], fallback: .success(["run"]))
        let activities = Activities(timeBase: clock) { try await fetch($0) }
        let page = Task { try await activities.page("/1") }
        try await clock.waitForSleeper(dueIn: .seconds(1))
        #expect(fetch.callCount == 1)
        clock.advance(by: .seconds(1))
        #expect(try await page.value == ["run"])
    }

    @Test("if a balance request fails, it is repeated with a new token, and the refresh is tracked")
    func refreshes() async throws {
        let account = TestAccount()
        account.$token.reads.enqueue(.success("expired"))
        account.balances.enqueue(.failure(Unavailable()), .success(7))
        #expect(try await balanceAfterRefresh(of: account) == 7)
        #expect(account.$token.writes.inputs == ["fresh"] && account.events.inputs == ["refreshed expired"])
    }
}
