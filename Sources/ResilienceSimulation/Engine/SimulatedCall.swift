import Resilience

/// One call, or one copy of a call, in the simulation.
///
/// Unchecked, because it is used on the simulation's thread only: a waiter, which may be resumed on any thread, only
/// puts it into the time base's list.
final class SimulatedCall: @unchecked Sendable {
    private let simulation: Simulation
    /// Its steps run policies, which never call this object: checks of each access would find nothing.
    @exclusivity(unchecked) private var stepped: SteppedCall
    private var operation: (SimulatedAttempt) -> Void
    private var completion: Completion
    private var began: MonotonicInstant
    /// Counts on when the object is used again, so that a late end of an earlier call does nothing.
    private var attempts = 0
    /// How often the operation has begun, in copies too.
    fileprivate(set) var begun = 0
    private var begunBefore = 0
    private var isRunning = false
    /// Ends the attempt, or the wait.
    private var limit: Simulation.Event?
    private var waiter: PolicyWaiter?
    private var cancelled: (() -> Void)?

    enum Completion {
        /// The object can then be used again for another call through this pipeline.
        case call((SimulatedEnd) -> Void, Pool)
        case copy((SimulatedCall, Verdict, (any Error)?) -> Void)
        case ended
    }

    /// Ended calls, for further use: most of a call's cost is memory.
    final class Pool {
        /// No access runs other code, so checks would find nothing.
        @exclusivity(unchecked) fileprivate var calls: [SimulatedCall] = []

        func call(
            _ pipeline: SimulatedPipeline, _ options: RunOptions, _ operation: @escaping (SimulatedAttempt) -> Void,
            _ completion: @escaping (SimulatedEnd) -> Void
        ) -> SimulatedCall {
            guard let call = calls.popLast() else {
                return SimulatedCall(
                    SteppedCall(pipeline.pipeline, options), in: pipeline.simulation, operation, .call(completion, self)
                )
            }
            call.reset(options, operation, .call(completion, self))
            return call
        }
    }

    init(
        _ stepped: consuming SteppedCall, in simulation: Simulation,
        _ operation: @escaping (SimulatedAttempt) -> Void, _ completion: Completion
    ) {
        self.stepped = stepped
        self.simulation = simulation
        (self.operation, self.completion) = (operation, completion)
        began = simulation.now
    }

    deinit {
        waiter?.tell(WaitWatcher { _ in })
        stepped.endNotes()
    }

    private func reset(
        _ options: RunOptions, _ operation: @escaping (SimulatedAttempt) -> Void, _ completion: Completion
    ) {
        stepped.reset(options)
        (self.operation, self.completion) = (operation, completion)
        began = simulation.now
        begunBefore = begun
    }

    func begin() { follow(stepped.begin()) }

    private func follow(_ step: consuming SteppedCall.Step) {
        switch consume step {
        case .operation(let attempt, let limit):
            attempts += 1
            isRunning = true
            let end = min(limit, attempt.deadline)
            if end != .distantFuture { setLimit(at: end) }
            if let copies = stepped.race() {
                return SimulatedCopies(copies, of: self, attempts, operation, in: simulation).goOn()
            }
            begun += 1
            operation(SimulatedAttempt(attempt: attempt, call: self, number: attempts))
        case .wait(let waiter, let end):
            self.waiter = waiter
            // This event holds the call, also if its instant never comes: the waiter's policy must not. Unowned is
            // safe: the end of the call takes the watcher back, and no other thread uses the policies while it does.
            setLimit(at: end)
            let timeBase = simulation.timeBase
            waiter.tell(WaitWatcher { [unowned self] in timeBase.woke(self, $0) })
        case .ended(let verdict, let error):
            var completion = Completion.ended
            swap(&completion, &self.completion)
            operation = { _ in }
            switch completion {
            case .call(let completion, let pool):
                let end = SimulatedEnd(
                    verdict: verdict, error: error, attempts: begun - begunBefore,
                    latency: began.duration(to: simulation.now))
                pool.calls.append(self)
                simulation.complete(completion, with: end)
            case .copy(let completion): completion(self, verdict, error)
            case .ended: break
            }
        }
    }

    private func setLimit(at instant: MonotonicInstant) {
        limit = simulation.at(instant) { [self] in
            limit = nil
            if isRunning { cancelAttempt() } else { waiter?.end(.expired) }
        }
    }

    private func clearLimit() { if let limit = limit.take() { simulation.cancel(limit) } }

