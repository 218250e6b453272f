import Foundation
import Resilience
import ResilienceTesting
import TestSupport
import Testing

@testable import ResilienceSync

/// A SyncStateMachine between a list of mutations, which fails at times, and a server with arbitrary answers. Each
/// state is also followed to its end without further input.
private struct QueueInAWorld: ExplorableMachine {
    typealias Machine = SyncStateMachine

    enum Input: Hashable {
        case append(lane: Int)
        /// The appended mutation is not sent for this many seconds.
        case appendLater(lane: Int, seconds: Int64)
        case appendUrgent(lane: Int)
        case trigger, tick
        /// The flight asks what to do; then it does that, or can't because the store fails.
        case ask, act, fail
        case answer(request: Int, Answer)
        case cancel, resume, stop, restart
        /// The check fails with this answer; a request without a mutation ends with it, and its sender triggers.
        case unwell(Answer), elsewhere(Answer)
        /// The other side reports this quota for two seconds, in the answer to a request or elsewhere.
        case told(left: Int, request: Int?)
        /// Another queue gets the sending lock, is told to pause, and gives the lock back.
        case otherLocks, otherPauses, otherUnlocks
        /// Somebody pauses by hand, here or in another process, for three seconds or for ever.
        case pauseByHand(isHere: Bool, isEndless: Bool)
        /// A clear begins; pending mutations are removed once no flight is running.
        case clear, remove
        /// One pending mutation is removed by hand, here.
        case removeOne(Int64)
    }

    enum Answer: Hashable, CaseIterable {
        case delivered, failed, failedFor, unwanted, gone, abandoned, throttled, throttledFor, refused, rejectedFor,
            offline
        /// All mutations of a batch but the first failed, or were throttled.
        case firstOnly, firstOnlyThrottled

        var failure: Machine.Failure? {
            switch self {
            case .delivered: nil
            case .failed, .firstOnly: Machine.Failure(verdict: .transient, error: "503")
            case .failedFor: Machine.Failure(verdict: .transient(retryAfter: .seconds(3)), error: "503")
            case .unwanted: Machine.Failure(verdict: Verdict(.transient, shouldRetry: false), error: "500")
            case .gone: Machine.Failure(verdict: .permanent, error: "410")
            case .abandoned: Machine.Failure(verdict: .cancelled, error: "abandoned")
            case .throttled: Machine.Failure(verdict: .throttled, error: "429")
            case .throttledFor, .firstOnlyThrottled:
                Machine.Failure(verdict: .throttled(retryAfter: .seconds(2)), error: "429")
            case .refused: Machine.Failure(verdict: .rejected, error: "open")
            case .rejectedFor: Machine.Failure(verdict: .rejected, error: "open", rejectedFor: .seconds(9))
            case .offline: Machine.Failure(verdict: .transient, error: "no network", isOffline: true)
            }
        }

        var isOfABatch: Bool { self == .firstOnly || self == .firstOnlyThrottled }

        /// The least silence that the other side, or a policy, wants.
        var silence: Int64 {
            switch self {
            case .throttledFor, .firstOnlyThrottled: 2_000_000_000
            case .rejectedFor: QueueInAWorld.maxPause
            default: 0
            }
        }
    }

    /// Unusual events.
    enum Trouble: Hashable, CaseIterable {
        case storeFails, cancelled, resumed, cleared, restarted, pausedByHand
        /// With this trouble, the other side's health is checked.
        case unwell
        case refusedElsewhere
        case anotherQueue
        case quotas
        case removed
        case delayed
        /// Somebody waits for some of the appended mutations.
        case urgent
    }

    struct Item: Hashable {
        let position: Int64
        let lane: String
        let kind: String
        var failures = 0
        /// Answers that were not acknowledgements; there are two at most, or the exploration would never end.
        var refusals = 0
        /// The mutation is not sent before this time; 0 once the store has noticed that this time has come.
        var due: Int64 = 0
        var isUrgent = false
        /// A trigger has come since it was appended.
        var isAnnounced = false

        var head: LaneHead { LaneHead(position, lane, kind, failures: failures) }
    }

    enum Lock: Hashable {
        case free, ours, another
    }

    struct World: Hashable {
        /// In nanoseconds.
        var now: Int64 = 0
        var appended = [0, 0, 0]
        /// How many unusual events may still happen.
        var troubles: Int

        // The store.
        var items: [Item] = []
        var dead: [Item] = []
        var pause: Int64?
        var knownPause: Int64?
        var handPause: Int64?
        var knownHandPause: Int64?
        /// The flight was claiming when it was paused by hand: the claimed mutations are sent.
        var isClaimingBesides = false
        var lock = Lock.free
        var hadLockLast = false

