package import Resilience

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A queue without tasks, on a store in memory: its owner sends the requests, and reports their ends.
///
/// It follows the same machine as a ``SyncQueue``, in a process that is never stopped. It belongs to one thread.
package final class SteppedQueue {
    private let configuration: SyncQueueConfiguration
    private let store = MemoryStore()
    private var machine: SyncStateMachine
    /// The end of the stored pause.
    private var pause: MonotonicInstant?
    /// When the next flight begins.
    private var beginsAt = MonotonicInstant.distantFuture

    package init(_ configuration: SyncQueueConfiguration = SyncQueueConfiguration()) {
        self.configuration = configuration
        machine = SyncStateMachine(
            configuration,
            LanesStateMachine.Rules(batchLimits: [:], otherKinds: .single, maxClaims: configuration.maxClaims),
            isShared: false)
    }

    package func enqueue(_ mutations: [Mutation], at now: MonotonicInstant) throws {
        _ = try store.append(mutations, under: configuration.appending, at: date(at: now))
        _ = machine.triggered(at: now)
    }

    package var totals: QueueTotals { store.totals() }

    /// Follows the machine for as long as it goes on.
    /// - Returns: The requests to send now, each with one mutation; and when to call this again, at the latest. It must
    ///   also be called after ``ended(_:_:rejectedFor:at:)``.
    package func goOn(at now: MonotonicInstant) -> (requests: [Int], next: MonotonicInstant) {
        if beginsAt <= now {
            beginsAt = .distantFuture
            _ = machine.triggered(at: now)
        }
        var requests: [Int] = []
        while true {
            switch machine.next(at: now, oldest: configuration.maxAge.map { date(at: now).earlier(by: $0) }) {
            case .lock: machine.locked(.takenAgain, at: now)
            case .unlock: machine.unlocked()
            case .readPause:
                machine.pauseRead(left: pause.map { max(.zero, now.duration(to: $0)) }, isKnown: true, at: now)
            case .keepPause(let length):
                pause = length.map { now + $0 }
                machine.pauseKept(length != nil)
            case .draw(let backoff, let retry):
                machine.drawn(configuration.delay(of: backoff, beforeRetry: retry), at: now)
            case .look(let position):
                let found = store.heads(after: position, limit: configuration.pageSize, at: date(at: now))
                machine.found(found.heads, urgent: found.urgent, dueIn: dueIn(found, at: now), at: now)
            case .apply(let changes, let positions):
                let applied = store.apply(changes, claiming: positions, keeping: configuration.dead, at: date(at: now))
                requests += machine.applied(applied.claimed.map { LaneHead($0) }, at: now).map(\.id)
            case .check: machine.checked(nil, sentAt: now, at: now)
            case .countPending:
                let found = store.heads(after: .min, limit: 1, at: date(at: now))
                machine.counted(
                    SyncStateMachine.Rest(
                        pending: store.totals().pending, heads: max(found.heads.count, found.urgent.count),
                        dueIn: dueIn(found, at: now)), at: now)
            case .wait(let instant):
                // Nobody watches.
                _ = machine.takeEvents()
                return (requests, min(instant, beginsAt))
            case .end(let end): rest(machine.roundEnded(end, at: now).after, at: now)
            case .fail: rest(machine.flightFailed(), at: now)
            }
        }
    }

    /// A request has ended.
    /// - Parameter rejectedFor: The wait that a policy which rejected the request names.
    package func ended(
        _ request: Int, _ verdict: Verdict, rejectedFor wait: Duration? = nil, at now: MonotonicInstant
    ) {
        let failure = SyncStateMachine.Failure(verdict: verdict, error: "\(verdict)", rejectedFor: wait)
        machine.requestEnded(request, verdict.kind == .success ? .answered([nil]) : .failed(failure), at: now)
    }

    private func rest(_ after: SyncStateMachine.After, at now: MonotonicInstant) {
        switch after {
        case .again: break
        case .triggerAgain: beginsAt = now
        case .rest(let instant): beginsAt = instant ?? .distantFuture
        }
    }

    private func date(at now: MonotonicInstant) -> Date {
        Date(timeIntervalSinceReferenceDate: Double(now.nanoseconds) / 1e9)
    }

    private func dueIn(_ found: LaneHeads, at now: MonotonicInstant) -> Duration? {
        found.nextDue.map { $0.time(since: date(at: now)) }
    }
}
