import Dispatch
import Resilience
import Testing

@Suite struct LazyObserversTests {
    @Test("whoever asks for a breaker's observers at the same moment gets the same ones, which end with the breaker")
    func race() {
        for _ in 0..<200 {
            weak var left: PolicyObservers?
            do {
                let breaker = CircuitBreaker()
                let found = Locked<Set<ObjectIdentifier>>([])
                DispatchQueue.concurrentPerform(iterations: 4) { _ in
                    let observers = breaker.observers
                    found.withLock { _ = $0.insert(ObjectIdentifier(observers)) }
                }
                left = breaker.observers
                #expect(found.withLock { $0.count } == 1 && left != nil)
            }
            #expect(left == nil)
        }
    }

    @Test("observers that a breaker is made with are its own, and are told")
    func given() throws {
        let kinds = Locked<[String]>([])
        let observers = PolicyObservers()
        observers.add { event in kinds.withLock { $0.append(event.detail.kind) } }
        let breaker = CircuitBreaker(observers: observers)
        #expect(breaker.observers === observers)
        try breaker.acquire().complete(.success)
        #expect(kinds.withLock { $0 } == ["allowed"])
    }
}