        // The flight.
        var isFlying = false
        var isJoined = false
        var isCancelled = false
        var hasFailed = false
        var wasResumed = false
        var isWell = false
        var action: Machine.Action?
        var alarm: Int64?
        var goesOnAt: MonotonicInstant?
        var isStopped = false
        var isClearing = false
        /// The lanes of mutations removed by hand.
        var removed: [Int64: String] = [:]

        // The server.
        var inFlight: [Int: [Int64]] = [:]
        /// The mutations acknowledged so far, and those whose acknowledgement is not yet in the store.
        var acknowledged: Set<Int64> = []
        var unsettled: Set<Int64> = []
        /// Failures that the store must get, or may get.
        var failed: Set<Int64> = []
        var maybeFailed: Set<Int64> = []
        /// The time before which nothing may be sent, now and once the remaining ends are processed.
        var silentUntil: Int64 = 0
        var nextSilence: Int64 = 0
        /// A policy's silence: none, if the flight is cancelled.
        var nextOwnSilence: Int64 = 0
        /// When each failed mutation may be sent again.
        var holds: [Int64: Int64] = [:]
        var told: Set<String> = []
    }

    struct Identity: Hashable {
        let world: World
        let machine: [AnyHashable]
    }

    static let maxPause: Int64 = 4_000_000_000
    private static let maxFailures = 2
    /// The kinds appended to each lane, in order.
    private static let kinds = [
        ["batched", "batched", "single"], ["batched", "single", "single"], ["single", "nobody's", "batched"],
    ]

    private let laneRule: LaneRule
    private let troubles: [Trouble]
    private let rounds: Int
    private let weight: Int
    private(set) var machine: Machine
    private var world: World
    private var steps = 0

    /// - Parameters:
    ///   - rounds: How often the same kinds are appended.
    ///   - count: How often there is trouble.
    ///   - weight: How much less likely trouble is than other input, and how much likelier that a flight continues.
    init(laneRule: LaneRule, troubles: [Trouble], count: Int = 2, rounds: Int = 1, weight: Int = 1) {
        (self.laneRule, self.troubles, self.rounds, self.weight) = (laneRule, troubles, rounds, weight)
        machine = Self.machine(laneRule, checksHealth: troubles.contains(.unwell))
        world = World(troubles: count)
    }

    /// With two requests in flight, one of them a batch.
    static func underWay(laneRule: LaneRule, troubles: [Trouble]) throws -> QueueInAWorld {
        var world = QueueInAWorld(laneRule: laneRule, troubles: troubles)
        for lane in 0...2 { try world.happen(.append(lane: lane)) }
        try world.happen(.trigger)
        while world.world.inFlight.count < 2 { try world.happen(world.world.action == nil ? .ask : .act) }
        return world
    }

    private static func machine(_ laneRule: LaneRule, checksHealth: Bool) -> Machine {
        let rules = LanesStateMachine.Rules(batchLimits: ["batched": 2, "single": 1], otherKinds: nil)
        return Machine(
            Machine.Settings(
                maxFailures: maxFailures, failureCounting: .always, laneRule: laneRule,
                maxPause: .nanoseconds(maxPause), checksHealth: checksHealth, rules: rules),
            lanes: LanesStateMachine(pageSize: 2, mostHeld: 2), pace: SendPace(maxInFlight: 2))
    }

    var identity: Identity? {
        Identity(
            world: world,
            machine: [
                machine.flush, machine.lanes, machine.pace, machine.flight, machine.pauses, machine.streaks,
                machine.isLockedOut, machine.laneThrottles, machine.unsettled.map(\.changes), machine.notes,
            ])
    }

    private var checksHealth: Bool { troubles.contains(.unwell) }

    private var now: MonotonicInstant { MonotonicInstant(nanoseconds: world.now) }

    // MARK: Possible input

    var inputs: [Input] {
        var inputs: [Input] = [.tick]
        inputs += world.appended.indices.filter { world.appended[$0] < rounds * 3 }.map { .append(lane: $0) }
        if !world.isStopped { inputs.append(.trigger) }
        if world.isFlying { inputs += Array(repeating: world.action == nil ? .ask : .act, count: 2 * weight - 1) }
        if world.isClearing, !world.isFlying { inputs.append(.remove) }
        if world.lock == .another { inputs.append(.otherUnlocks) }
        for request in world.inFlight.keys.sorted() {
            inputs += answers(to: request).map { .answer(request: request, $0) }
            inputs += Array(repeating: .answer(request: request, .delivered), count: weight - 1)
        }
        inputs = Array(repeatElement(inputs, count: weight).joined())
        return world.troubles > 0 ? inputs + troubles.flatMap { self.inputs($0) } : inputs
    }

