/// Lets a limited number of calls run at the same time; a bounded queue, first come first served, holds the next ones.
///
/// ```swift
/// let bulkhead = Bulkhead(limit: 16, queue: 64, maxWait: .seconds(2))
/// ```
///
/// A freed permit goes to the first in the queue; nobody overtakes. A call whose deadline comes first, or that is
/// cancelled, leaves the queue at once.
public final class Bulkhead: Policy {
    public let name: String
    public var timeBase: (any TimeBase)? { base }
    /// Who is told what this bulkhead does, whichever pipeline it is in.
    public let observers: Observers

    private struct State {
        var machine: BulkheadStateMachine
        /// The parked calls' waiters, by their tickets.
        var waiters: [UInt64: Waiter] = [:]
    }

    private let base: any TimeBase
    private let maxWait: Duration
    private let state: Locked<State>

    /// - Parameters:
    ///   - limit: calls at the same time; 1 or more.
    ///   - queue: calls that may wait; 0 or more.
    ///   - maxWait: the longest wait in the queue; without a limit if nil.
    public init(
        _ name: String = "bulkhead", limit: Int, queue: Int = 0, maxWait: Duration? = nil,
        timeBase: any TimeBase = .system, observers: Observers = Observers()
    ) {
        precondition(maxWait.map { $0 >= .zero } ?? true, "Bulkhead: maxWait is \(maxWait!), and must not be negative")
        self.name = name
        self.observers = observers
        self.maxWait = maxWait ?? .infinite
        base = timeBase
        state = Locked(State(machine: BulkheadStateMachine(limit: limit, queueLimit: queue)))
    }

    // The slot's first word is where the call stands.
    private enum Stage {
        static let outside: UInt64 = 0
        static let inside: UInt64 = 1
        static let queued: UInt64 = 2
    }

    public func enter(_ call: inout Call, _ slot: inout Slot) -> Entry {
        if slot.first == Stage.queued { return askAgain(&call, &slot) }
        let (answer, waiter) = state.withLock { state -> (BulkheadStateMachine.Answer, Waiter?) in
            let answer = state.machine.arrive()
            guard case .queue(let ticket) = answer else { return (answer, nil) }
            let waiter = Waiter()
            state.waiters[ticket] = waiter
            return (answer, waiter)
        }
        switch answer {
        case .enter:
            slot.first = Stage.inside
            return .proceed
        case .queue(let ticket):
            slot.first = Stage.queued
            slot.second = ticket
            call.emit(Event.queued, from: name, to: observers)
            // Present, since .queue makes one.
            return .park(waiter!, until: waitEnd(&call))
        case .refuse:
            call.emit(Event.refused(.full), from: name, to: observers)
            return .refuse(BulkheadFull(bulkhead: name, reason: .full))
        }
    }

    private func waitEnd(_ call: inout Call) -> Instant {
        if maxWait == .infinite { return call.deadline }
        return min(call.deadline, call.now + maxWait)
    }

    /// The wait is over: by a permit, or by the time.
    private func askAgain(_ call: inout Call, _ slot: inout Slot) -> Entry {
        let ticket = slot.second
        // No longer in the queue means: handed a permit.
        let waited = state.withLock { state in
            guard state.machine.leaveQueue(ticket) else { return false }
            state.waiters[ticket] = nil
            return true
        }
        guard waited else {
            slot.first = Stage.inside
            return .proceed
        }
        slot.first = Stage.outside
        call.emit(Event.refused(.waitedTooLong), from: name, to: observers)
        return .refuse(BulkheadFull(bulkhead: name, reason: .waitedTooLong))
    }

    public func exit(_ call: inout Call, _ slot: inout Slot, _ outcome: Outcome) -> Exit {
        let next = state.withLock { state -> Waiter? in
            if slot.first == Stage.queued, state.machine.leaveQueue(slot.second) {
                state.waiters[slot.second] = nil
                return nil
            }
            guard let ticket = state.machine.leave() else { return nil }
            return state.waiters.removeValue(forKey: ticket)
        }
        slot.first = Stage.outside
        next?.resume()
        return .pass
    }

    /// Calls inside now.
    public var inUse: Int { state.withLock { $0.machine.inUse } }
    /// Calls in the queue now.
    public var queued: Int { state.withLock { $0.machine.queued } }

    public var description: String {
        let (limit, queue) = state.withLock { ($0.machine.limit, $0.machine.queueLimit) }
        let wait = maxWait == .infinite ? "" : " for at most \(maxWait)"
        return "\(name): \(limit) at a time, \(queue) queued\(wait)"
    }
}

extension Bulkhead {
    public enum Event: PolicyEvent, Equatable {
        case queued
        case refused(BulkheadFull.Reason)

        public var description: String {
            switch self {
            case .queued: "full, call queued"
            case .refused(.full): "full, queue full, refusing call"
            case .refused(.waitedTooLong): "waited too long, refusing call"
            }
        }
    }
}

/// A bulkhead refused the call; it did not run.
public struct BulkheadFull: Rejection, Hashable {
    public enum Reason: Sendable, Hashable {
        /// All permits in use and the queue full.
        case full
        /// No permit came within the wait or before the call's deadline.
        case waitedTooLong
    }

    /// The bulkhead's name.
    public let bulkhead: String
    public let reason: Reason
    /// Nobody can tell.
    public var retryAfter: Duration? { nil }

    public init(bulkhead: String, reason: Reason) {
        self.bulkhead = bulkhead
        self.reason = reason
    }

    public var description: String { "Too many calls at the same time (\(bulkhead)). \(retryAdvice)" }
}
