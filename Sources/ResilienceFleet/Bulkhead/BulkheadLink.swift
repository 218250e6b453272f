import Resilience

/// Keeps a bulkhead supplied with its part of a limit that the fleet keeps together.
final class BulkheadLink: PermitSupply, FleetLink {
    private struct State {
        /// No question before this, however many calls are rejected.
        var next = MonotonicInstant.distantPast
        var part = 0
        /// When the part is no longer this process's.
        var ends = MonotonicInstant.distantPast
        var members = Fleet.KnownMembers()
        /// How many questions there were.
        var questions = 0
        var missed = 0
        /// Whether the loop was rung for these.
        var isRung = false
        var usedLast = MonotonicInstant.distantPast
    }

    private let fleet: Fleet
    private let key: String
    private let member: String
    private let limit: Int
    private let fallback: FleetFallback
    private let bulkhead = WeakReference<Bulkhead>()
    private let state = Locked(State())
    private let loop: FleetLoop

    init(fleet: Fleet, key: String, limit: Int, fallback: FleetFallback) {
        self.fleet = fleet
        self.key = key
        member = fleet.makeMember()
        self.limit = limit
        self.fallback = fallback
        loop = FleetLoop(on: fleet.timeBase)
        loop.works(for: self)
    }

    func link(_ bulkhead: Bulkhead) {
        self.bulkhead.value = bulkhead
        // It asks often at first: how many others there are, a first answer can't tell.
        state.withLock { $0.usedLast = fleet.timeBase.now }
        loop.ring()
    }

    deinit {
        guard state.withLock({ $0.questions }) > 0 else { return }
        fleet.leave(.bulkhead, key: key, arguments: arguments(need: 0, spare: 0, held: 0, valid: .zero))
    }

    private func arguments(need: Int, spare: Int, held: Int, valid: Duration) -> [String] {
        let number = state.withLock { state in
            state.questions += 1
            return state.questions
        }
        return [member, "\(limit)", "\(need)", "\(spare)", "\(held)", "\(valid.microseconds)", "\(number)"]
    }

    func isWanted(isUrgent: Bool) {
        let isFirst = state.withLock { state in
            state.missed = min(limit, state.missed + 1)
            defer { state.isRung = true }
            return !state.isRung
        }
        if isFirst { loop.ring() }
    }

    /// For how many leases a part is this process's, unless it asks again: an idle process asks seldom.
    private func leases(isIdle: Bool) -> Int { isIdle ? 60 : 10 }

    func step() async -> FleetLoop.Next {
        guard let bulkhead = bulkhead.value else { return .never }
        let (now, lease) = (fleet.timeBase.now, fleet.leaseTime)
        let next = state.withLock { $0.next }
        guard next <= now else { return .at(next) }
        let missed = state.withLock { state in
            defer { (state.missed, state.isRung) = (0, false) }
            return state.missed
        }
        let (used, queued) = (bulkhead.inUse, bulkhead.queued)
        let isIdle = state.withLock { state in
            if used + queued + missed > 0 { state.usedLast = now }
            return state.usedLast + lease * 20 < now
        }
        let valid = lease * leases(isIdle: isIdle)
        let need = min(limit, used + queued + missed)
        // One more, so that the next one need not wait; a quarter more for a burst.
        let spare = min(limit - need, max(1, used / 4))
        let held = max(used, state.withLock { $0.part })
        var (part, isAway) = (0, false)
        do {
            let arguments = arguments(need: need, spare: spare, held: min(held, limit), valid: valid)
            let answer = try await fleet.run(.bulkhead, key: key, arguments: arguments) { words in
                words.count == 2 && (0...Int64(limit)).contains(words[0]) && words[1] >= 1 ? words : nil
            }
            let members = Int(clamping: answer[1])
            fleet.note(members: members)
            part = Int(answer[0])
            state.withLock { state in
                (state.part, state.ends) = (part, now + (valid - lease))
                state.members.learn(members, lease: lease, at: now)
            }
        } catch {
            isAway = true
            let later = fleet.timeBase.now
            let (last, ends, members) = state.withLock { ($0.part, $0.ends, $0.members.count) }
            switch fallback {
            case _ where later < ends: part = last
            case .localShare: part = max(1, limit / fleet.divisor(known: members))
            case .open: part = Int.max / 2
            case .closed: part = 0
            }
        }
        bulkhead.take(part: part)
        let later = fleet.timeBase.now
        state.withLock { $0.next = later + lease / 2 }
        if isAway {
            let ends = state.withLock { $0.ends }
            return .at(later < ends ? min(ends, later + lease * 5) : later + lease * 5)
        }
        // What was given up is free for others with the next question.
        if part < held, used < held { return .at(later + lease / 2) }
        return .at(later + (isIdle ? lease * 20 : need > part ? lease : lease * 5 / 2))
    }
}