    private func inputs(_ trouble: Trouble) -> [Input] {
        switch trouble {
        case .storeFails: world.isFlying && asksTheStore ? [.fail] : []
        case .cancelled: world.isFlying && !world.isCancelled ? [.cancel] : []
        case .resumed: [.resume]
        case .pausedByHand:
            [true, false].flatMap {
                [
                    .pauseByHand(isHere: $0, isEndless: true), .pauseByHand(isHere: $0, isEndless: false), .resume,
                ]
            }
        case .cleared: world.isClearing ? [] : [.clear]
        case .restarted: [world.isStopped ? .restart : .stop, .restart]
        case .unwell:
            world.action == .check ? refusals.map { .unwell($0) } + [.unwell(.failed), .unwell(.offline)] : []
        case .refusedElsewhere: world.isStopped ? [] : refusals.map { .elsewhere($0) }
        case .delayed:
            world.appended.indices.filter { world.appended[$0] < rounds * 3 }.flatMap {
                [.appendLater(lane: $0, seconds: 2), .appendLater(lane: $0, seconds: 5)]
            }
        case .urgent:
            world.appended.indices.filter { world.appended[$0] < rounds * 3 }.map { .appendUrgent(lane: $0) }
        case .removed: world.items.map { .removeOne($0.position) }
        case .quotas:
            ([nil] + world.inFlight.keys.sorted()).flatMap {
                [.told(left: 0, request: $0), .told(left: 1, request: $0)]
            }
        case .anotherQueue:
            switch world.lock {
            // The other queue may ask something without the lock, and be rejected.
            case .free: [.otherLocks, .otherPauses]
            case .ours: []
            case .another: [.otherPauses]
            }
        }
    }

    private var refusals: [Answer] { [.throttled, .throttledFor, .rejectedFor] }

    private var asksTheStore: Bool {
        switch world.action {
        case .lock, .readPause, .keepPause, .look, .apply, .countPending: true
        case .unlock, .draw, .check, .wait, .end, .fail, nil: false
        }
    }

    private func answers(to request: Int) -> [Answer] {
        let positions = world.inFlight[request] ?? []
        let mayRefuse = world.items.allSatisfy { !positions.contains($0.position) || $0.refusals < 2 }
        return Answer.allCases.filter {
            $0 == .delivered || mayRefuse && (!$0.isOfABatch || positions.count > 1)
        }
    }

    // MARK: Effects of input

    mutating func apply(_ input: Input) throws {
        try happen(input)
        steps += 1
        // This check takes longest: in a walk it does not run each time.
        guard weight == 1 || steps.isMultiple(of: 10) else { return }
        var rest = self
        try rest.comeToAnEnd()
    }

    private mutating func happen(_ input: Input) throws {
        switch input {
        case .append(let lane): append(lane)
        case .trigger: try trigger()
        case .tick: try pass(until: world.now + 1_000_000_000)
        case .ask: try ask()
        case .act: try act()
        case .answer(let request, let answer): self.answer(request, answer)
        case .remove: try remove()
        case .otherUnlocks: world.lock = .free
        case .fail, .cancel, .otherLocks, .otherPauses, .pauseByHand, .resume, .stop, .restart, .clear, .unwell,
            .elsewhere,
            .told, .removeOne, .appendLater, .appendUrgent:
            world.troubles -= 1
            try trouble(input)
        }
        try require(machine.inFlight >= world.inFlight.values.joined().count, "something in flight is forgotten")
        try require(machine.flight?.width ?? 0 <= 2, "too many are in flight")
    }

