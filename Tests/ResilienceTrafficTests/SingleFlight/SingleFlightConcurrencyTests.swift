import Resilience
import ResilienceTraffic
import ResilienceTesting
import TestSupport
import Testing

/// On the system's threads, so that the thread sanitizer can find races.
@Suite(.heavy, .timeLimit(.minutes(20))) struct SingleFlightConcurrencyTests {
    @Test("with many concurrent calls, a key's operations run one at a time, and no caller gets a result twice")
    func fresh() async throws {
        let recorder = EventRecorder()
        let flights = SingleFlight<Int, Int>(observers: PolicyObservers(recorder))
        let time = Box(0)
        let running = Box([0, 0, 0])
        try await withThrowingTaskGroup { group in
            for task in 0..<8 {
                group.addTask {
                    var random = SeededNumbers(seed: UInt64(task))
                    var last = [0, 0, 0]
                    for _ in 0..<200 {
                        let key = random.below(3)
                        let result = try await flights.run(for: key) {
                            let number = time.withLock { time in
                                time += 1
                                return time
                            }
                            running.withLock { running in
                                running[key] += 1
                                #expect(running[key] == 1)
                            }
                            // Other calls may come meanwhile.
                            await Task {}.value
                            running.withLock { $0[key] -= 1 }
                            return number
                        }
                        #expect(result > last[key])
                        last[key] = result
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(flights.status == SingleFlightStatus(flights: 0, waiting: 0, abandoned: 0))
        let events = recorder.events(of: SingleFlightEvent.self)
        let began = events.count { $0 == .began }
        #expect(events.count == 1600 && began < 1600 && began == time.value)
    }

    @Test("concurrent joins, cancellations and forgotten keys leave nothing behind")
    func leaving() async {
        let recorder = EventRecorder()
        let flights = SingleFlight<Int, Int>(sharesErrors: false, observers: PolicyObservers(recorder))
        await withTaskGroup { group in
            for task in 0..<8 {
                group.addTask {
                    var random = SeededNumbers(seed: UInt64(task))
                    for _ in 0..<100 {
                        let (key, fails) = (random.below(3), random.below(3) == 0)
                        let (began, isStuck) = (PolicyWaiter(), key == 2)
                        // For the last key, each call is alone, and is cancelled in its operation.
                        let call = Task {
                            try await flights.run(for: isStuck ? 10 + task : key) {
                                began.resume()
                                await Task {}.value
                                if isStuck { _ = await PolicyWaiter().wait(until: .distantFuture, on: .system) }
                                if fails { throw Outage() }
                                return key
                            }
                        }
                        if isStuck {
                            _ = await began.wait(until: .distantFuture, on: .system)
                            call.cancel()
                        } else if random.below(3) == 0 {
                            // Cancelled before it asks, while it waits, or after it has its result.
                            for _ in 0..<random.below(4) { await Task {}.value }
                            call.cancel()
                        } else if random.below(3) == 0 {
                            flights.forget(key)
                        }
                        if let value = try? await call.value { #expect(value == key) }
                    }
                }
            }
        }
        // Each abandoned operation ends on its own thread.
        while flights.status.abandoned > 0 { _ = try? await flights.run(for: 7) { 7 } }
        #expect(flights.status == SingleFlightStatus(flights: 0, waiting: 0, abandoned: 0))
        #expect(recorder.events.contains { $0.detail.kind == "abandoned" })
    }
}
