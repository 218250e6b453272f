/// Permits handed out in lots by another object: this process's part of a limit that several processes share.
///
/// A lot is valid until an instant. Then its unused permits lapse, and are given back.
package struct LeasedPermits: Sendable, Equatable {
    private struct Lot: Equatable {
        var left = 0
        var ends = Int64.min
        /// Permits of lots with different marks are not mixed: they belong to different windows.
        var mark: Int64 = 0
    }

    /// The largest cost of one call, and the largest number of permits at hand.
    private(set) var largest: Int
    /// How long to wait for the supply's answer before it counts as missing.
    let patience: Int64
    private var lot = Lot()
    /// Before this instant, the supply has no further permits. From then on it is unknown whether it has any.
    private var next = Int64.min
    /// The supply is told when fewer permits than this remain.
    private var low = 0
    private var mayProbeUntil = Int64.min
    /// The number of further permits that all processes could use, valid until `freeUntil`.
    private var free = 0
    private var freeUntil = Int64.min
    private var report = PermitReport()
    /// Whether the report holds urgent news for the supply.
    private(set) var isUrgent = false

    init(largest: Int, patience: Duration) {
        self.largest = largest
        self.patience = max(1, patience.saturatedNanoseconds)
    }

    // MARK: Calls

    func available(at now: Int64) -> Int { lot.ends > now ? lot.left : 0 }

    /// The number of free permits of the shared limit that this process does not hold, as far as known.
    func free(at now: Int64) -> Int { freeUntil > now ? free : 0 }

    /// Whether the supply may have further permits; if false, it certainly has none.
    func isUnknown(at now: Int64) -> Bool { next <= now }

    /// Takes the permits of a call if there are enough.
    /// - Returns: The call's turn; `now` or before if the permits were taken.
    mutating func take(_ cost: Int, at now: Int64) -> Int64 {
        lapse(at: now)
        guard lot.left >= cost else { return turn(of: cost, behind: 0, at: now) }
        lot.left -= cost
        report.taken = report.taken.saturatingAdding(cost)
        return now
    }

    /// Takes the permits of a call if afterwards enough permits remain that the supply need not be told.
    mutating func takeAtOnce(_ cost: Int, at now: Int64) -> Bool {
        available(at: now) - low >= cost && take(cost, at: now) <= now
    }

    /// The expected time at which a call may go.
    func turn(of cost: Int, behind: Int, at now: Int64) -> Int64 {
        available(at: now) >= cost.saturatingAdding(behind) ? now : answerComes(by: now)
    }

    /// The latest time at which it will be known whether there are more permits. Always later than now.
    func answerComes(by now: Int64) -> Int64 { isUnknown(at: now) ? now.saturatingAdding(patience) : next }

    var receipt: ShareReceipt { ShareReceipt(first: UInt64(bitPattern: lot.mark), second: .max) }

    /// Gives back the permits of a call that never reached the other side.
    mutating func giveBack(_ cost: Int, _ receipt: ShareReceipt, at now: Int64) {
        guard receipt.second == .max else { return }
        report.taken -= min(report.taken, cost)
        let mark = Int64(bitPattern: receipt.first)
        if mark == lot.mark, lot.ends > now { lot.left += cost } else { addUnused(cost, mark) }
    }

    /// A call was rejected because there were too few permits.
    mutating func missed(_ cost: Int) { report.missed = report.missed.saturatingAdding(cost) }

    mutating func setLargest(_ count: Int) {
        largest = count
        guard lot.left > count else { return }
        addUnused(lot.left - count, lot.mark)
        lot.left = count
    }

    private mutating func lapse(at now: Int64) {
        guard lot.left > 0, lot.ends <= now else { return }
        addUnused(lot.left, lot.mark)
        lot.left = 0
    }

    /// Permits of an earlier mark are no longer given back.
    private mutating func addUnused(_ count: Int, _ mark: Int64) {
        if mark != report.unusedMark { report.unused = 0 }
        report.unused += count
        report.unusedMark = mark
    }

    // MARK: The gate

    func mayProbe(at now: Int64) -> Bool { mayProbeUntil > now }

    /// A call asks to be the probe.
    mutating func wantsProbe(at now: Int64) {
        guard isUnknown(at: now), !report.wantsProbe else { return }
        report.wantsProbe = true
        isUrgent = true
    }

    mutating func probeBegan() {
        mayProbeUntil = .min
        report.wantsProbe = false
    }

    mutating func probeEnded(_ end: PermitReport.ProbeEnd) {
        report.probeEnd = end
        isUrgent = true
        drop()
    }

    mutating func held(_ hold: PermitReport.Hold) {
        report.hold = hold
        report.probeEnd = nil
        isUrgent = true
        drop()
    }

    /// All processes reset their use.
    mutating func reset() {
        report.isReset = true
        isUrgent = true
        drop()
    }

    mutating func giveBackAll() {
        if lot.left > 0 { addUnused(lot.left, lot.mark) }
        lot.left = 0
    }

    /// Gives back the remaining permits; the number of available permits is then unknown.
    mutating func drop() {
        giveBackAll()
        next = .min
        mayProbeUntil = .min
    }

    // MARK: The supply

    /// Returns the news since the last report, and begins a new report.
    mutating func takeReport(at now: Int64) -> PermitReport {
        lapse(at: now)
        var report = report
        (report.left, report.lotEnds) = (lot.left, lot.ends)
        self.report = PermitReport()
        isUrgent = false
        return report
    }

    /// Takes over a lot from the supply.
    mutating func grant(_ grant: PermitGrant, at now: Int64) {
        lapse(at: now)
        if grant.count > 0 {
            if grant.mark != lot.mark { giveBackAll() }
            lot = Lot(left: lot.left.saturatingAdding(grant.count), ends: grant.ends.nanoseconds, mark: grant.mark)
        }
        next = grant.next.nanoseconds
        low = grant.low
        (free, freeUntil) = (grant.free, grant.freeUntil.nanoseconds)
        // The permission to probe counts only if no hold began or ended here since the last report.
        mayProbeUntil = report.hold == nil ? grant.mayProbeUntil.nanoseconds : .min
    }

    /// Whether the gate has changed here since the last report, so that the supply's news of the gate is older.
    var hasGateNews: Bool { report.hold != nil || report.probeEnd != nil }

    /// Whether losing its state would change nothing.
    func isFull(at now: Int64) -> Bool {
        available(at: now) == 0 && report.unused == 0 && !hasGateNews && !report.isReset
    }
}