    private mutating func trouble(_ input: Input) throws {
        switch input {
        case .fail:
            world.hasFailed = true
            world.action = nil
            machine.storeFailed("full", at: now)
        case .cancel:
            cancel()
        case .otherLocks:
            (world.lock, world.hadLockLast) = (.another, false)
            // The other queue may have sent them by the time it unlocks: its results for them count.
            (world.failed, world.maybeFailed) = ([], [])
        case .otherPauses:
            world.pause = max(world.pause ?? 0, world.now + 3_000_000_000)
            world.silentUntil = max(world.silentUntil, world.now + 3_000_000_000)
        case .pauseByHand(let isHere, let isEndless):
            world.handPause = isEndless ? .max : world.now + 3_000_000_000
            guard isHere, !world.isStopped else { break }
            readHandPause()
            if case .apply = world.action { world.isClaimingBesides = true }
            try trigger()
        case .resume:
            try resume()
        case .stop:
            world.isStopped = true
            world.alarm = nil
            machine.stop()
        case .clear:
            world.isClearing = true
            machine.clearingBegan()
            if world.isFlying { cancel() }
        case .restart:
            restart()
        case .unwell(let answer):
            world.action = nil
            expectSilence(after: answer)
            machine.checked(answer.failure, sentAt: now, at: now)
        case .elsewhere(let answer):
            guard let failure = answer.failure else { break }
            expectSilence(after: answer)
            machine.rejected(failure, sentAt: now, at: now)
            try trigger()
        case .removeOne(let position):
            guard let item = item(position) else { break }
            world.items.removeAll { $0.position == position }
            world.removed[position] = item.lane
            if world.failed.remove(position) != nil { world.maybeFailed.insert(position) }
            machine.removed(item.head)
            if !world.isStopped { try trigger() }
        case .appendLater(let lane, let seconds):
            append(lane, due: world.now + seconds * 1_000_000_000)
        case .appendUrgent(let lane):
            append(lane, isUrgent: true)
            machine.lanes.knowsUrgent = true
        case .told(let left, let request):
            let quota = ServerQuota(limit: 8, remaining: left, resetsAfter: .seconds(2))
            _ = machine.noted(quota, from: request, at: now)
            if left == 0, request == nil, let until = machine.pace.silentUntil(at: now) {
                // The earlier of two resets counts, if they differ by less than the rounding of seconds.
                try require(until > now + .seconds(1), "it is silent only until \(until)")
            }
        default:
            break
        }
        try tell()
    }

    private mutating func append(_ lane: Int, due: Int64 = 0, isUrgent: Bool = false) {
        let kind = Self.kinds[lane][world.appended[lane] % 3]
        world.appended[lane] += 1
        let position = Int64(world.appended.reduce(0, +))
        world.items.append(Item(position: position, lane: "\(lane)", kind: kind, due: due, isUrgent: isUrgent))
    }

    private mutating func pass(until instant: Int64) throws {
        world.now = max(world.now, instant)
        if let alarm = world.alarm, alarm <= world.now {
            world.alarm = nil
            try trigger()
        }
    }

    private mutating func cancel() {
        (world.isCancelled, world.holds) = (true, [:])
        // Ends that were not processed mean nothing.
        world.maybeFailed.formUnion(world.failed)
        world.failed = []
    }

    private mutating func endPause() throws {
        world.pause = nil
        machine.pauseKept(false)
        machine.resumed(at: now)
        (world.silentUntil, world.nextSilence, world.nextOwnSilence, world.holds) = (0, 0, 0, [:])
        world.wasResumed = true
        try require(machine.pausedUntil(at: now) == machine.pauses.byHand(at: now), "a pause outlasts its end by hand")
    }

    private mutating func resume() throws {
        (world.handPause, world.knownHandPause, machine.pauses.byHand) = (nil, nil, nil)
        try endPause()
        try trigger()
    }

    private mutating func readHandPause() {
        machine.pauses.byHand = world.handPause.map(MonotonicInstant.init(nanoseconds:))
        world.knownHandPause = world.handPause
    }

    private mutating func remove() throws {
        world.items = []
        (world.unsettled, world.failed, world.maybeFailed) = ([], [], [])
        machine.cleared()
        try endPause()
        world.isClearing = false
        machine.clearingEnded()
        try trigger()
    }

    /// Requests in flight may have been acknowledged without anybody knowing.
    private mutating func restart() {
        machine = Self.machine(laneRule, checksHealth: checksHealth)
        var next = World(troubles: world.troubles)
        (next.now, next.appended, next.items, next.dead, next.pause) = (
            world.now, world.appended, world.items, world.dead, world.pause
        )
        // The system releases what a process held.
        next.lock = world.lock == .another ? .another : .free
        for index in next.items.indices { next.items[index].isAnnounced = false }
        (next.silentUntil, next.handPause) = (world.pause ?? 0, world.handPause)
        world = next
    }