    // MARK: Waits

    func goOn(after wake: PolicyWaiter.Wake) {
        waiter = nil
        clearLimit()
        follow(stepped.waitEnded(wake))
    }

    // MARK: Attempts

    func isRunning(_ number: Int) -> Bool { isRunning && number == attempts }

    func onCancel(_ action: @escaping () -> Void, _ number: Int) { if isRunning(number) { cancelled = action } }

    /// Ends the call early: its attempt is cancelled, or its wait.
    func cancel() {
        stepped.cancel()
        if isRunning { cancelAttempt() } else { waiter?.end(.cancelled) }
    }

    private func cancelAttempt() {
        // The action may end the attempt.
        let number = attempts
        let cancelled = cancelled.take()
        if stepped.hasHedge {
            // The copies end the attempt.
            clearLimit()
            cancelled?()
        } else {
            cancelled?()
            threw(CancellationError(), number)
        }
    }

    func returned(_ verdict: Verdict, _ number: Int) {
        guard attemptEnds(number) else { return }
        simulation.prepare { follow(stepped.returned(verdict)) }
    }

    func threw(_ error: any Error, _ number: Int) {
        guard attemptEnds(number) else { return }
        simulation.prepare { follow(stepped.threw(error)) }
    }

    /// The copies of the attempt have ended.
    func ended(_ copies: SteppedCopies, _ number: Int, isCancelled: Bool) {
        guard attemptEnds(number) else { return }
        follow(copies.end(&stepped, isCancelled: isCancelled))
    }

    func next(of copies: SteppedCopies, isCancelled: Bool) -> SteppedRaceStep {
        copies.next(&stepped, isCancelled: isCancelled)
    }

    /// This copy has ended.
    func ended(in copies: SteppedCopies, _ verdict: Verdict, _ error: (any Error)?, hasRun: Bool) {
        copies.ended(&stepped, verdict, error, hasRun: hasRun)
    }

    private func attemptEnds(_ number: Int) -> Bool {
        guard isRunning(number) else { return false }
        isRunning = false
        cancelled = nil
        clearLimit()
        return true
    }
}

/// The copies that a hedge makes of an attempt.
final class SimulatedCopies {
    private let copies: SteppedCopies
    private let call: SimulatedCall
    private let number: Int
    private let operation: (SimulatedAttempt) -> Void
    private let simulation: Simulation
    private var running: [SimulatedCall] = []
    private var next: Simulation.Event?
    private var isCancelled = false
    private var isGoingOn = false
    private var isAgain = false

    init(
        _ copies: SteppedCopies, of call: SimulatedCall, _ number: Int,
        _ operation: @escaping (SimulatedAttempt) -> Void, in simulation: Simulation
    ) {
        (self.copies, self.call, self.number, self.simulation) = (copies, call, number, simulation)
        self.operation = operation
        call.onCancel({ [self] in cancel() }, number)
    }

    /// Follows the race until it waits. A copy may end at once, and then it calls this again.
    func goOn() {
        isAgain = true
        if isGoingOn { return }
        isGoingOn = true
        defer { isGoingOn = false }
        while isAgain {
            isAgain = false
            if let next = next.take() { simulation.cancel(next) }
            switch call.next(of: copies, isCancelled: isCancelled) {
            case .begin(let copy):
                isAgain = true
                begin(copy)
            case .wait(let instant):
                guard instant != .distantFuture else { continue }
                next = simulation.at(instant) { [self] in
                    next = nil
                    goOn()
                }
            case .end:
                for copy in running { copy.cancel() }
                guard running.isEmpty else { continue }
                return call.ended(copies, number, isCancelled: isCancelled)
            }
        }
    }

    private func begin(_ number: Int) {
        var hasRun = false
        let copy = SimulatedCall(
            copies.begin(number), in: simulation,
            { [self] attempt in
                if copies.isDecided { return attempt.fail(CopyLost(policy: "hedge")) }
                hasRun = true
                call.begun += 1
                operation(attempt)
            },
            .copy { [self] copy, verdict, error in
                running.removeAll { $0 === copy }
                copy.ended(in: copies, verdict, error, hasRun: hasRun)
                goOn()
            })
        running.append(copy)
        copy.begin()
    }

    /// The call has reached its limit, or is cancelled itself.
    private func cancel() {
        isCancelled = true
        for copy in running { copy.cancel() }
        goOn()
    }
}
