#if Redis
    import Foundation
    import Resilience
    import ResilienceFleet

    /// One process of the fleet: callers that call repeatedly, and what they see.
    struct Member: Sendable {
        private let plan: Plan
        private let base = SystemTimeBase.shared
        private let recorder: Recorder
        private let throttle: Throttle

        final class Recorder: Sendable {
            let record: Locked<Record>

            init(_ plan: Plan) { record = Locked(Record(plan)) }
        }

        /// Counts the calls to the engine.
        private struct Counted: ScriptEngine {
            let engine: RedisEngine
            let recorder: Recorder

            func run(_ script: EngineScript, keys: [String], arguments: [String]) async throws -> [Int64] {
                recorder.record.withLock { $0.asked += 1 }
                do {
                    return try await engine.run(script, keys: keys, arguments: arguments)
                } catch {
                    recorder.record.withLock { $0.failures.append(SystemTimeBase.shared.now) }
                    throw error
                }
            }
        }

        init(_ plan: Plan) {
            self.plan = plan
            let recorder = Recorder(plan)
            self.recorder = recorder
            let engine =
                switch plan.address {
                case .socket(let path): RedisEngine(unixSocket: path, timeout: plan.engineLimit)
                case .port(let port): RedisEngine(port: port, timeout: plan.engineLimit)
                }
            let observers = PolicyObservers { event in
                guard let detail = event.detail as? Fleet.Event else { return }
                let isAway = if case .away = detail { true } else { false }
                recorder.record.withLock { $0.turns.append(Record.Turn(isAway: isAway, time: event.time)) }
            }
            let fleet = Fleet(
                "trial", engine: Counted(engine: engine, recorder: recorder), leaseTime: plan.lease,
                engineLimit: plan.engineLimit, expectedMembers: plan.members, observers: observers)
            throttle = Throttle(
                "shared", limit: .perSecond(Plan.rate, burst: Plan.burst), in: fleet, whenAway: plan.fallback)
        }

        /// Calls until the end, then prints the record.
        func run() async throws {
            try await withThrowingDiscardingTaskGroup { group in
                for _ in 0..<plan.callers { group.addTask { try await callAgainAndAgain() } }
                group.addTask { try await watchTimers() }
            }
            let data = try JSONEncoder().encode(recorder.record.withLock { $0 })
            try FileHandle.standardOutput.write(contentsOf: data)
        }

        private func callAgainAndAgain() async throws {
            try await base.sleep(until: plan.begin + plan.pause * Double.random(in: 0..<1))
            while base.now < plan.end {
                let began = base.now
                let wasAdmitted: Bool
                do {
                    try await throttle.run { () async throws in
                        note(at: base.now) { $0.admitted += 1 }
                    }
                    wasAdmitted = true
                } catch is ThrottleExceeded {
                    wasAdmitted = false
                }
                let ended = base.now
                let time = began.duration(to: ended).microseconds
                recorder.record.withLock { $0.took[time / 100, default: 0] += 1 }
                note(at: ended) { slot in
                    if !wasAdmitted { slot.rejected += 1 }
                    slot.longest = max(slot.longest, time)
                }
                try await base.sleep(for: plan.pause * Double.random(in: 0.5...1.5))
            }
        }

        private func watchTimers() async throws {
            var next = plan.begin
            while next < plan.end {
                try await base.sleep(until: next)
                let now = base.now
                let late = next.duration(to: now).microseconds
                recorder.record.withLock { $0.late[late / 100, default: 0] += 1 }
                note(at: now) { $0.late = max($0.late, late) }
                next = max(next, now) + Record.slot
            }
        }

        private func note(at time: MonotonicInstant, _ body: (inout Record.Slot) -> Void) {
            recorder.record.withLock { $0.note(at: time, of: plan, body) }
        }
    }

    extension Duration {
        var microseconds: Int { Int(self / .microseconds(1)) }
    }
#endif