    private mutating func trigger() throws {
        switch machine.triggered(at: now) {
        case .start:
            try require(!world.isFlying && !world.isClearing && !world.isStopped, "a flush begins when none may")
            (world.isFlying, world.isJoined, world.isCancelled) = (true, false, false)
            (world.hasFailed, world.wasResumed, world.alarm) = (false, false, nil)
            world.isWell = !checksHealth
        case .join:
            try require(world.isFlying && !world.isStopped, "nothing is there to be joined")
            world.isJoined = true
        case .paused(let until):
            try require(!world.isFlying && until > now, "it is not paused")
            try require(world.alarm.map { $0 <= until.nanoseconds } ?? false, "a pause without an alarm")
        case .clearing:
            try require(!world.isFlying && world.isClearing, "it is not being cleared")
        case .stopped:
            return try require(world.isStopped, "it is not stopped")
        }
        for index in world.items.indices { world.items[index].isAnnounced = true }
    }

    private mutating func answer(_ request: Int, _ answer: Answer) {
        let positions = world.inFlight.removeValue(forKey: request) ?? []
        let delivered = answer == .delivered ? positions : answer.isOfABatch ? [positions[0]] : []
        world.acknowledged.formUnion(delivered)
        world.unsettled.formUnion(delivered)
        let refused = Set(positions).subtracting(delivered)
        for index in world.items.indices where refused.contains(world.items[index].position) {
            world.items[index].refusals += 1
        }
        if [.failed, .failedFor, .unwanted, .gone, .firstOnly].contains(answer) {
            let refused = refused.subtracting(world.removed.keys)
            if world.isCancelled { world.maybeFailed.formUnion(refused) } else { world.failed.formUnion(refused) }
        }
        if [.failed, .abandoned, .firstOnly].contains(answer), !world.isCancelled {
            for position in refused { world.holds[position] = world.now + 2_000_000_000 }
        }
        if answer == .failedFor, !world.isCancelled {
            for position in refused { world.holds[position] = world.now + 3_000_000_000 }
        }
        expectSilence(after: answer)
        let outcome: Machine.Outcome =
            if let failure = answer.failure, !answer.isOfABatch {
                .failed(failure)
            } else {
                .answered(positions.map { delivered.contains($0) ? nil : answer.failure })
            }
        machine.requestEnded(request, outcome, at: now)
    }

    private mutating func expectSilence(after answer: Answer) {
        if answer == .rejectedFor {
            world.nextOwnSilence = max(world.nextOwnSilence, world.now + answer.silence)
        } else if answer.silence > 0 {
            world.nextSilence = max(world.nextSilence, world.now + answer.silence)
        }
    }

    // MARK: The flight

    private mutating func ask() throws {
        if world.isCancelled { machine.cancelled() }
        let action = machine.next(at: now)
        try tell()
        switch action {
        case .draw, .keepPause(.some):
            break
        default:
            // All ends were processed.
            world.silentUntil = max(world.silentUntil, world.nextSilence)
            if !world.isCancelled { world.silentUntil = max(world.silentUntil, world.nextOwnSilence) }
            (world.nextSilence, world.nextOwnSilence) = (0, 0)
            let requests = machine.flight?.requests ?? [:]
            try require(Set(requests.keys), is: Set(world.inFlight.keys), "what is in flight")
        }
        if world.hasFailed {
            switch action {
            case .keepPause(.some), .draw, .wait, .unlock, .fail: break
            default: try require(false, "after a failure of the store it goes on with \(action)")
            }
        }
        switch action {
        case .wait(let until):
            try require(until < .distantFuture || !world.inFlight.isEmpty, "it waits for ever")
            return
        case .apply(let changes, let claims):
            try check(changes)
            if !claims.isEmpty { try check(claims) }
        case .unlock:
            if case .ending(.stalled(let instant)) = machine.flight?.phase {
                try require(instant > now, "a stall that is over")
            }
        case .end(let end):
            try require(world.inFlight.isEmpty, "a round ends while something is in flight")
            if !end.isLockedOut { try require(world.unsettled.isEmpty, "a round ends before all is settled") }
        default:
            break
        }
        world.action = action
    }

    private func check(_ changes: [MutationChange]) throws {
        try require(Set(changes).count == changes.count, "a settlement twice in \(changes)")
        for change in changes {
            let isKnown =
                switch change {
                case .acknowledged(let position): world.unsettled.contains(position)
                case .answered(let position): !world.inFlight.values.joined().contains(position)
                case .failed(let position, _): wasRefused(position)
                case .died(let position, _, _): wasRefused(position) || item(position)?.kind == "nobody's"
                }
            try require(isKnown, "\(change) did not happen")
        }
        let acknowledged = changes.compactMap { if case .acknowledged(let position) = $0 { position } else { nil } }
        try require(Set(acknowledged), is: world.unsettled, "what is acknowledged")
    }

