import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

extension Linearizability {
    @Suite(.heavy) struct EndpointPoolLinearizabilityTests {
        private enum Input: Sendable {
            /// Each thread has one call; a new call has tried nothing.
            case pick(thread: Int, isNew: Bool, at: Int)
            case complete(thread: Int, Verdict, at: Int)
            case update([String], at: Int)
            case eject(String, at: Int)
            case restore(String, at: Int)
            case reset(at: Int)
            case status(at: Int)
        }

        private enum Answer: Equatable, Sendable {
            case endpoint(String)
            case noEndpoint
            case status(EndpointPoolStatus)
            case done
        }

        private static let lists = [["a", "b", "c"], ["a", "b", "c", "d"], ["d", "b"], ["c"], []]
        private static let seed: UInt64 = 7

        private static func makePool(_ choice: EndpointChoice) -> EndpointPool<String> {
            EndpointPool(
                "pool", lists[0], choosing: choice,
                ejecting: OutlierEjection(
                    afterConsecutive: 2, deviation: .init(minimumEndpoints: 2, minimumCalls: 2),
                    failureShare: .init(0.5, minimumEndpoints: 1, minimumCalls: 2), interval: .seconds(40),
                    for: .seconds(30), upTo: .seconds(90), maxEjected: 0.7),
                slowStart: SlowStart(over: .seconds(20)), generator: SplitMix64(seed: seed), timeBase: ToldTime())
        }

        private struct Model: SequentialModel {
            var machine: Dumped<EndpointPoolStateMachine>
            var generator = Dumped(SeededGenerator(seed: EndpointPoolLinearizabilityTests.seed))
            var endpoints: [String] = []
            var tried: [Int: TriedEndpoints] = [:]
            var picks: [Int: EndpointPick] = [:]

            init(_ choice: EndpointChoice) {
                machine = Dumped(EndpointPoolStateMachine(makePool(choice).settings, at: .second(0)))
                update(to: lists[0], at: .second(0))
            }

            mutating func update(to list: [String], at now: MonotonicInstant) {
                advance(to: now)
                let ids = Dictionary(zip(endpoints, machine.value.members.map(\.id))) { first, _ in first }
                _ = machine.value.update(
                    to: list.map { (id: ids[$0], weight: 1) }, at: now, using: &generator.value)
                endpoints = list
            }

            mutating func advance(to now: MonotonicInstant) {
                _ = machine.value.advance(to: now, using: &generator.value)
            }

            private func id(of endpoint: String) -> Int? {
                endpoints.firstIndex(of: endpoint).map { machine.value.members[$0].id }
            }

            mutating func apply(_ input: Input) -> Answer {
                switch input {
                case .pick(let thread, let isNew, let now):
                    if isNew { tried[thread] = nil }
                    let (pick, _) = machine.value.choose(
                        &tried[thread, default: TriedEndpoints()], at: .second(Int64(now)), using: &generator.value)
                    picks[thread] = pick
                    return pick.map { .endpoint(endpoints[$0.place]) } ?? .noEndpoint
                case .complete(let thread, let verdict, let now):
                    guard let pick = picks.removeValue(forKey: thread) else { return .done }
                    switch machine.value.settings.evidence(of: verdict) {
                    case .healthy: machine.value.succeeded(pick)
                    case .nothing: machine.value.left(pick)
                    case .failing:
                        _ = machine.value.failed(pick, at: .second(Int64(now)), using: &generator.value)
                    }
                case .update(let list, let now): update(to: list, at: .second(Int64(now)))
                case .eject(let endpoint, let now):
                    guard let id = id(of: endpoint) else { return .done }
                    advance(to: .second(Int64(now)))
                    _ = machine.value.eject(id, until: .second(Int64(now) + 10), at: .second(Int64(now)))
                case .restore(let endpoint, let now):
                    guard let id = id(of: endpoint) else { return .done }
                    advance(to: .second(Int64(now)))
                    _ = machine.value.restore(id, at: .second(Int64(now)))
                case .reset(let now):
                    advance(to: .second(Int64(now)))
                    _ = machine.value.reset(at: .second(Int64(now)))
                case .status(let now): return .status(status(at: .second(Int64(now))))
                }
                return .done
            }

            private func status(at now: MonotonicInstant) -> EndpointPoolStatus {
                let then = machine.value.advanced(to: now)
                return EndpointPoolStatus(
                    endpoints: zip(endpoints, then.members).enumerated().map { place, known in
                        let (endpoint, member) = known
                        return EndpointStatus(
                            endpoint: endpoint, isUsed: then.usable.contains(place),
                            isEjected: member.ejectedUntil != nil,
                            timeRemaining: member.ejectedUntil.map { now.duration(to: $0) },
                            ejections: member.ejections, weight: then.weight(of: place, at: now),
                            inFlight: member.inFlight, calls: member.total.calls, failures: member.total.failures)
                    }, isPanicking: then.isPanicking)
            }
        }

        @Test(
            "concurrent choices, ends, list changes, ejections and restores take effect in one order",
            arguments: EndpointChoice.allCases)
        func linearizable(choice: EndpointChoice) async {
            let verdicts: [Verdict] = [.success, .transient, .transient, .transient, .permanent, .cancelled]
            await expectLinearizable(Model(choice), histories: 10) {
                Self.makePool(choice)
            } play: { pool, thread, random, history in
                var permit: EndpointPermit<String>?
                var tried = TriedEndpoints()
                func complete(_ verdict: Verdict, at now: Int) {
                    history.record(.complete(thread: thread, verdict, at: now), onThread: thread) {
                        permit.take()?.complete(verdict)
                        return .done
                    }
                }
                for step in 0..<stepsEach {
                    let now = 3 * step + random.below(10)
                    ToldTime.$seconds.withValue(now) {
                        switch random.below(24) {
                        case 0:
                            let list = random.pick(Self.lists)
                            history.record(.update(list, at: now), onThread: thread) {
                                pool.update(list)
                                return .done
                            }
                        case 1:
                            let endpoint = random.pick(Self.lists[1])
                            history.record(.eject(endpoint, at: now), onThread: thread) {
                                pool.eject(endpoint, for: .seconds(10))
                                return .done
                            }
                        case 2:
                            let endpoint = random.pick(Self.lists[1])
                            history.record(.restore(endpoint, at: now), onThread: thread) {
                                pool.restore(endpoint)
                                return .done
                            }
                        case 3:
                            history.record(.reset(at: now), onThread: thread) {
                                pool.reset()
                                return .done
                            }
                        case 4..<8: history.record(.status(at: now), onThread: thread) { .status(pool.status) }
                        case _ where permit != nil: complete(random.pick(verdicts), at: now)
                        default:
                            let isNew = random.below(2) == 0
                            history.record(.pick(thread: thread, isNew: isNew, at: now), onThread: thread) {
                                if isNew { tried = TriedEndpoints() }
                                do {
                                    let given = try pool.pick(after: &tried)
                                    let endpoint = given.endpoint
                                    permit = consume given
                                    return .endpoint(endpoint)
                                } catch {
                                    return .noEndpoint
                                }
                            }
                        }
                    }
                }
                if permit != nil { complete(.cancelled, at: ToldTime.seconds) }
            }
        }
    }
}
