import Resilience

/// The state of one flight, and the state between flights.
extension SyncStateMachine {
    /// A flight: one or more rounds, until nothing is left or nothing more may be sent. It ends once no request is in
    /// flight, the lock is given back, and all its inputs are processed.
    struct Flight: Sendable, Hashable {
        /// In each phase the store may fail → failing
        enum Phase: Sendable, Hashable {
            /// A round begins, and looks for a pause. → sending, ending
            case opening
            /// → ending
            case sending
            /// The end of the round is decided. → opening, or the flight is over
            case ending(FlushReport.End)
            /// Requests in flight may end. → failed
            case failing(error: String)
            /// The flight is over once the lock is given back.
            case failed
        }

        /// Why nothing more is sent for now.
        enum Halt: Sendable, Hashable {
            /// A pause; the pace has its end.
            case pause
            case outage(retryAt: MonotonicInstant)
        }

        private(set) var phase = Phase.opening
        var isCancelled = false
        /// Whether the other side was found healthy, or need not be checked.
        var isWell: Bool
        var hasLock = false
        var halt: Halt?
        /// The mutations that were removed by hand since the round began: if one is in flight, its failure does not
        /// matter.
        var removed: Set<Int64> = []
        /// The requests whose mutations are being claimed.
        var claiming: [Request] = []
        /// The requests in flight, by id.
        var requests: [Int: Request] = [:]
        /// The unprocessed ends of requests, in order: see SyncStateMachine+Ends.swift.
        var ended: [EndedRequest] = []
        /// The delays still to be requested, in order.
        var draws: [Draw] = []

        init(isWell: Bool) { self.isWell = isWell }

        /// The number of requests in flight or being claimed.
        var width: Int { requests.count + claiming.count }

        mutating func beginRound() { (phase, halt, removed) = (.opening, nil, []) }

        mutating func beginSending() { phase = .sending }

        mutating func end(with end: FlushReport.End) { phase = .ending(end) }

        /// The first failure of the store counts.
        mutating func storeFailed(_ error: String) {
            if case .failing = phase { return }
            phase = .failing(error: error)
        }

        mutating func fail() { phase = .failed }

        mutating func takeClaims() -> [Request] {
            defer { claiming = [] }
            return claiming
        }

        /// - Returns: nil for a request that is not in flight.
        mutating func takeEnd() -> (EndedRequest, Request?)? {
            guard !ended.isEmpty else { return nil }
            let end = ended.removeFirst()
            return (end, requests.removeValue(forKey: end.id))
        }

        mutating func takeDraw() -> Draw? { draws.isEmpty ? nil : draws.removeFirst() }
    }

    /// The results of a flight.
    struct Progress: Sendable, Hashable {
        /// When it began.
        let since: MonotonicInstant
        /// The results of this round, and those of earlier rounds.
        var round = FlushReport.Counts()
        private var before = FlushReport.Counts()

        init(since: MonotonicInstant) { self.since = since }

        var total: FlushReport.Counts {
            var total = before
            total += round
            return total
        }

        mutating func beginRound() { (before, round) = (total, FlushReport.Counts()) }
    }

    /// The failures in a row by kind, so that each wait is longer than the one before it.
    struct Streaks: Sendable, Hashable {
        /// The number of pauses for 429s, or for rejections by the pipeline's policies that named no wait.
        var throttles = 0
        /// Whether the last 429 answered a request that carried no mutation.
        var isThrottledWithout = false
        /// The number of flights that ended because the other side, or the store, could not be reached.
        var outages = 0

        mutating func end() { (throttles, outages) = (0, 0) }

        /// Called when a request that carried no mutation got through: mutations may have another limit.
        mutating func answeredWithout() { if isThrottledWithout { throttles = 0 } }
    }

    /// The knowledge of the stored pauses: for a 429 or a policy, and by hand.
    struct StoredPauses: Sendable, Hashable {
        enum Stored: Sendable, Hashable {
            case unknown, none, isThere
            /// The store's pause differs from the one in force.
            /// - Parameter untold: The length of the pause in force, if it must be stored at once and then reported to
            ///   the observers.
            case isStale(untold: Duration?)
        }

        /// The result of reading the store.
        enum News: Sendable, Hashable {
            /// Another queue has ended the pause by hand.
            case ended
            case paused(for: Duration)
        }

        private(set) var stored = Stored.unknown
        /// Whether another queue has stored or ended a pause since the last reading.
        private(set) var haveChanged = false
        /// The end of the pause by hand; ``MonotonicInstant/distantFuture`` if it has no end.
        var byHand: MonotonicInstant?

        /// A pause to store, and then to report to the observers.
        var untold: Duration? { if case .isStale(let untold) = stored { untold } else { nil } }

        func byHand(at now: MonotonicInstant) -> MonotonicInstant? { byHand.flatMap { now < $0 ? $0 : nil } }

        mutating func paused(for length: Duration) { stored = .isStale(untold: length) }

        /// Gives up storing and reporting the pause in force, because it is over, or because the store has failed.
        mutating func leaveUntold() { if untold != nil { stored = .isStale(untold: nil) } }

        /// - Parameter isThere: False if the stored pause was removed.
        /// - Returns: The length of a pause to report to the observers.
        mutating func kept(_ isThere: Bool) -> Duration? {
            defer { stored = isThere ? .isThere : .none }
            return isThere ? untold : nil
        }

        /// Another queue may have stored a pause, even a queue that made a request without the lock.
        mutating func locked() { stored = .unknown }

        mutating func changedElsewhere() { haveChanged = true }

        /// - Parameters:
        ///   - left: How long the stored pause lasts, zero if it is over; nil if there is none.
        ///   - isKnown: Whether this pause is the one that was stored or read last; the end of that one is known more
        ///     exactly.
        ///   - longest: The longest allowed pause.
        mutating func read(left: Duration?, isKnown: Bool, longest: Duration) -> News? {
            haveChanged = false
            // The stored pause will be replaced.
            if case .isStale = stored { return nil }
            guard let left else {
                defer { stored = .none }
                return stored == .isThere ? .ended : nil
            }
            // A clock that was set back must not prolong the pause beyond the longest one, even after more restarts.
            stored = isKnown || left <= longest ? .isThere : .isStale(untold: nil)
            return isKnown ? nil : .paused(for: min(max(left, .zero), longest))
        }
    }
}