    /// Whether the pace, with a known rate, may shorten the backoff: only a server's backoff, and not for a rejected
    /// probe.
    private var knowsBetter: Bool {
        guard case .pause(let sentAt, false, _, _) = machine.flight?.draws.first, machine.pace.rate != nil else {
            return false
        }
        if case .probing(let probe) = machine.pace.phase { return sentAt < probe }
        return true
    }

    private func wasRefused(_ position: Int64) -> Bool {
        world.failed.contains(position) || world.maybeFailed.contains(position)
    }

    private func item(_ position: Int64) -> Item? { world.items.first { $0.position == position } }

    private func check(_ claims: [Int64]) throws {
        try require(!world.isStopped && !world.isCancelled, "it sends though it was stopped or cancelled")
        try require(world.lock == .ours, "it sends without the lock")
        try require(world.isWell, "it sends before it has asked how the other side is")
        try require(world.now >= world.silentUntil, "it sends in a pause")
        try require(machine.pausedUntil(at: now) == nil, "it sends in a silence")
        try require(Set(claims).count == claims.count, "one is claimed twice")
        let isHeld = claims.contains { world.now < world.holds[$0] ?? 0 }
        try require(!isHeld, "what failed is sent before its time")
        try require(world.acknowledged.isDisjoint(with: claims), "what was acknowledged is sent again")
    }

    private mutating func act() throws {
        guard let action = world.action else { return }
        world.action = nil
        switch action {
        case .lock:
            try require(world.lock != .ours, "it asks for the lock that it has")
            let lock: SendingLock = world.lock == .another ? .denied : world.hadLockLast ? .takenAgain : .taken
            if lock != .denied { (world.lock, world.hadLockLast) = (.ours, true) }
            machine.locked(lock, at: now)
        case .unlock:
            try require(world.lock == .ours, "it gives back what it does not have")
            world.lock = .free
            machine.unlocked()
        case .readPause:
            readHandPause()
            machine.pauseRead(
                left: world.pause.map { .nanoseconds(max(0, $0 - world.now)) },
                isKnown: world.pause == world.knownPause, at: now)
            world.knownPause = world.pause
        case .keepPause(let length):
            world.pause = length.map { (now + $0).nanoseconds }
            world.knownPause = world.pause
            machine.pauseKept(length != nil)
        case .draw(let backoff, let retry):
            try require(retry >= 0, "a retry before the first")
            if backoff == .throttled, !knowsBetter {
                world.nextSilence = max(world.nextSilence, world.now + 3_000_000_000)
            }
            machine.drawn(.seconds(backoff == .throttled ? 3 : 2), at: now)
        case .look(let position):
            becomeDue()
            let heads = heads
            let urgent = heads.filter { head in world.items.contains { $0.lane == head.lane && $0.isUrgent } }
            machine.found(
                heads.filter { $0.position > position }.prefix(2).map(\.head), urgent: urgent.prefix(2).map(\.head),
                dueIn: dueIn, at: now)
        case .apply(let changes, let claims):
            for change in changes { make(change) }
            if !claims.isEmpty, world.handPause != world.knownHandPause {
                machine.otherPause()
                _ = machine.applied([], at: now)
                break
            }
            try require(
                claims.isEmpty || world.isClaimingBesides || world.now >= world.handPause ?? 0,
                "it sends though it is paused by hand")
            world.isClaimingBesides = false
            try launch(machine.applied(claims.compactMap { item($0)?.head }, at: now))
        case .check:
            world.isWell = true
            machine.checked(nil, sentAt: now, at: now)
        case .countPending:
            becomeDue()
            machine.counted(
                Machine.Rest(pending: world.items.count, heads: heads.count, dueIn: dueIn), at: now)
        case .end(let end):
            try roundEnded(end)
        case .fail:
            try require(world.hasFailed && world.inFlight.isEmpty, "a flight fails without a reason, or too soon")
            world.goesOnAt = machine.lastEnd.goesOnAt
            try flightEnded(machine.flightFailed())
        case .wait:
            break
        }
        try tell()
    }

    private var heads: [Item] {
        var heads: [String: Item] = [:]
        for item in world.items where heads[item.lane] == nil && !isBlocked(item.lane) { heads[item.lane] = item }
        return heads.values.filter { $0.due == 0 }.sorted { $0.position < $1.position }
    }

    private mutating func becomeDue() {
        for index in world.items.indices where world.items[index].due <= world.now { world.items[index].due = 0 }
    }

