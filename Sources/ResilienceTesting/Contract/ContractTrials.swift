import Resilience

/// One test of calls on a policy.
struct ContractTrial<Subject: Sendable>: Sendable {
    let name: String
    var isByHand = false
    /// Chooses the order of steps; nil takes them in order.
    var seed: UInt64?
    let body: @Sendable (ContractStage<Subject>) async -> Void
}

extension PolicyContract {
    static func trials(seed: UInt64) -> [ContractTrial<Subject>] {
        endings + cancellations + interruptions + surroundings + forecasts + byHand
            + (0..<20).map { round in
                ContractTrial(name: "200 calls, step by step", seed: seed &+ round) {
                    await $0.crowd(calls: 200, seed: seed &+ round)
                }
            }
    }

    // MARK: How an operation ends

    private static var endings: [ContractTrial<Subject>] {
        [
            ContractTrial(name: "a call that succeeds") { stage in
                let end = await stage.call()
                stage.require(!end.failed, "it fails")
                stage.require(stage.tally.operations == 1, "the operation runs \(stage.tally.operations) times")
            },
            ContractTrial(name: "a call that succeeds after a while") { stage in
                let end = await stage.call { _ in await stage.sleep(.milliseconds(1)) }
                stage.require(!end.failed, "it fails")
            },
            ContractTrial(name: "calls that throw") { stage in
                for verdict in everyFailure { _ = await stage.call { _ in throw Failure(verdict: verdict) } }
            },
            ContractTrial(name: "calls that throw after a while") { stage in
                for verdict in everyFailure {
                    _ = await stage.call { _ in
                        await stage.sleep(.milliseconds(1))
                        throw Failure(verdict: verdict)
                    }
                }
            },
            ContractTrial(name: "calls that return failure") { stage in
                for verdict in everyFailure { _ = await stage.call(returning: verdict) }
            },
            ContractTrial(name: "a call that fails, then succeeds, on and on") { stage in
                for round in 0..<50 {
                    _ = await stage.call { _ in if round.isMultiple(of: 3) { throw Failure(verdict: .transient) } }
                    await stage.sleep(.seconds(round))
                }
            },
        ]
    }

    static var everyFailure: [Verdict] {
        [
            .transient, .throttled, .throttled(retryAfter: .seconds(2)), .throttled(retryAfter: .seconds(-1)),
            .throttled(retryAfter: .seconds(Int64.max)), .uncertain, .permanent, .rejected, .cancelled,
        ]
    }

    // MARK: Cancellation

    private static var cancellations: [ContractTrial<Subject>] {
        [
            ContractTrial(name: "cancelled before the call") { stage in
                await stage.inTask { task in
                    task.cancel()
                    _ = await stage.call()
                }
            },
            ContractTrial(name: "cancelled in the operation") { stage in
                for returns in [true, false] {
                    await stage.inTask { task in
                        let end = await stage.call { _ in
                            task.cancel()
                            stage.require(Task.isCancelled, "the operation does not see its caller's cancellation")
                            if !returns { throw CancellationError() }
                        }
                        stage.require(end.failed != returns, "a result is thrown away")
                    }
                }
            },
            ContractTrial(name: "cancelled while the operation waits") { stage in
                await stage.inTask { task in
                    _ = await stage.call { _ in
                        task.cancel(after: .milliseconds(1))
                        let wake = await PolicyWaiter().wait(until: stage.clock.now + .seconds(1), on: stage.clock)
                        stage.require(wake == .cancelled, "the operation does not see its caller's cancellation")
                        throw CancellationError()
                    }
                }
            },
            ContractTrial(name: "cancelled after the call") { stage in
                await stage.inTask { task in
                    _ = await stage.call()
                    task.cancel()
                }
                _ = await stage.call()
            },
            ContractTrial(name: "cancelled in the policy's own wait") { stage in
                let gate = Gate()
                let calls = (0..<50).map { _ in
                    Caller(on: stage.clock) { begun in
                        await stage.call { _ in
                            begun.set()
                            await gate.pass()
                        }
                    }
                }
                await stage.clock.runUntilIdle()
                let waiting = calls.filter { !$0.hasBegun }
                for call in waiting { call.cancel() }
                for call in waiting {
                    let end = await call.end()
                    stage.require(end.failed, "a call cancelled in its wait returns")
                    stage.require(!call.hasBegun, "a call cancelled in its wait runs its operation")
                }
                gate.open()
                for call in calls { _ = await call.end() }
            },
            ContractTrial(name: "all cancelled, those inside and those that wait") { stage in
                let gate = Gate()
                let calls = (0..<50).map { _ in
                    Caller(on: stage.clock) { _ in await stage.call { _ in await gate.pass() } }
                }
                await stage.clock.runUntilIdle()
                for call in calls { call.cancel() }
                for call in calls { _ = await call.end() }
            },
            ContractTrial(name: "cancelled between two attempts") { stage in
                for verdict in everyFailure {
                    await stage.inTask { task in
                        _ = await stage.call { _ in
                            task.cancel(after: .nanoseconds(1))
                            throw Failure(verdict: verdict)
                        }
                    }
                }
            },
        ]
    }

