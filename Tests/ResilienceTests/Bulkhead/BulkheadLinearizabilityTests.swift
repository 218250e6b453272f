import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

extension Linearizability {
    @Suite(.heavy) struct BulkheadLinearizabilityTests {
        private enum Input: Sendable {
            /// One thread has one call; this is the call's next step.
            case enter(thread: Int)
            case exit(thread: Int)
            case inUse
            case queued
            case setLimit(Int)
        }

        /// The calls of odd threads have a higher priority.
        private static func priority(ofThread thread: Int) -> CallPriority { thread % 2 == 1 ? .high : .normal }

        private enum Answer: Equatable, Sendable {
            case proceed
            case queued(ticket: UInt64)
            case rejected(BulkheadFull.Reason?)
            case left
            case limitSet
            case count(Int)
        }

        private struct Model: SequentialModel {
            var machine: Dumped<BulkheadStateMachine>
            var tickets: [Int: UInt64] = [:]

            init(limit: Int, queue: Int, order: Bulkhead.Order = .firstInFirstOut) {
                machine = Dumped(BulkheadStateMachine(limit: limit, queueLimit: queue, order: order))
            }

            mutating func apply(_ input: Input) -> Answer {
                switch input {
                case .enter(let thread):
                    // The call asks again: it got a permit, lost its place, or gives up.
                    if let ticket = tickets.removeValue(forKey: thread) {
                        if machine.value.leaveQueue(ticket) { return .rejected(.waitedTooLong) }
                        return machine.value.learnsOfRemoval(ticket).map { .rejected($0) } ?? .proceed
                    }
                    switch machine.value.arrive(priority: priority(ofThread: thread)) {
                    case .enter: return .proceed
                    case .queue(let ticket, _):
                        tickets[thread] = ticket
                        return .queued(ticket: ticket)
                    case .reject: return .rejected(.full)
                    case .tooLate: return .rejected(.turnTooLate)
                    }
                case .exit(let thread):
                    if let ticket = tickets.removeValue(forKey: thread) {
                        if machine.value.leaveQueue(ticket) { return .left }
                        if machine.value.learnsOfRemoval(ticket) != nil { return .left }
                    }
                    _ = machine.value.leave()
                    return .left
                case .setLimit(let limit):
                    _ = machine.value.setLimit(limit)
                    return .limitSet
                case .inUse: return .count(machine.value.inUse)
                case .queued: return .count(machine.value.queued)
                }
            }
        }

        @Test(
            "taking and returning permits by hand on many threads, while the limit changes, has one consistent order",
            arguments: [1, 2])
        func byHand(limit: Int) async {
            await expectLinearizable(Model(limit: limit, queue: 0), seed: UInt64(limit)) {
                Bulkhead(limit: limit)
            } play: { bulkhead, thread, random, history in
                var permit: PolicyPermit?
                func complete() {
                    history.record(.exit(thread: thread), onThread: thread) {
                        permit.take()?.complete(.success)
                        return .left
                    }
                }
                for _ in 0..<stepsEach {
                    switch random.below(8) {
                    case 0..<2:
                        history.record(.inUse, onThread: thread) { .count(bulkhead.inUse) }
                    case 2 where thread == 0:
                        let limit = 1 + Int(random.below(2))
                        history.record(.setLimit(limit), onThread: thread) {
                            bulkhead.setLimit(limit)
                            return .limitSet
                        }
                    case _ where permit != nil:
                        complete()
                    default:
                        history.record(.enter(thread: thread), onThread: thread) {
                            do {
                                permit = try bulkhead.tryAcquire()
                                return .proceed
                            } catch {
                                return .rejected((error as? BulkheadFull)?.reason)
                            }
                        }
                    }
                }
                if permit != nil { complete() }
            }
        }

        private struct Queued: Sendable {
            let bulkhead: Bulkhead
            /// The waiters of the calls that got a permit in the queue, or lost their place.
            let woken = Box<[PolicyWaiter]>([])
        }

        @Test(
            "calls that queue, get a permit, lose a place or give up have one consistent order; no call sleeps forever",
            arguments: [Bulkhead.Order.firstInFirstOut, .lastInFirstOut, .byPriority])
        func parked(order: Bulkhead.Order) async {
            let clock = ManualClock()
            await expectLinearizable(Model(limit: 1, queue: 2, order: order), threads: 4) {
                Queued(bulkhead: Bulkhead(limit: 1, queue: 2, order: order))
            } play: { subject, thread, random, history in
                let bulkhead = subject.bulkhead
                let core = PipelineCore.bare(on: bulkhead.timeBase)
                var slot = PolicySlot()
                var parked: PolicyWaiter?
                var isInside = false
                @discardableResult func enter() -> Answer {
                    history.record(.enter(thread: thread), onThread: thread) {
                        var call = PolicyCall(core, RunOptions(priority: Self.priority(ofThread: thread)))
                        switch bulkhead.enter(&call, &slot) {
                        case .proceed:
                            isInside = true
                            return .proceed
                        case .reject(let error):
                            isInside = false
                            return .rejected((error as? BulkheadFull)?.reason)
                        case .park(let waiter, _):
                            (isInside, parked) = (true, waiter)
                            return .queued(ticket: slot.second)
                        case .sleep, .fail, .cancel:
                            return .left
                        }
                    }
                }
                func exit() {
                    history.record(.exit(thread: thread), onThread: thread) {
                        var call = PolicyCall(core)
                        _ = bulkhead.exit(&call, &slot, .success)
                        return .left
                    }
                    (isInside, parked) = (false, nil)
                }
                for _ in 0..<stepsEach {
                    switch random.below(7) {
                    case 6 where thread == 0:
                        let limit = 1 + Int(random.below(2))
                        history.record(.setLimit(limit), onThread: thread) {
                            bulkhead.setLimit(limit)
                            return .limitSet
                        }
                    case 0: history.record(.inUse, onThread: thread) { .count(bulkhead.inUse) }
                    case 1: history.record(.queued, onThread: thread) { .count(bulkhead.queued) }
                    case 2..<4 where parked != nil:
                        let waiter = parked.take()!
                        let answer = enter()
                        if isInside || answer == .rejected(.displaced) { subject.woken.value.append(waiter) }
                    case _ where isInside: exit()
                    default: enter()
                    }
                }
                if isInside { exit() }
            } afterwards: { subject, _ in
                #expect(subject.bulkhead.inUse == 0 && subject.bulkhead.queued == 0)
                for waiter in subject.woken.value {
                    #expect(await waiter.wait(until: .distantPast, on: clock) == .resumed)
                }
            }
        }
    }
}
