/// Lets a limited number of calls run at the same time; a bounded queue holds the next ones.
///
/// ```swift
/// let bulkhead = Bulkhead(limit: 16, queue: 64, maxWait: .seconds(2))
/// ```
///
/// A freed permit goes to the first in the queue; nobody overtakes. A call whose deadline comes first, or that is
/// cancelled, leaves the queue at once. One whose turn is likely to come too late is refused instead of queued.
public final class Bulkhead: Policy {
    /// Whose turn is next. When the queue is full, the one whose turn comes last is refused, be it the newcomer or not.
    public enum Order: Sendable, Hashable {
        /// First come, first served. A full queue refuses the newcomer.
        case firstInFirstOut
        /// The newest first, for overload: its caller is the likeliest to be there still (Maurer, "Fail at Scale", ACM
        /// Queue 2015). The older ones wait longer, some until they give up. A full queue refuses the oldest.
        case lastInFirstOut
        /// By ``RunOptions/priority``, first come, first served within one. A full queue refuses the youngest of the
        /// least important, if it is less important than the newcomer. As long as more important calls keep coming, the
        /// less important get no turn: nothing here raises them for having waited.
        case byPriority
    }

    public let name: String
    public var timeBase: (any TimeBase)? { base }
    /// Who is told what this bulkhead does, whichever pipeline it is in.
    public let observers: PolicyObservers
    public let order: Order

    struct State {
        /// Knows all permits only inside of ``ask(_:)``.
        var machine: BulkheadStateMachine
        /// What it was made with, or given by a registry since.
        var made: (limit: Int, queue: Int)
        /// The parked calls' waiters, by their tickets.
        var waiters: [UInt64: PolicyWaiter] = [:]

        var hasLimitsAsMade: Bool { (machine.limit, machine.queueLimit) == made }
    }

    private static let checks = SettingChecks("Bulkhead")

    private let base: any TimeBase
    let maxWait: Duration
    let predictsWait: Bool
    private let freePermits: FreePermits
    private let state: Locked<State>

    /// - Parameters:
    ///   - limit: calls at the same time; 1 or more. See ``setLimit(_:)``.
    ///   - queue: calls that may wait; 0 or more. See ``setQueue(_:)``.
    ///   - order: whose turn is next, and who is refused when the queue is full.
    ///   - maxWait: the longest wait in the queue; 0 or more. Without a limit if nil; 0 never waits.
    ///   - predictsWait: whether to refuse a call at once if its turn is likely to come after its deadline or
    ///     `maxWait`: the calls ahead of it × how long a permit is held ÷ `limit` (Little's law). That service time is measured
    ///     on calls that were in the queue, an eighth of the newest and seven eighths of what was known (RFC 6298), and
    ///     forgotten when a permit lies free. So nobody is refused without a measurement, nor the first in the queue.
    public init(
        _ name: String = "bulkhead", limit: Int, queue: Int = 0, order: Order = .firstInFirstOut,
        maxWait: Duration? = nil, predictsWait: Bool = true, timeBase: any TimeBase = .system,
        observers: PolicyObservers = PolicyObservers()
    ) {
        let maxWait = maxWait.map { Self.checks.notNegative($0, "maxWait") }
        let limit = Self.checks.atLeast(1, limit, "limit")
        let queue = Self.checks.atLeast(0, queue, "queue")
        self.name = name
        self.observers = observers
        self.order = order
        self.maxWait = min(maxWait ?? .infinite, .infinite)
        self.predictsWait = predictsWait
        base = timeBase
        let machine = BulkheadStateMachine(limit: limit, queueLimit: queue, order: order)
        state = Locked(State(machine: machine, made: (limit, queue)))
        freePermits = FreePermits(limit)
    }

    /// It can't nest in itself: a call that holds a permit would wait for another, for ever if that is the last.
    public var traits: PolicyTraits {
        let waits = maxWait > .zero && ask { $0.machine.queueLimit } > 0
        return PolicyTraits(waits: waits, holdsPermits: true, canNestInItself: false)
    }

