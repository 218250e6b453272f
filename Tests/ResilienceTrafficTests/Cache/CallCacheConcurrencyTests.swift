import Resilience
import ResilienceTraffic
import ResilienceTesting
import TestSupport
import Testing

/// On the system's threads, so that the thread sanitizer can find races.
@Suite(.heavy, .timeLimit(.minutes(20))) struct CallCacheConcurrencyTests {
    @Test("with any number of concurrent readers and writers, no call gets a value loaded before a finished write")
    func writes() async throws {
        let cache = CallCache<Int, Int>(
            lifetime: CacheLifetime(
                freshFor: .seconds(3600), staleWhileRevalidate: .seconds(3600), staleIfError: .seconds(3600)))
        // The service's value, which only grows, and its value at the end of the latest write.
        let service = Box([0, 0])
        let written = Box([0, 0])
        let loads = Box(0)
        try await withThrowingTaskGroup { group in
            for task in 0..<8 {
                group.addTask {
                    var random = SeededNumbers(seed: UInt64(task))
                    for _ in 0..<200 {
                        let key = random.below(2)
                        if random.below(8) == 0 {
                            let value = service.withLock { service in
                                service[key] += 1
                                return service[key]
                            }
                            cache.remove(key)
                            written.withLock { $0[key] = max($0[key], value) }
                        } else {
                            let least = written.withLock { $0[key] }
                            let value = try await cache.value(for: key) {
                                loads.withLock { $0 += 1 }
                                let value = service.withLock { $0[key] }
                                await Task {}.value
                                return value
                            }
                            #expect(value >= least)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(loads.value < 1000)
        for key in 0..<2 {
            let now = service.withLock { $0[key] }
            #expect(try await cache.value(for: key) { now } == now)
        }
        #expect(
            cache.status.count == 2 && cache.status.loads == SingleFlightStatus(flights: 0, waiting: 0, abandoned: 0))
    }
}
