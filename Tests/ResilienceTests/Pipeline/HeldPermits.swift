import Resilience

/// Permits that are held for a while, and reported in the order of acquisition.
final class HeldPermits {
    private final class Box {
        private var permit: PolicyPermit?

        init(_ permit: consuming PolicyPermit) { self.permit = consume permit }

        func complete(_ verdict: Verdict) {
            let permit = permit.take()
            permit?.complete(verdict)
        }
    }

    private var boxes: [Box] = []

    var isEmpty: Bool { boxes.isEmpty }

    func add(_ permit: consuming PolicyPermit) { boxes.append(Box(permit)) }

    func reverse() { boxes.reverse() }

    func completeFirst(_ verdict: Verdict) { if !boxes.isEmpty { boxes.removeFirst().complete(verdict) } }

    func completeAll(_ verdict: Verdict = .success) { while !isEmpty { completeFirst(verdict) } }
}