    private var dueIn: Duration? {
        world.items.map(\.due).filter { $0 > 0 }.min().map { .nanoseconds($0 - world.now) }
    }

    private func isBlocked(_ lane: String) -> Bool {
        laneRule == .block && world.dead.contains { $0.lane == lane }
    }

    private mutating func make(_ change: MutationChange) {
        if case .acknowledged(let position) = change { world.unsettled.remove(position) }
        guard let index = world.items.firstIndex(where: { $0.position == change.position }) else { return }
        switch change {
        case .acknowledged:
            world.items.remove(at: index)
        case .answered:
            return
        case .failed:
            world.items[index].failures += 1
        case .died:
            let lane = world.items[index].lane
            let parked =
                laneRule == .killRest ? world.items.filter { $0.lane == lane } : [world.items[index]]
            world.dead += parked
            world.items.removeAll { parked.contains($0) }
        }
        world.failed.remove(change.position)
        world.maybeFailed.remove(change.position)
    }

    private mutating func launch(_ requests: [Machine.Request]) throws {
        for request in requests {
            let positions = request.mutations.map(\.position)
            for mutation in request.mutations {
                let busy = world.inFlight.values.joined().compactMap { item($0)?.lane ?? world.removed[$0] }
                try require(!busy.contains(mutation.entity), "two of lane \(mutation.entity) are in flight")
                let first = world.items.first { $0.lane == mutation.entity }
                try require(first?.position == mutation.position, "\(mutation.position) is sent out of order")
                try require(!isBlocked(mutation.entity), "lane \(mutation.entity) is blocked")
                try require(first.map { $0.due <= world.now } ?? false, "\(mutation.position) is sent before its date")
            }
            try require(Set(request.lanes).count == positions.count, "two of one lane go together")
            try require(Set(request.mutations.map(\.kind)).count == 1, "two kinds go together")
            world.inFlight[request.id] = positions
        }
    }

    private mutating func roundEnded(_ end: FlushReport.End) throws {
        let round = machine.roundEnded(end, at: now)
        let (counts, end, after) = (round.counts, round.end, round.after)
        try require(counts.delivered >= 0 && counts.throttled <= counts.requests, "\(counts)")
        if !end.isLockedOut {
            if !world.isCancelled { try require(world.failed.isEmpty, "\(world.failed) are not told") }
            (world.failed, world.maybeFailed) = ([], [])
        }
        let left = world.items.filter { $0.isAnnounced && !isBlocked($0.lane) }.map(\.position)
        switch end {
        case .cancelled:
            try require(world.isCancelled || world.isStopped, "nobody cancelled it")
            // The cancelled caller triggered the flight for what existed then; other callers caused another flight.
            if !world.isJoined, world.goesOnAt == nil {
                for index in world.items.indices { world.items[index].isAnnounced = false }
            }
            return try flightEnded(after)
        case .drained, .blocked:
            try require(after == .again || left.isEmpty, "\(left) are forgotten")
        case .paused(let until):
            let isStored = world.pause.map { $0 >= until.nanoseconds } ?? false
            let isForAQuota = machine.pace.silentUntil(at: now).map { $0 >= until } ?? troubles.contains(.quotas)
            let isByHand = world.knownHandPause.map { $0 >= until.nanoseconds } ?? false
            try require(world.wasResumed || isStored || isForAQuota || isByHand, "a pause that is not stored")
        case .lockedOut:
            try require(!world.hadLockLast, "it is locked out by nobody")
        case .waiting(let until):
            try require(until > now || until.nanoseconds >= world.now - 1_000_000_000, "a wait that is over")
            try require(after == .again || dueIn != nil, "it waits for nothing")
        case .offline, .stalled:
            break
        }
        guard after != .again else { return }
        world.goesOnAt = end.goesOnAt
        world.isFlying = false
        try require(after, is: .rest(until: world.goesOnAt))
        try rest()
    }

    /// A cancelled or failed flight.
    private mutating func flightEnded(_ after: Machine.After) throws {
        world.isFlying = false
        try require(after, is: world.isJoined ? .triggerAgain : .rest(until: world.goesOnAt))
        if world.isJoined { try trigger() } else { try rest() }
    }

    private mutating func rest() throws {
        try require(machine.lanes.busy.isEmpty && machine.inFlight == 0, "something is left in flight")
        try require(world.lock != .ours, "it keeps the lock")
        if world.isStopped { return try require(machine.goesOnAt == nil, "once stopped it goes on by itself") }
        world.alarm = world.goesOnAt?.nanoseconds
        try pass(until: world.now)
    }