/// A throttle's report to a supply of permits: the news since the last report, and the present state.
package struct PermitReport: Sendable, Equatable {
    /// A change of the gate by calls, or by hand.
    package enum Hold: Sendable, Equatable {
        /// `counts`: whether the hold is for a 429.
        case until(MonotonicInstant, counts: Bool)
        case ended
    }

    package enum ProbeEnd: Sendable, Equatable {
        case well
        /// The probe's end is inconclusive: another call must probe.
        case unclear
    }

    /// The cost of the calls that were admitted.
    package var taken = 0
    /// The cost of the calls that were rejected because there were too few permits.
    package var missed = 0
    /// The unused permits, which belong to the lot with this mark.
    package var unused = 0
    package var unusedMark: Int64 = 0
    package var hold: Hold?
    package var probeEnd: ProbeEnd?
    /// Whether a call asks to be the probe.
    package var wantsProbe = false
    /// Whether to reset all use.
    package var isReset = false

    /// The permits left, valid until an instant.
    package var left = 0
    package var lotEnds = Int64.min
    /// The cost of the calls that wait.
    package var waiting = 0
    /// Whether a probe is in flight.
    package var isProbing = false
    /// The instant until which the gate is shut; nil if it is open.
    package var heldUntil: MonotonicInstant?

    package init() {}
}

/// A supply's answer to a throttle.
package struct PermitGrant: Sendable, Equatable {
    package enum Gate: Sendable, Equatable {
        case open
        case held(until: MonotonicInstant)
        /// A call of this process probes, or may probe.
        case probing
    }

    /// The number of permits, valid until `ends`.
    package var count = 0
    package var mark: Int64 = 0
    package var ends = MonotonicInstant.distantPast
    /// When there may be more permits; before that instant, there are certainly none.
    package var next = MonotonicInstant.distantPast
    /// The supply wants to be told when fewer permits than this remain.
    package var low = 0
    /// The number of free permits that this process does not hold, valid until `freeUntil`.
    package var free = 0
    package var freeUntil = MonotonicInstant.distantPast
    /// The number of holds in a row, over all processes.
    package var holds = 0
    /// nil if unknown.
    package var gate: Gate?
    package var mayProbeUntil = MonotonicInstant.distantPast

    package init() {}
}
