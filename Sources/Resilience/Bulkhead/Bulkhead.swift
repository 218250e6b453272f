/// Lets a limited number of calls run at the same time, and a bounded number wait in a queue.
///
/// ```swift
/// let bulkhead = Bulkhead(limit: 16, queue: 64, maxWait: .seconds(2))
/// ```
///
/// A freed permit goes to the first call in the queue; no other call overtakes it. A waiting call leaves the queue as
/// soon as its deadline comes or it is cancelled. A call whose turn is likely to come too late is rejected instead of
/// queued.
///
/// See <doc:BulkheadGuide>.
public final class Bulkhead: Policy, StatusReporting {
    public let name: String
    public var timeBase: (any TimeBase)? { base }
    /// The observers of this bulkhead's events, in every pipeline.
    public var observers: PolicyObservers { lazyObservers.made }
    package let lazyObservers: LazyObservers
    /// The original settings, or the latest settings that were applied.
    ///
    /// For a limit that was set by hand, see ``status``.
    public var settings: Settings { ask { $0.made } }

    struct State {
        /// The machine's `inUse` is correct only inside ``ask(_:)``.
        var machine: BulkheadStateMachine
        /// The original settings, or the latest settings that were applied.
        var made: Settings {
            get { terms.settings }
            set { terms = Terms(newValue) }
        }
        private var terms: Terms
        /// The waiters of parked calls, by ticket.
        var waiters: [UInt64: PolicyWaiter] = [:]
        var toldShedding = false
        /// The rejection of the last call, if nothing has changed since: similar calls are rejected with the same
        /// error.
        var rejection: (any Error)?

        init(_ machine: BulkheadStateMachine, _ terms: Terms) { (self.machine, self.terms) = (machine, terms) }

        /// - Returns: The event that an overload has begun or ended, reported once; nil if neither has happened.
        mutating func sheddingChange() -> Event? {
            guard machine.isShedding != toldShedding else { return nil }
            toldShedding = machine.isShedding
            return toldShedding ? .sheddingBegan : .sheddingEnded
        }

        mutating func takeShed() -> [PolicyWaiter] {
            machine.takeShed().compactMap { waiters.removeValue(forKey: $0) }
        }
    }

    func hasLimitsAsMade(_ state: State) -> Bool {
        state.machine.limit == state.made.limit && state.machine.queueLimit == state.made.queue
    }

    private let base: any TimeBase
    /// The original settings: only the limit and the queue's size can change later.
    private let terms: Terms
    private var order: Order { terms.settings.order }
    private var maxWait: Duration { terms.settings.maxWait ?? .infinite }
    private var predictsWait: Bool { terms.settings.predictsWait }
    private var shedding: LoadShedding? { terms.settings.shedding }

    /// Settings by reference, since nearly all keys of a registry have the same settings.
    final class Terms: Sendable {
        let settings: Settings

        init(_ settings: Settings) { self.settings = settings }

        private static let recent = Recent<Terms>()

        /// These terms, or an equal object that is already in use.
        var shared: Terms { Self.recent.shared(self) { $0.settings == $1.settings } }
    }

    private let freePermits: FreePermits
    private let state: Locked<State>
    /// Divides a limit among processes; nil if this process has a limit of its own.
    private let supply: (any PermitSupply)?

    /// Creates a bulkhead with all permits free.
    ///
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - limit: How many calls may run at the same time; 1 or more. See ``setLimit(_:)``.
    ///   - queue: How many calls may wait; 0 or more. See ``setQueue(_:)``.
    ///   - order: Which waiting call is next, and which is rejected when the queue is full.
    ///   - maxWait: The longest wait in the queue; 0 or more. nil for no limit; with 0 no call waits.
    ///   - predictsWait: Whether to reject a call at once if it would probably wait beyond its deadline or `maxWait`.
    ///     The prediction is (calls ahead of it) × service time ÷ `limit` (Little's law). The service time is how long
    ///     a call keeps its permit: a moving average over calls that had to wait. The newest sample has weight 1/8 (RFC
    ///     6298), and counts as at most 16 times the average, or 16 s if it is the first sample. The average is dropped
    ///     as soon as a permit is free. The prediction rejects no call without a measurement, and never the first call
    ///     in the queue. If false, service times are not measured, and `retryAfter` and `estimatedWait` are nil.
    ///   - shedding: How waiting calls are rejected under overload. nil, the default, lets them wait.
    ///   - timeBase: The time base for waits and service times; it must be the pipeline's.
    ///   - observers: The observers of this bulkhead's events; nil for none at first.
    public convenience init(
        _ name: String = "bulkhead", limit: Int, queue: Int = 0, order: Order = .firstInFirstOut,
        maxWait: Duration? = nil, predictsWait: Bool = true, shedding: LoadShedding? = nil,
        timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        let settings = Settings(
            limit: limit, queue: queue, order: order, maxWait: maxWait, predictsWait: predictsWait, shedding: shedding)
        self.init(name, settings: settings, timeBase: timeBase, observers: observers)
    }

