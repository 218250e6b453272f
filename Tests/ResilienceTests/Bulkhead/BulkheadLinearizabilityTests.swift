import ResilienceTesting
import Testing

@testable import Resilience

extension Linearizability {
    @Suite struct BulkheadLinearizabilityTests {
        private enum Input: Sendable {
            /// One thread has one call; this is its next step.
            case enter(thread: Int)
            case exit(thread: Int)
            case inUse
            case queued
        }

        private enum Answer: Equatable, Sendable {
            case proceed
            case queued(ticket: UInt64)
            case refused(BulkheadFull.Reason?)
            case left
            case count(Int)
        }

        private struct Model: SequentialModel {
            var machine: Dumped<BulkheadStateMachine>
            var tickets: [Int: UInt64] = [:]

            init(limit: Int, queue: Int) { machine = Dumped(BulkheadStateMachine(limit: limit, queueLimit: queue)) }

            mutating func apply(_ input: Input) -> Answer {
                switch input {
                case .enter(let thread):
                    // Asked again: it was handed a permit, or gives up.
                    if let ticket = tickets.removeValue(forKey: thread) {
                        return machine.value.leaveQueue(ticket) ? .refused(.waitedTooLong) : .proceed
                    }
                    switch machine.value.arrive() {
                    case .enter: return .proceed
                    case .queue(let ticket):
                        tickets[thread] = ticket
                        return .queued(ticket: ticket)
                    case .refuse: return .refused(.full)
                    }
                case .exit(let thread):
                    if let ticket = tickets.removeValue(forKey: thread), machine.value.leaveQueue(ticket) {
                        return .left
                    }
                    _ = machine.value.leave()
                    return .left
                case .inUse: return .count(machine.value.inUse)
                case .queued: return .count(machine.value.queued)
                }
            }
        }

        @Test(
            "permits taken and given back by hand on many threads are taken and given back in one order",
            arguments: [1, 2])
        func byHand(limit: Int) async {
            await expectLinearizable(Model(limit: limit, queue: 0), seed: UInt64(limit)) {
                Bulkhead(limit: limit)
            } play: { bulkhead, thread, random, history in
                var permit: Permit?
                func complete() {
                    history.record(.exit(thread: thread), onThread: thread) {
                        permit.take()?.complete(.success)
                        return .left
                    }
                }
                for _ in 0..<stepsEach {
                    letOthersRun(&random)
                    switch random.below(4) {
                    case 0:
                        history.record(.inUse, onThread: thread) { .count(bulkhead.inUse) }
                    case _ where permit != nil:
                        complete()
                    default:
                        history.record(.enter(thread: thread), onThread: thread) {
                            do {
                                permit = try bulkhead.acquire()
                                return .proceed
                            } catch {
                                return .refused((error as? BulkheadFull)?.reason)
                            }
                        }
                    }
                }
                if permit != nil { complete() }
            }
        }

        private struct Queued: Sendable {
            let bulkhead: Bulkhead
            /// The waiters of the calls that were handed a permit in the queue.
            let handedOver = Box<[Waiter]>([])
        }

        @Test(
            "calls that queue, are handed a permit or give up, all at once, do so in one order, and nobody is left asleep"
        )
        func parked() async {
            let clock = ManualClock()
            await expectLinearizable(Model(limit: 1, queue: 2), threads: 4) {
                Queued(bulkhead: Bulkhead(limit: 1, queue: 2))
            } play: { subject, thread, random, history in
                let bulkhead = subject.bulkhead
                let core = PipelineCore.bare(on: bulkhead.timeBase)
                var slot = Slot()
                var parked: Waiter?
                var isInside = false
                func enter() {
                    history.record(.enter(thread: thread), onThread: thread) {
                        var call = Call(core)
                        switch bulkhead.enter(&call, &slot) {
                        case .proceed:
                            isInside = true
                            return .proceed
                        case .refuse(let error):
                            isInside = false
                            return .refused((error as? BulkheadFull)?.reason)
                        case .park(let waiter, _):
                            (isInside, parked) = (true, waiter)
                            return .queued(ticket: slot.second)
                        case .sleep:
                            return .left
                        }
                    }
                }
                func exit() {
                    history.record(.exit(thread: thread), onThread: thread) {
                        var call = Call(core)
                        _ = bulkhead.exit(&call, &slot, .success)
                        return .left
                    }
                    (isInside, parked) = (false, nil)
                }
                for _ in 0..<stepsEach {
                    letOthersRun(&random)
                    switch random.below(6) {
                    case 0: history.record(.inUse, onThread: thread) { .count(bulkhead.inUse) }
                    case 1: history.record(.queued, onThread: thread) { .count(bulkhead.queued) }
                    case 2..<4 where parked != nil:
                        let waiter = parked.take()!
                        enter()
                        if isInside { subject.handedOver.value.append(waiter) }
                    case _ where isInside: exit()
                    default: enter()
                    }
                }
                if isInside { exit() }
            } afterwards: { subject, _ in
                #expect(subject.bulkhead.inUse == 0 && subject.bulkhead.queued == 0)
                for waiter in subject.handedOver.value {
                    #expect(await waiter.wait(until: .distantPast, on: clock) == .resumed)
                }
            }
        }
    }
}