    public func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        if BulkheadSlot.isOutside(slot), freePermits.take() {
            BulkheadSlot.inside.write(to: &slot)
            return .proceed
        }
        return enterOrWait(&call, &slot)
    }

    public func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        if !BulkheadSlot.isInside(slot) || !freePermits.giveBack() { leave(&call, slot) }
        BulkheadSlot.outside.write(to: &slot)
        return .pass
    }

    /// Asks the machine with all permits known to it: those that lie free are collected first, and laid out afterwards.
    /// Nobody waits then, since they would have been handed over.
    func ask<R: Sendable>(_ body: (inout State) -> R) -> R {
        state.withLock { state in
            if let free = freePermits.collect() { state.machine.inUse = state.machine.limit - free }
            let answer = body(&state)
            let left = state.machine.limit - state.machine.inUse
            if left > 0 { freePermits.layOut(left) }
            return answer
        }
    }

    /// It waits already, or no permit lies free for the taking.
    @inline(never) private func enterOrWait(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        if case .queued(let ticket) = BulkheadSlot(slot) {
            askAgain(ticket, &call, &slot)
        } else {
            arrive(&call, &slot)
        }
    }

    private func arrive(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        let priority = call.options.priority
        let mayDisplace = call.mayWait
        let waitEnds = maxWait == .infinite ? call.deadline : min(call.deadline, call.now + maxWait)
        // Without an end to the wait the clock need not be read.
        let patience =
            waitEnds == .distantFuture ? .max : waitEnds.nanoseconds.saturatingSubtracting(call.now.nanoseconds)
        let (answer, waiter, loser, estimate) = ask {
            state -> (BulkheadStateMachine.Answer, PolicyWaiter?, PolicyWaiter?, Int64?) in
            let answer = state.machine.arrive(priority: priority, patience: patience, mayDisplace: mayDisplace)
            guard case .queue(let ticket, let displaced) = answer else {
                return (answer, nil, nil, state.machine.estimatedWait)
            }
            let waiter = PolicyWaiter()
            state.waiters[ticket] = waiter
            return (answer, waiter, displaced.flatMap { state.waiters.removeValue(forKey: $0) }, nil)
        }
        switch answer {
        case .enter:
            BulkheadSlot.inside.write(to: &slot)
            return .proceed
        case .queue(let ticket, _):
            BulkheadSlot.queued(ticket: ticket).write(to: &slot)
            loser?.resume()
            call.emit(Event.queued, from: name, to: observers)
            // Present, since .queue makes one.
            return .park(waiter!, until: waitEnds)
        case .refuse:
            return refuse(.full, estimate, &call)
        case .tooLate:
            return refuse(.turnTooLate, estimate, &call)
        }
    }

    /// The wait is over: by a permit, by the time, or by another call that took the place.
    private func askAgain(_ ticket: UInt64, _ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        let (refusal, estimate) = ask { state -> (BulkheadFull.Reason?, Int64?) in
            if state.machine.leaveQueue(ticket) {
                state.waiters[ticket] = nil
                return (.waitedTooLong, state.machine.estimatedWait)
            }
            guard state.machine.learnsOfDisplacement(ticket) else { return (nil, nil) }
            return (.displaced, state.machine.estimatedWait)
        }
        if let refusal {
            BulkheadSlot.outside.write(to: &slot)
            return refuse(refusal, estimate, &call)
        }
        (predictsWait ? BulkheadSlot.measured(since: call.now) : .inside).write(to: &slot)
        return .proceed
    }

    private func refuse(_ reason: BulkheadFull.Reason, _ estimate: Int64?, _ call: inout PolicyCall) -> PolicyEntry {
        call.emit(Event.refused(reason), from: name, to: observers)
        return .refuse(
            BulkheadFull(bulkhead: name, reason: reason, retryAfter: estimate.map { .nanoseconds($0) }))
    }

    @inline(never) private func leave(_ call: inout PolicyCall, _ slot: PolicySlot) {
        let own = BulkheadSlot(slot)
        var serviceTime: Int64?
        if case .measured(let since) = own {
            serviceTime = call.now.nanoseconds.saturatingSubtracting(since.nanoseconds)
        }
        let next = ask { state -> PolicyWaiter? in
            if case .queued(let ticket) = own {
                if state.machine.leaveQueue(ticket) {
                    state.waiters[ticket] = nil
                    return nil
                }
                if state.machine.learnsOfDisplacement(ticket) { return nil }
            }
            return state.machine.leave(after: serviceTime).flatMap { state.waiters.removeValue(forKey: $0) }
        }
        next?.resume()
    }

    /// Calls at the same time from now on; 1 or more. New permits go to those who wait, at once. When it is lowered,
    /// those inside finish, and nobody gets in before fewer are inside than the new limit.
    public func setLimit(_ limit: Int) {
        guard Self.checks.isAtLeast(1, limit, "limit"), SettingChecks.mayChange else { return }
        let (old, next) = ask { state in
            let old = state.machine.limit
            return (old, state.machine.setLimit(limit).compactMap { state.waiters.removeValue(forKey: $0) })
        }
        for waiter in next { waiter.resume() }
        if old != limit { tell(.limitChanged(from: old, to: limit)) }
    }

    /// Calls that may wait from now on; 0 or more. Those who wait already keep their places.
    public func setQueue(_ queue: Int) {
        guard Self.checks.isAtLeast(0, queue, "queue"), SettingChecks.mayChange else { return }
        let old = ask { state in
            let old = state.machine.queueLimit
            state.machine.setQueueLimit(queue)
            return old
        }
        if old != queue { tell(.queueChanged(from: old, to: queue)) }
    }

    private func tell(_ event: Event) {
        observers.send(event, from: name, at: base.now)
    }

    /// How full it is now.
    public var status: BulkheadStatus {
        ask { state in
            let machine = state.machine
            return BulkheadStatus(
                limit: machine.limit, inUse: machine.inUse, queueLimit: machine.queueLimit, queued: machine.queued,
                estimatedWait: machine.estimatedWait.map { .nanoseconds($0) })
        }
    }

    /// Calls inside now.
    public var inUse: Int { ask { $0.machine.inUse } }
    /// Calls in the queue now.
    public var queued: Int { ask { $0.machine.queued } }

    /// Whether nobody is inside, and so nobody waits, and its limits are those that it was made with: forgetting it
    /// would lose nothing.
    public var isAtRest: Bool {
        ask { $0.machine.inUse == 0 && $0.hasLimitsAsMade }
    }

    public var description: String {
        let (limit, queue) = ask { ($0.machine.limit, $0.machine.queueLimit) }
        let turn =
            switch order {
            case .firstInFirstOut: ""
            case .lastInFirstOut: ", newest first"
            case .byPriority: ", by priority"
            }
        let wait = maxWait == .infinite ? "" : " for at most \(maxWait.text)"
        return "\(name): \(limit) at a time, \(queue) queued\(wait)\(turn)"
    }
}
