import Resilience
import ResilienceTesting
import Testing

@Suite struct RegistryRoomTests {
    private let clock = ManualClock()

    @Test("a registry whose keys are all in use has no room for another key")
    func full() throws {
        let throttles = ThrottleRegistry<Int>(capacity: 10, timeBase: clock) { [clock] _ in
            Throttle(limit: .perMinute(1), timeBase: clock)
        }
        for key in 0..<100 {
            let throttle = throttles.valueIfRoom(for: key)
            #expect((throttle != nil) == (key < 10))
            try throttle?.tryAcquire().complete(.success)
        }
        #expect(throttles.count == 10 && throttles.valueIfRoom(for: 3) === throttles[3])
    }

    @Test("idle keys are evicted to make room")
    func idle() throws {
        let throttles = ThrottleRegistry<Int>(capacity: 10, timeBase: clock) { [clock] _ in
            Throttle(limit: .perMinute(1), timeBase: clock)
        }
        for key in 0..<10 { try throttles.valueIfRoom(for: key)?.tryAcquire().complete(.success) }
        #expect(throttles.valueIfRoom(for: 10) == nil)
        clock.advance(by: .seconds(60))
        // The eviction hand passes each key once before the key may be evicted.
        let admitted = (10..<20).count { throttles.valueIfRoom(for: $0) != nil }
        #expect(admitted >= 8 && throttles.count <= 10)
    }
}