    private mutating func tell() throws {
        for event in machine.takeEvents() {
            switch event {
            case .delivered(let id):
                try require(world.told.insert(id).inserted, "\(id) is told twice")
                try require(item(Int64(id) ?? 0) == nil, "\(id) is told before the store knows")
            case .paused:
                let isForAQuota = machine.pace.silentUntil(at: now) != nil
                try require(world.pause != nil || isForAQuota, "a pause is told before it is stored")
            case .storeFailed:
                try require(world.hasFailed, "the store has not failed")
            default:
                break
            }
        }
    }

    // MARK: Coming to an end

    /// If nothing fails from now on, and nobody triggers, the machine stops, and announced mutations are sent.
    mutating func comeToAnEnd() throws {
        if world.lock == .another { world.lock = .free }
        for _ in 0..<2_000 {
            if world.isFlying {
                if world.action != nil {
                    try act()
                } else {
                    try ask()
                    guard world.action == nil, world.isFlying else { continue }
                    if let request = world.inFlight.keys.min() {
                        answer(request, .delivered)
                    } else if case .wait(let until) = machine.next(at: now) {
                        try pass(until: until.nanoseconds)
                    }
                }
            } else if world.isClearing {
                try remove()
            } else if let alarm = world.alarm {
                try pass(until: alarm)
            } else {
                // The queue does not hear that another process has shortened an endless pause.
                if !world.isStopped, world.handPause == .max || world.knownHandPause == .max {
                    try resume()
                    continue
                }
                let left = world.items.filter { $0.isAnnounced && !isBlocked($0.lane) }.map(\.position)
                return try require(world.isStopped || left.isEmpty, "\(left) are never sent")
            }
        }
        throw BrokenInvariant("it comes to no end")
    }
}

/// Explorations of SyncStateMachine.
@Suite(.heavy) struct SyncExplorationTests {
    @Test(
        "with two requests in flight, nothing is lost, doubled or sent in a pause, and the flight ends",
        arguments: QueueInAWorld.Trouble.allCases)
    fileprivate func far(trouble: QueueInAWorld.Trouble) throws {
        let explorer = Explorer(
            try QueueInAWorld.underWay(laneRule: .skip, troubles: [trouble]),
            code: "try QueueInAWorld.underWay(laneRule: .skip, troubles: [.\(trouble)])")
        #expect(try explorer.explore(transitionsPerEffort: 1_500).transitions >= 1_500)
    }

    @Test("a pause that is ended by hand before it is stored is not stored, and another queue's pause stays")
    func resumedBeforeStored() throws {
        var world = QueueInAWorld(
            laneRule: .skip, troubles: [.resumed, .refusedElsewhere, .anotherQueue], count: 40, weight: 3)
        for input: QueueInAWorld.Input in [
            .append(lane: 1), .elsewhere(.throttled), .ask, .act, .resume, .otherPauses,
        ] {
            try world.apply(input)
        }
        try world.comeToAnEnd()
    }

    @Test(
        "over random histories with some kinds of trouble nothing is lost, doubled, sent in a pause or out of order",
        arguments: QueueInAWorld.Trouble.allCases, LaneRule.allCases)
    fileprivate func walks(trouble: QueueInAWorld.Trouble, laneRule: LaneRule) throws {
        for seed in UInt64(1)...2 { try walk([trouble, .storeFails], laneRule, seed: seed) }
    }

    @Test(
        "over random histories with all kinds of trouble nothing is lost, doubled, sent in a pause or out of order",
        arguments: LaneRule.allCases, 1...5 as ClosedRange<UInt64>)
    func mixed(laneRule: LaneRule, seed: UInt64) throws {
        try walk(QueueInAWorld.Trouble.allCases, laneRule, seed: seed)
    }

    private func walk(_ troubles: [QueueInAWorld.Trouble], _ laneRule: LaneRule, seed: UInt64) throws {
        let list = troubles.map { ".\($0)" }.joined(separator: ", ")
        let explorer = Explorer(
            QueueInAWorld(laneRule: laneRule, troubles: troubles, count: 40, rounds: 4, weight: 3),
            code: "QueueInAWorld(laneRule: .\(laneRule), troubles: [\(list)], count: 40, rounds: 4, weight: 3)")
        try explorer.exploreRandomly(length: 1_000, seed: seed)
    }
}

extension FlushReport.End {
    fileprivate var isLockedOut: Bool { if case .lockedOut = self { true } else { false } }
}