    /// Creates a bulkhead with all permits free.
    ///
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - settings: The settings.
    ///   - timeBase: The time base for waits and service times; it must be the pipeline's.
    ///   - observers: The observers of this bulkhead's events; nil for none at first.
    public convenience init(
        _ name: String = "bulkhead", settings: Settings, timeBase: any TimeBase = .system,
        observers: PolicyObservers? = nil
    ) {
        self.init(name, settings: settings, supply: nil, timeBase: timeBase, observers: observers)
    }

    /// Creates a bulkhead.
    /// - Parameter supply: The source of the permits: the bulkhead begins without any. nil if it has its own permits.
    package init(
        _ name: String, settings: Settings, supply: (any PermitSupply)?, timeBase: any TimeBase,
        observers: PolicyObservers?
    ) {
        var settings = settings.valid()
        if supply != nil { settings.limit = 0 }
        self.name = name
        lazyObservers = LazyObservers(observers)
        terms = Terms(settings).shared
        self.supply = supply
        base = timeBase
        let machine = BulkheadStateMachine(
            limit: settings.limit, queueLimit: settings.queue, order: settings.order, shedding: settings.shedding)
        state = Locked(State(machine, terms))
        freePermits = FreePermits(settings.limit)
    }

    /// The bulkhead's effects on calls.
    ///
    /// It can't nest in itself: a call that holds a permit would wait for another one, for ever if it holds the last.
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

    /// Collects all free permits, asks the machine, and lays out the permits that are still free. While permits are
    /// laid out, no call waits, since a waiting call would have got one of them.
    /// - Parameter asRejected: Whether the call may get the rejection of the call before it.
    func ask<R: Sendable>(asRejected: Bool = false, _ body: (inout State) -> R) -> R {
        state.withLock { state in
            if !asRejected { state.rejection = nil }
            if let free = freePermits.collect() { state.machine.inUse = state.machine.limit - free }
            let answer = body(&state)
            let left = state.machine.limit - state.machine.inUse
            if left > 0 { freePermits.layOut(left) }
            return answer
        }
    }

    /// For a call that already waits, or that found no free permit.
    @inline(never) private func enterOrWait(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        if case .queued(let ticket) = BulkheadSlot(slot) {
            askAgain(ticket, &call, &slot)
        } else {
            arrive(&call, &slot)
        }
    }

    private func arrive(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        let priority = order == .byPriority ? call.priority : .normal
        let mayDisplace = call.mayWait
        let waitEnds = waitEnds(for: &call)
        let patience = patience(until: waitEnds, &call)
        let now = shedding == nil ? 0 : call.now.nanoseconds
        // With these settings, a full queue that rejected the last call also rejects this one.
        let isLikeOthers = mayDisplace && shedding == nil && order != .byPriority
        var isFirst = false
        var waiter: PolicyWaiter?
        var losers: [PolicyWaiter] = []
        var rejection: (any Error)?
        var change: Event?
        let answer = ask(asRejected: isLikeOthers) { state -> BulkheadStateMachine.Answer in
            if isLikeOthers, let last = state.rejection {
                rejection = last
                return .reject
            }
            isFirst = state.machine.rejectsSince == nil
            let answer = state.machine.arrive(
                priority: priority, patience: patience, mayDisplace: mayDisplace, at: now)
            if shedding != nil {
                losers = state.takeShed()
                change = state.sheddingChange()
            }
            switch answer {
            case .enter: break
            case .queue(let ticket, let displaced):
                let made = PolicyWaiter()
                waiter = made
                state.waiters[ticket] = made
                if let displaced, let loser = state.waiters.removeValue(forKey: displaced) { losers.append(loser) }
            case .reject:
                rejection = error(.full, state)
                if isLikeOthers { state.rejection = rejection }
            case .tooLate:
                rejection = error(.turnTooLate, state)
            }
            return answer
        }
        for loser in losers { loser.resume() }
        if let change { call.emit(change, from: name, to: lazyObservers.known) }
        if answer != .enter { supply?.isWanted(isUrgent: true) }
        switch answer {
        case .enter:
            BulkheadSlot.inside.write(to: &slot)
            return .proceed
        case .queue(let ticket, _):
            BulkheadSlot.queued(ticket: ticket).write(to: &slot)
            call.emit(Event.queued, from: name, to: lazyObservers.known)
            // Never nil: `.queue` makes a waiter.
            return .park(waiter!, until: waitEnds)
        case .reject, .tooLate:
            if isFirst { noteRejection(&call) }
            // Never nil for a rejection.
            return reject(answer == .reject ? .full : .turnTooLate, rejection!, &call)
        }
    }

