import Foundation
import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

@Suite(.timeLimit(.minutes(20))) struct SingleFlightTests {
    let clock = ManualClock()
    let recorder = EventRecorder()
    let operation = ScriptedOperation<Int, Int>()

    private var flights: SingleFlight<String, Int> { flights() }

    private func flights(joinWindow: Duration? = nil, sharesErrors: Bool = true) -> SingleFlight<String, Int> {
        SingleFlight(
            "profiles", joinWindow: joinWindow, sharesErrors: sharesErrors, timeBase: clock,
            observers: PolicyObservers(recorder))
    }

    private var events: [SingleFlightEvent] { recorder.events(of: SingleFlightEvent.self) }

    // MARK: Joining

    @Test("a hundred calls for one key run one operation and share its result; the next call runs another")
    func shared() throws {
        let flights = flights
        operation.enqueue(.success(1), .success(2))
        try clock.run { () async throws in
            operation.hold()
            let calls = (0..<100).map { number in
                Task { try await flights.run(for: "a") { try await operation(number) } }
            }
            await clock.runUntilIdle()
            #expect(flights.status == SingleFlightStatus(flights: 1, waiting: 100, abandoned: 0))
            operation.release()
            for call in calls { #expect(try await call.value == 1) }
            #expect(operation.inputs == [0] && flights.status.flights == 0 && clock.sleepers.isEmpty)
            #expect(try await flights.run(for: "a") { try await operation(7) } == 2)
            #expect(operation.inputs == [0, 7])
        }
        let joined: [SingleFlightEvent] = (2...100).map { .joined(waiting: $0) }
        #expect(Array(events.prefix(1)) == [.began] && Array(events.dropFirst().prefix(99)) == joined)
        #expect(events.count == 101 && events.last == .began)
        #expect(recorder.events.allSatisfy { $0.policy == "profiles" && $0.pipeline == nil })
    }

    @Test("a caller that asks again right after it got a result never gets the same result (golang.org/x/sync 8fcdb60)")
    func afterwards() throws {
        for seed in UInt64(0)..<300 {
            let clock = ManualClock()
            let runs = Box(0)
            let flights = SingleFlight<String, Int>(timeBase: clock)
            try clock.run(seed: seed) { () async throws in
                let calls = (0..<3).map { _ in
                    Task {
                        var results: [Int] = []
                        for _ in 0..<3 {
                            results.append(
                                try await flights.run(for: "a") {
                                    runs.withLock { runs in
                                        runs += 1
                                        return runs
                                    }
                                })
                        }
                        return results
                    }
                }
                for call in calls {
                    let results = try await call.value
                    #expect(Set(results).count == 3 && results == results.sorted(), "seed \(seed)")
                }
                #expect(flights.status == SingleFlightStatus(flights: 0, waiting: 0, abandoned: 0))
            }
        }
    }

    @Test("after the join window a call begins its own flight, and later calls join that")
    func window() throws {
        let flights = flights(joinWindow: .seconds(2))
        operation.enqueue(.success(1), .success(2))
        try clock.run { () async throws in
            operation.hold()
            async let first = flights.run(for: "a") { try await operation(1) }
            await clock.runUntilIdle()
            clock.advance(by: .seconds(2))
            async let second = flights.run(for: "a") { try await operation(2) }
            await clock.runUntilIdle()
            async let third = flights.run(for: "a") { try await operation(3) }
            await clock.runUntilIdle()
            #expect(flights.status == SingleFlightStatus(flights: 2, waiting: 3, abandoned: 0))
            operation.release()
            #expect(try await [first, second, third] == [1, 2, 2])
        }
    }

    @Test(
        "after a key is forgotten the next call begins a flight, and waiting callers get the old flight's result",
        arguments: [true, false])
    func forgotten(all: Bool) throws {
        let flights = flights
        operation.enqueue(.success(1), .success(2))
        try clock.run { () async throws in
            operation.hold()
            async let first = flights.run(for: "a") { try await operation(1) }
            await clock.runUntilIdle()
            if all { flights.forgetAll() } else { flights.forget("a") }
            async let second = flights.run(for: "a") { try await operation(2) }
            await clock.runUntilIdle()
            operation.release()
            #expect(try await [first, second] == [1, 2])
        }
    }

    // MARK: Errors

    @Test("all waiting callers get the operation's error unchanged")
    func errors() throws {
        let flights = flights
        operation.enqueue(.failure(Outage()))
        try clock.run { () async throws in
            operation.hold()
            let calls = (0..<3).map { _ in Task { try await flights.run(for: "a") { try await operation(1) } } }
            await clock.runUntilIdle()
            operation.release()
            for call in calls { await #expect(throws: Outage()) { try await call.value } }
        }
        #expect(operation.callCount == 1)
    }

    @Test(
        "if errors are not shared, a joined call asks once more, and accepts the second result",
        arguments: [true, false])
    func ownErrors(endsWell: Bool) throws {
        let flights = flights(sharesErrors: false)
        operation.enqueue(.failure(Outage()), endsWell ? .success(7) : .failure(Outage()))
        try clock.run { () async throws in
            operation.hold()
            let calls = (0..<5).map { number in
                Task { try? await flights.run(for: "a") { try await operation(number) } }
            }
            await clock.runUntilIdle()
            operation.release(1)
            await clock.runUntilIdle()
            #expect(flights.status == SingleFlightStatus(flights: 1, waiting: 4, abandoned: 0))
            operation.release()
            var results: [Int?] = []
            for call in calls { results.append(await call.value) }
            #expect(results == [nil] + Array(repeating: endsWell ? 7 : nil, count: 4))
        }
        #expect(operation.callCount == 2 && flights.status.flights == 0)
    }

    @Test("a cancellation that the operation throws counts only for the call that began it: the others ask once more")
    func othersCancellation() throws {
        let flights = flights
        operation.enqueue(.failure(CancellationError()), .success(7))
        try clock.run { () async throws in
            operation.hold()
            let first = Task { try await flights.run(for: "a") { try await operation(1) } }
            await clock.runUntilIdle()
            let second = Task { try await flights.run(for: "a") { try await operation(2) } }
            await clock.runUntilIdle()
            operation.release()
            await #expect(throws: CancellationError.self) { try await first.value }
            #expect(try await second.value == 7)
        }
    }

    @Test("a call that would ask again at or after its deadline begins nothing, and throws the joined flight's error")
    func askingTooLate() async throws {
        let time = AlarmlessClock()
        let (began, joined, mayFail) = (PolicyWaiter(), PolicyWaiter(), PolicyWaiter())
        let observers = PolicyObservers { event in if event.detail.kind == "joined" { joined.resume() } }
        let flights = SingleFlight<String, Int>(sharesErrors: false, timeBase: time, observers: observers)
        let deadline = time.now + .seconds(5)
        let first = Task {
            try await flights.run(for: "a") {
                began.resume()
                await waits(for: mayFail)
                time.advance(by: .seconds(5))
                throw Outage()
            }
        }
        _ = await began.wait(until: .distantFuture, on: clock)
        let second = Task { try await flights.run(for: "a", deadline: deadline) { try await operation(1) } }
        _ = await joined.wait(until: .distantFuture, on: clock)
        mayFail.resume()
        let error = await #expect(throws: TimedOut.self) { try await second.value }
        #expect(error?.limit == .seconds(5) && error?.underlying is Outage)
        await #expect(throws: Outage()) { try await first.value }
        #expect(operation.callCount == 0)
    }

    // MARK: Leaving

    @Test("a cancelled call that began a flight leaves at once, and the others get the result")
    func firstCancelled() throws {
        let flights = flights
        operation.enqueue(.success(1))
        try clock.run { () async throws in
            operation.hold()
            let first = Task { try await flights.run(for: "a") { try await operation(1) } }
            await clock.runUntilIdle()
            let second = Task { try await flights.run(for: "a") { try await operation(2) } }
            await clock.runUntilIdle()
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            #expect(operation.running == 1 && flights.status.waiting == 1)
            operation.release()
            #expect(try await second.value == 1)
        }
        #expect(operation.callCount == 1)
    }

    @Test("cancelling the last caller cancels the operation")
    func lastCancelled() throws {
        let flights = flights
        operation.fallback = .success(1)
        try clock.run { () async throws in
            operation.hold()
            let calls = (0..<3).map { _ in Task { try await flights.run(for: "a") { try await operation(1) } } }
            await clock.runUntilIdle()
            clock.advance(by: .seconds(2))
            for call in calls {
                #expect(operation.running == 1)
                call.cancel()
                await #expect(throws: CancellationError.self) { try await call.value }
            }
            await clock.runUntilIdle()
            #expect(operation.running == 0)
            #expect(flights.status == SingleFlightStatus(flights: 0, waiting: 0, abandoned: 0))
        }
        #expect(events.suffix(2) == [.abandoned(after: .seconds(2)), .endedLate(by: .zero)])
    }

    @Test("nobody joins an operation that is being cancelled; it counts until it ends, and its result is dropped")
    func stubborn() throws {
        let (flights, first, second) = (flights, PolicyWaiter(), PolicyWaiter())
        try clock.run { () async throws in
            let abandoned = Task {
                try await flights.run(for: "a") {
                    await waits(for: first)
                    return 1
                }
            }
            await clock.runUntilIdle()
            abandoned.cancel()
            await #expect(throws: CancellationError.self) { try await abandoned.value }
            await clock.runUntilIdle()
            #expect(flights.status == SingleFlightStatus(flights: 0, waiting: 0, abandoned: 1))
            async let next = flights.run(for: "a") {
                await waits(for: second)
                return 2
            }
            await clock.runUntilIdle()
            clock.advance(by: .seconds(3))
            first.resume()
            await clock.runUntilIdle()
            #expect(flights.status == SingleFlightStatus(flights: 1, waiting: 1, abandoned: 0))
            second.resume()
            #expect(try await next == 2)
        }
        #expect(events.last == .endedLate(by: .seconds(3)))
    }

    @Test("a call that is already cancelled begins nothing and joins nothing")
    func alreadyCancelled() async {
        let flights = flights
        let task = Task {
            cancelCurrentTask()
            return try await flights.run(for: "a") { try await operation(1) }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(operation.callCount == 0 && events.isEmpty)
    }

    @Test("if a call is cancelled before a thread is free, its operation does not run, whatever the order of the tasks")
    func neverBegan() throws {
        var leftFirst = 0
        for seed in UInt64(0)..<300 {
            let (clock, log) = (ManualClock(), Journal())
            let flights = SingleFlight<Int, Void>(timeBase: clock)
            try clock.run(seed: seed) { () async throws in
                let call = Task {
                    do {
                        try await flights.run(for: 1) { log.note("began") }
                    } catch {
                        log.note("\(error)")
                    }
                }
                Task { call.cancel() }
                await call.value
            }
            #expect(log.lines != ["CancellationError()", "began"], "seed \(seed)")
            #expect(flights.status == SingleFlightStatus(flights: 0, waiting: 0, abandoned: 0), "seed \(seed)")
            if log.lines == ["CancellationError()"] { leftFirst += 1 }
        }
        #expect(leftFirst > 0)
    }

    // MARK: Deadlines

    @Test("each call has its own deadline: a caller with less time leaves, and the others get the result")
    func deadlines() throws {
        let flights = flights
        operation.enqueue(.success(1))
        try clock.run { () async throws in
            operation.hold()
            let start = clock.now
            let impatient = Task {
                try await flights.run(for: "a", deadline: start + .seconds(1)) { try await operation(1) }
            }
            await clock.runUntilIdle()
            async let patient = flights.run(for: "a", deadline: start + .seconds(9)) { try await operation(2) }
            await clock.runUntilIdle()
            let error = await #expect(throws: TimedOut.self) { try await impatient.value }
            #expect(error?.policy == "deadline" && error?.limit == .seconds(1) && error?.underlying == nil)
            #expect(clock.now == start + .seconds(1) && operation.running == 1)
            operation.release()
            #expect(try await patient == 1)
            #expect(clock.sleepers.isEmpty)
        }
    }

    @Test("a task's deadline ends the call, and does not reach the operation")
    func travelling() throws {
        let flights = flights
        try clock.run { () async throws in
            let never = PolicyWaiter()
            let start = clock.now
            let saw = Box<[Bool]>([])
            await #expect(throws: TimedOut.self) {
                try await CallDeadline(after: .seconds(2), on: clock).run {
                    try await flights.run(for: "a", deadline: start + .seconds(60)) {
                        saw.withLock { $0.append(CallDeadline.current == nil) }
                        _ = await never.wait(until: .distantFuture, on: clock)
                        return 1
                    }
                }
            }
            #expect(clock.now == start + .seconds(2) && saw.value == [true])
        }
    }

    @Test("a call after its deadline begins nothing and joins nothing")
    func passed() throws {
        let flights = flights
        try clock.run { () async throws in
            for deadline in [clock.now, .distantPast] {
                await #expect(throws: DeadlinePassed.self) {
                    try await flights.run(for: "a", deadline: deadline) { try await operation(1) }
                }
            }
        }
        #expect(operation.callCount == 0 && events.isEmpty)
    }

    @Test("a result that exists when the caller checks its deadline is returned")
    func boundary() throws {
        let flights = flights
        let result = try clock.run { () async throws in
            try await flights.run(for: "a", deadline: clock.now + .seconds(5)) {
                clock.advance(by: .seconds(5))
                return 7
            }
        }
        #expect(result == 7)
    }

    // MARK: Operations that ask again

    @Test(
        "an operation that asks for its own key gets a new flight for it, at any depth", arguments: [true, false])
    func recursion(isDirect: Bool) throws {
        let flights = flights
        let result = try clock.run { () async throws in
            try await flights.run(for: "a") {
                if isDirect { return try await flights.run(for: "a") { 1 } + 10 }
                return try await flights.run(for: "b") {
                    try await withThrowingTaskGroup(of: Int.self) { group in
                        group.addTask { try await flights.run(for: "a") { 1 } }
                        return try await group.next() ?? 0
                    } + 10
                }
            }
        }
        #expect(result == 11)
        #expect(flights.status == SingleFlightStatus(flights: 0, waiting: 0, abandoned: 0))
    }

    @Test("an inner call for the same key keeps its deadline, and nobody joins it")
    func innerDeadline() throws {
        let flights = flights
        try clock.run { () async throws in
            let start = clock.now
            let outer = Task {
                try await flights.run(for: "a") {
                    let inner = try? await flights.run(for: "a", deadline: start + .seconds(2)) {
                        await waits(for: PolicyWaiter())
                        return 1
                    }
                    return inner ?? 5
                }
            }
            await clock.runUntilIdle()
            async let joined = flights.run(for: "a") { 9 }
            #expect(try await joined == 5)
            #expect(try await outer.value == 5)
            #expect(clock.now == start + .seconds(2) && flights.status.abandoned == 1)
        }
    }

    @Test("a task that outlives its flight may ask for its key repeatedly, and its chain of flights does not grow")
    func outliving() throws {
        let (flights, clock) = (flights, clock)
        let runs = Box(0)
        @Sendable func ask() async throws -> Int {
            try await flights.run(for: "a") {
                let number = runs.withLock { runs in
                    runs += 1
                    return runs
                }
                if number < 300 {
                    Task {
                        _ = await PolicyWaiter().wait(until: clock.now + .seconds(1), on: clock)
                        _ = try await ask()
                    }
                }
                #expect(FlightPath.current.count == 1)
                return number
            }
        }
        try clock.run { () async throws in
            _ = try await ask()
            _ = await PolicyWaiter().wait(until: clock.now + .seconds(400), on: clock)
        }
        #expect(runs.value == 300)
    }

    @Test("two single flights whose operations ask each other for the same keys do not deadlock")
    func crossed() throws {
        let (one, other) = (flights, SingleFlight<String, Int>("other", timeBase: clock))
        let result = try clock.run { () async throws in
            try await one.run(for: "a") {
                try await other.run(for: "a") { try await one.run(for: "a") { 5 } }
            }
        }
        #expect(result == 5)
    }

    @Test("a key whose deinit uses the single flight does not deadlock")
    func keysOfAUser() throws {
        final class Key: Hashable, Sendable {
            let whenGone: @Sendable () -> Void
            init(_ whenGone: @escaping @Sendable () -> Void) { self.whenGone = whenGone }
            deinit { whenGone() }
            static func == (one: Key, other: Key) -> Bool { true }
            func hash(into hasher: inout Hasher) {}
        }
        let flights = SingleFlight<Key, Int>(timeBase: clock)
        let gone = Box(0)
        let whenGone: @Sendable () -> Void = { [unowned flights] in
            _ = flights.status
            flights.forgetAll()
            gone.withLock { $0 += 1 }
        }
        try clock.run { () async throws in
            #expect(try await flights.run(for: Key(whenGone)) { 1 } == 1)
            let never = PolicyWaiter()
            let call = Task {
                try await flights.run(for: Key(whenGone)) {
                    _ = await never.wait(until: .distantFuture, on: clock)
                    return 1
                }
            }
            await clock.runUntilIdle()
            flights.forget(Key(whenGone))
            async let second = flights.run(for: Key(whenGone)) { 2 }
            #expect(try await second == 2)
            call.cancel()
            _ = try? await call.value
            await clock.runUntilIdle()
        }
        #expect(gone.value == 4)
    }

    // MARK: Where it runs

    @TaskLocal private static var label = "none"

    @Test("the operation has the task-local values of the call that began the flight")
    func taskLocals() throws {
        let flights = SingleFlight<Int, String>(timeBase: clock)
        try clock.run { () async throws in
            let mayEnd = PolicyWaiter()
            let first = Self.$label.withValue("first") {
                Task {
                    try await flights.run(for: 1) {
                        await waits(for: mayEnd)
                        return Self.label
                    }
                }
            }
            await clock.runUntilIdle()
            let second = Self.$label.withValue("second") { Task { try await flights.run(for: 1) { Self.label } } }
            await clock.runUntilIdle()
            mayEnd.resume()
            #expect(try await first.value == "first")
            #expect(try await second.value == "first")
        }
    }

    @Test(
        "the operation has the highest priority of all its waiting callers, however they got their priorities",
        arguments: ["joins", "raised", "was raised"])
    func priority(of other: String) throws {
        guard #available(macOS 26, macCatalyst 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let flights = SingleFlight<Int, TaskPriority>(timeBase: clock)
        try clock.run { () async throws in
            let (mayAsk, mayEnd) = (PolicyWaiter(), PolicyWaiter())
            let low = Task(priority: .low) {
                _ = await mayAsk.wait(until: .distantFuture, on: clock)
                return try await flights.run(for: 1) {
                    await waits(for: mayEnd)
                    return Task.currentPriority
                }
            }
            await clock.runUntilIdle()
            if other == "was raised" { low.escalatePriority(to: .high) }
            mayAsk.resume()
            await clock.runUntilIdle()
            let joins = Task(priority: other == "joins" ? .high : .low) {
                try await flights.run(for: 1) { .background }
            }
            await clock.runUntilIdle()
            if other == "raised" { joins.escalatePriority(to: .high) }
            mayEnd.resume()
            #expect(try await low.value == .high)
            #expect(try await joins.value == .high)
        }
    }

    @Test("a blocking onCancel delays nobody")
    func blockingHandler() async throws {
        let flights = SingleFlight<Int, Void>(timeBase: OwnThreads(clock))
        let (began, mayGoOn, wasCancelled) = (PolicyWaiter(), DispatchSemaphore(value: 0), PolicyWaiter())
        let task = Task {
            try await flights.run(for: 1) {
                began.resume()
                await withTaskCancellationHandler {
                    await waits(for: wasCancelled)
                } onCancel: {
                    mayGoOn.wait()
                    wasCancelled.resume()
                }
            }
        }
        _ = await began.wait(until: .distantFuture, on: clock)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        mayGoOn.signal()
        _ = await wasCancelled.wait(until: .distantFuture, on: clock)
    }

    // MARK: Words

    @Test("the description shows the settings")
    func describes() {
        #expect("\(flights)" == "profiles: joins calls for the same key")
        let other = flights(joinWindow: .seconds(2), sharesErrors: false)
        #expect("\(other)" == "profiles: joins calls for the same key for up to 2 s, errors not shared")
    }
}

/// Waits, whichever task is cancelled.
private func waits(for waiter: PolicyWaiter) async {
    await Task { _ = await waiter.wait(until: .distantFuture, on: .system) }.value
}
