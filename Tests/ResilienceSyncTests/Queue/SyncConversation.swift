import Foundation
import Resilience

@testable import ResilienceSync

/// A machine, and the answers to it. The store holds no pause, and every drawn delay is a second.
struct SyncConversation {
    typealias Action = SyncStateMachine.Action

    var machine: SyncStateMachine
    var now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    /// The heads that a look finds.
    var heads: [LaneHead] = []
    /// The next answer for the sending lock.
    var lock = SendingLock.taken
    /// Whether the store holds the machine's pause.
    var isPauseStored = false
    /// The reported events, in order.
    var events: [SyncEvent] = []

    init(
        maxFailures: Int = 5, counting: FailureCounting = .always, laneRule: LaneRule = .skip, lateness: Double = 0,
        isShared: Bool = false
    ) {
        let rules = LanesStateMachine.Rules(batchLimits: ["one": 1, "many": 3], otherKinds: nil)
        machine = SyncStateMachine(
            SyncStateMachine.Settings(
                maxFailures: maxFailures, failureCounting: counting, laneRule: laneRule, maxPause: .seconds(600),
                lateness: lateness, isShared: isShared, rules: rules),
            lanes: LanesStateMachine(pageSize: 10), pace: SendPace(maxInFlight: 4))
    }

    /// The next action, except those that only look.
    mutating func next() -> Action {
        while true {
            let action = machine.next(at: now)
            events += machine.takeEvents()
            switch action {
            case .lock:
                isPauseStored = machine.pauses.stored == .isThere
                machine.locked(lock, at: now)
                if lock == .taken { lock = .takenAgain }
            case .unlock: machine.unlocked()
            case .readPause: machine.pauseRead(left: isPauseStored ? .zero : nil, isKnown: true, at: now)
            case .countPending where machine.settings.laneRule == .skip && !machine.settings.isShared:
                machine.counted(SyncStateMachine.Rest(), at: now)
            case .look(let position): machine.found(heads.filter { $0.position > position })
            default: return action
            }
        }
    }

    /// Begins a flight that has the sending lock, after another queue may have had it.
    mutating func begin(pauseLeft: Duration?) {
        _ = machine.triggered(at: now)
        machine.locked(.taken, at: now)
        lock = .takenAgain
        machine.pauseRead(left: pauseLeft, at: now)
    }

    /// Claims the mutations, as the machine requested.
    @discardableResult
    mutating func apply(_ positions: [Int64]) -> [SyncStateMachine.Request] {
        let claimed = heads.filter { positions.contains($0.position) }
        heads.removeAll { positions.contains($0.position) }
        defer { events += machine.takeEvents() }
        return machine.applied(claimed, at: now)
    }

    /// These mutations are all that is pending. They are sent at once, by a new flight or by the current one.
    mutating func send(_ heads: LaneHead...) -> [SyncStateMachine.Request] {
        self.heads = heads
        _ = machine.triggered(at: now)
        var action = next()
        // The stored pause is over.
        if action == .keepPause(nil) {
            machine.pauseKept(false)
            action = next()
        }
        guard case .apply(_, let positions) = action else { return [] }
        return apply(positions)
    }

    mutating func end(_ request: SyncStateMachine.Request, _ failures: SyncStateMachine.Failure?...) {
        machine.requestEnded(request.id, .answered(failures), at: now)
    }

    mutating func fail(_ request: SyncStateMachine.Request, _ failure: SyncStateMachine.Failure) {
        machine.requestEnded(request.id, .failed(failure), at: now)
    }

    /// All actions until there is nothing more to do for now.
    struct Course: Equatable {
        /// The requested delays and pauses.
        var asked: [Action] = []
        var changes: [MutationChange] = []
        /// A wait, or the end.
        var last: Action
    }

    mutating func course() -> Course {
        var course = Course(last: .fail)
        while true {
            let action = next()
            switch action {
            case .draw:
                course.asked.append(action)
                machine.drawn(.seconds(1), at: now)
            case .keepPause(let length):
                course.asked.append(action)
                machine.pauseKept(length != nil)
            case .apply(let changes, let positions):
                course.changes += changes
                apply(positions)
            default:
                course.last = action
                return course
            }
        }
    }

    /// Performs all actions until the flight ends.
    mutating func finish() -> SyncStateMachine.RoundEnd? {
        guard case .end(let planned) = course().last else { return nil }
        defer { events += machine.takeEvents() }
        return machine.roundEnded(planned, at: now)
    }
}

extension SyncStateMachine.Failure {
    static let unavailable = Self(verdict: .transient, error: "503")
    static let gone = Self(verdict: .permanent, error: "410")
    static let throttled = Self(verdict: .throttled, error: "429")
    static let unreachable = Self(verdict: .transient, error: "no network", isOffline: true)

    static func throttled(_ wait: Duration) -> Self { Self(verdict: .throttled(retryAfter: wait), error: "429") }
}