    /// The clock is read only for the first rejection since a permit came back.
    private func noteRejection(_ call: inout PolicyCall) {
        guard predictsWait else { return }
        let now = call.now.nanoseconds
        ask { $0.machine.rejects(at: now) }
    }

    private func waitEnds(for call: inout PolicyCall) -> MonotonicInstant {
        maxWait == .infinite ? call.deadline : min(call.deadline, call.now + maxWait)
    }

    /// The clock is read only if the wait has an end.
    private func patience(until waitEnds: MonotonicInstant, _ call: inout PolicyCall) -> Int64 {
        waitEnds == .distantFuture ? .max : waitEnds.nanoseconds.saturatingSubtracting(call.now.nanoseconds)
    }

    /// The wait has ended: the call has a permit, its time is over, or another call has taken its place.
    private func askAgain(_ ticket: UInt64, _ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        let (reason, rejection, change) = ask { state -> (BulkheadFull.Reason?, (any Error)?, Event?) in
            if state.machine.leaveQueue(ticket) {
                state.waiters[ticket] = nil
                return (.waitedTooLong, error(.waitedTooLong, state), state.sheddingChange())
            }
            guard let reason = state.machine.learnsOfRemoval(ticket) else { return (nil, nil, nil) }
            return (reason, error(reason, state), nil)
        }
        if let change { call.emit(change, from: name, to: lazyObservers.known) }
        if let reason, let rejection {
            BulkheadSlot.outside.write(to: &slot)
            return reject(reason, rejection, &call)
        }
        (predictsWait ? BulkheadSlot.measured(since: call.now) : .inside).write(to: &slot)
        return .proceed
    }

    private func error(_ reason: BulkheadFull.Reason, _ state: borrowing State) -> BulkheadFull {
        let estimate = state.machine.retryEstimate
        return BulkheadFull(policy: name, reason: reason, retryAfter: estimate.map { .nanoseconds($0) })
    }

    private func reject(
        _ reason: BulkheadFull.Reason, _ error: any Error, _ call: inout PolicyCall
    ) -> PolicyEntry {
        call.emit(Event.rejected(reason), from: name, to: lazyObservers.known)
        return .reject(error)
    }

    @inline(never) private func leave(_ call: inout PolicyCall, _ slot: PolicySlot) {
        let own = BulkheadSlot(slot)
        var serviceTime: Int64?
        if predictsWait, case .measured(let since) = own {
            serviceTime = call.now.nanoseconds.saturatingSubtracting(since.nanoseconds)
        }
        let instant = predictsWait ? call.now.nanoseconds : nil
        let now = shedding == nil ? 0 : call.now.nanoseconds
        let (next, losers, change) = ask { state -> (PolicyWaiter?, [PolicyWaiter], Event?) in
            if case .queued(let ticket) = own {
                if state.machine.leaveQueue(ticket) {
                    state.waiters[ticket] = nil
                    return (nil, [], state.sheddingChange())
                }
                if state.machine.learnsOfRemoval(ticket) != nil { return (nil, [], nil) }
            }
            let next = state.machine.leave(after: serviceTime, measuredAt: instant, at: now)
            return (next.flatMap { state.waiters.removeValue(forKey: $0) }, state.takeShed(), state.sheddingChange())
        }
        next?.resume()
        for loser in losers { loser.resume() }
        if let change { call.emit(change, from: name, to: lazyObservers.known) }
    }