    // MARK: Outer and inner policies

    private static var surroundings: [ContractTrial<Subject>] {
        [
            ContractTrial(name: "a deadline") { stage in
                let pipeline = Pipeline(timeBase: stage.clock) {
                    DeadlineOnly(.seconds(1))
                    stage.pipeline
                }
                let gate = Gate()
                let deadline = stage.clock.now + .seconds(1)
                let held = (0..<50).map { _ in
                    Caller(on: stage.clock) { begun in
                        await stage.call(through: pipeline) { attempt in
                            stage.require(
                                attempt.deadline <= deadline, "the operation's deadline is later than its caller's")
                            begun.set()
                            await gate.pass()
                        }
                    }
                }
                await stage.sleep(.seconds(1))
                await stage.clock.runUntilIdle()
                stage.require(held.allSatisfy { $0.hasBegun || $0.hasEnded }, "a call waits past its deadline")
                gate.open()
                for call in held { _ = await call.end() }
                for verdict in everyFailure {
                    let start = stage.clock.now
                    _ = await stage.call(through: pipeline) { _ in throw Failure(verdict: verdict) }
                    stage.require(
                        stage.clock.now <= start + .seconds(1), "after \(verdict) a call waits past its deadline")
                }
            },
            ContractTrial(name: "calls within a call") { stage in
                let end = await stage.call { _ in
                    _ = await stage.call { _ in _ = await stage.call() }
                }
                stage.require(!end.failed, "the outer call fails")
            },
            ContractTrial(name: "an observer that looks and asks") { stage in
                let calling = Locked(false)
                stage.pipeline.observers.add { _ in
                    stage.look()
                    let isFirst = calling.withLock { calling in
                        defer { calling = true }
                        return !calling
                    }
                    guard isFirst else { return }
                    _ = try? stage.acquire?(stage.subject)
                    calling.withLock { $0 = false }
                }
                await stage.crowd(calls: 50, seed: 1)
            },
            ContractTrial(name: "a policy around it that goes round") { stage in
                for failures in 0...3 {
                    var attempts = 0
                    let pipeline = stage.pipeline(outside: [Rounds(3)])
                    _ = await stage.call(through: pipeline) { _ in
                        attempts += 1
                        if attempts <= failures { throw Failure(verdict: .transient) }
                    }
                    stage.requireEmpty()
                }
            },
            ContractTrial(name: "a rejection further in") { stage in
                for _ in 0..<10 {
                    _ = await stage.call(through: stage.pipeline(inside: [Rejecting()]))
                }
                let end = await stage.call()
                stage.require(!end.failed, "after rejections further in, it lets no call through")
            },
            ContractTrial(name: "a rejection further out") { stage in
                _ = await stage.call(through: stage.pipeline(outside: [Rejecting()]))
            },
            ContractTrial(name: "cancelled while a policy further in waits") { stage in
                await stage.inTask { task in
                    let pipeline = stage.pipeline(inside: [Sleeping(.seconds(10))])
                    task.cancel(after: .seconds(1))
                    let end = await stage.call(through: pipeline)
                    stage.require(end.failed, "a call cancelled further in returns")
                }
            },
            ContractTrial(name: "an actor calls") { stage in
                let actor = ContractActor(stage.clock)
                await actor.call(stage)
                stage.require(!actor.wasLeft, "the operation does not run on its caller's actor")
            },
            ContractTrial(name: "a task-local value") { stage in
                await ContractMark.$value.withValue(1) {
                    _ = await stage.call { _ in
                        stage.require(
                            ContractMark.value == 1, "the operation does not see its caller's task-local values")
                    }
                }
            },
        ]
    }

    // MARK: Without a pipeline

    private static var byHand: [ContractTrial<Subject>] {
        [
            ContractTrial(name: "permits by hand", isByHand: true) { stage in
                guard let acquire = stage.acquire else { return }
                for verdict in [.success] + everyFailure {
                    stage.clock.advance(by: .seconds(600))
                    if let permit = try? acquire(stage.subject) { permit.complete(verdict) }
                    stage.requireEmpty()
                }
            },
            ContractTrial(name: "permits by hand, as many as there are, dropped", isByHand: true) { stage in
                guard let acquire = stage.acquire else { return }
                do {
                    var permits: [PermitBox] = []
                    while permits.count < 100, let permit = try? acquire(stage.subject) { permits.append(permit) }
                    stage.require(!permits.isEmpty, "it gives out none")
                }
                stage.requireEmpty()
            },
        ]
    }
}