    /// Changes how many calls may run at the same time.
    ///
    /// New permits go to waiting calls at once. If the limit is lowered, calls inside finish, and no call is admitted
    /// until fewer calls are inside than the new limit.
    /// - Parameter limit: How many calls may run at the same time; 1 or more.
    public func setLimit(_ limit: Int) {
        guard Settings(limit: limit).allowed() != nil else { return }
        let (old, new) = setLimit { limit }
        if old != new { tell(.limitChanged(from: old, to: new)) }
    }

    /// Changes the limit, without an event.
    /// - Parameter limit: Returns the limit. It is called under the lock, so that of two concurrent changes the later
    ///   one stays.
    package func setLimit(_ limit: () -> Int) -> (old: Int, new: Int) {
        let (old, new, next, change) = ask { state in
            let (old, new) = (state.machine.limit, limit())
            let next = state.machine.setLimit(new).compactMap { state.waiters.removeValue(forKey: $0) }
            return (old, new, next, state.sheddingChange())
        }
        for waiter in next { waiter.resume() }
        if let change { tell(change) }
        return (old, new)
    }

    var isShared: Bool { supply != nil }

    /// Takes over this process's part of a limit, which may be 0.
    package func take(part limit: Int) {
        _ = setLimit { limit }
        ask { $0.made.limit = limit }
    }

    /// Changes how many calls may wait.
    ///
    /// Waiting calls keep their places, even if their number exceeds the new size.
    /// - Parameter queue: How many calls may wait; 0 or more.
    public func setQueue(_ queue: Int) {
        guard Settings(limit: 1, queue: queue).allowed() != nil else { return }
        let old = ask { state in
            let old = state.machine.queueLimit
            state.machine.setQueueLimit(queue)
            return old
        }
        if old != queue { tell(.queueChanged(from: old, to: queue)) }
    }

    package func tell(_ event: Event) {
        lazyObservers.send(event, from: name, at: base.now)
    }

    public func forecast(_ call: inout PolicyCall) -> PolicyForecast {
        let now = call.now.nanoseconds
        let patience = patience(until: waitEnds(for: &call), &call)
        let priority = call.priority
        // On a copy, because the call is hypothetical.
        var machine = ask { $0.machine }
        let ahead = machine.estimatedWait(of: priority)
        return switch machine.arrive(priority: priority, patience: patience, at: now) {
        case .enter: .proceeds
        case .queue: .waits(ahead.flatMap { $0 > 0 ? .nanoseconds($0) : nil })
        case .reject, .tooLate: .rejects(retryAfter: machine.retryEstimate.map { .nanoseconds($0) })
        }
    }

    /// The limits, and the numbers of calls inside and in the queue now.
    public var status: BulkheadStatus {
        ask { state in
            let machine = state.machine
            return BulkheadStatus(
                limit: machine.limit, inUse: machine.inUse, queueLimit: machine.queueLimit, queued: machine.queued,
                estimatedWait: machine.estimatedWait.map { .nanoseconds($0) }, isShedding: machine.isShedding)
        }
    }

    /// The number of calls inside now.
    package var inUse: Int { ask { $0.machine.inUse } }
    /// The number of calls inside a moment ago, without a lock if permits are free.
    /// - Parameter limit: The limit at that moment.
    package func inUse(of limit: Int) -> Int { freePermits.free.map { limit - $0 } ?? inUse }
    /// Whether a call has its permit.
    package func isInside(_ slot: PolicySlot) -> Bool {
        switch BulkheadSlot(slot) {
        case .inside, .measured: true
        case .outside, .queued: false
        }
    }
    /// The number of calls in the queue now.
    package var queued: Int { ask { $0.machine.queued } }

    /// Whether evicting the bulkhead would lose nothing: no call is inside or waiting, and the limits are the original
    /// ones.
    public var isAtRest: Bool { ask { $0.machine.inUse == 0 && hasLimitsAsMade($0) } }

    public var description: String {
        let (limit, queue) = ask { ($0.machine.limit, $0.machine.queueLimit) }
        let turn =
            switch order {
            case .firstInFirstOut: ""
            case .lastInFirstOut: ", newest first"
            case .byPriority: ", by priority"
            }
        let wait = maxWait == .infinite ? "" : " for at most \(maxWait.text)"
        let shedding = shedding.map { ", shed after \($0.target.text) if it is busy for \($0.interval.text)" }
        return "\(name): \(limit) at a time, \(queue) queued\(wait)\(turn)\(shedding ?? "")"
    }
}

extension Bulkhead: HomedPolicy {
    package func settle(in home: PolicyHome) { lazyObservers.settle(in: home) }
}
