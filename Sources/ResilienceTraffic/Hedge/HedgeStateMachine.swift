import Resilience

/// Decides when the next copy of a call begins, and which copy ends the call.
///
/// The first copy is the call's own attempt, in flight from the start; the others are its hedges.
struct HedgeStateMachine: Sendable, Hashable {
    enum Step: Sendable, Hashable {
        /// Begin a hedge if the budget allows: ``began(at:)`` or ``mayBeginNoMore()`` follows.
        case begin
        /// Wait until a copy ends, or until this instant.
        case wait(until: MonotonicInstant)
        /// The call ends like the kept copy.
        case end
    }

    /// How useful a copy's end is to the caller if no copy succeeds.
    private struct Worth: Hashable, Comparable {
        enum Rank: Int {
            /// A copy that did not begin must not hide another copy's end. A cancelled copy must not hide another
            /// copy's failure.
            case nothing, cancellation
            case failure
            // The other side's wishes must reach an outer retry.
            case repetition, wait, fewerCalls, noRepetition
            // A failure without an effect must not hide a failure that may have had an effect.
            case unknownEffect
        }

        let rank: Rank
        let wait: Duration

        init(_ verdict: Verdict, hasRun: Bool, mayHaveHadEffect: Bool) {
            wait = verdict.namedWait ?? .zero
            rank =
                switch verdict.kind {
                case _ where mayHaveHadEffect: .unknownEffect
                case _ where !hasRun: .nothing
                case _ where verdict.saysNothing: .cancellation
                case _ where verdict.shouldRetry == false: .noRepetition
                case .throttled: .fewerCalls
                case .success, .transient, .uncertain, .permanent, .rejected, .cancelled:
                    wait > .zero ? .wait : verdict.shouldRetry == true ? .repetition : .failure
                }
        }

        static func < (lhs: Worth, rhs: Worth) -> Bool { (lhs.rank.rawValue, lhs.wait) < (rhs.rank.rawValue, rhs.wait) }
    }

    let maxHedges: Int
    /// In nanoseconds; nil if a hedge begins only after a failure.
    let delay: Int64?
    /// The verdicts after which a hedge begins at once.
    let verdicts: VerdictSet
    /// Whether repeating a copy that may have had an effect does harm.
    let hasEffects: Bool
    let deadline: MonotonicInstant

    /// The number of hedges that have begun.
    private(set) var hedges = 0
    private var running = 1
    private var mayBegin = true
    /// Whether the next copy begins at once, because a copy has failed.
    private var isAsked = false
    private var next: MonotonicInstant
    /// The other side wants no further copy before this.
    private var floor = MonotonicInstant.distantPast
    /// Whether the call's end is certain: a copy succeeded, or got a final answer.
    private(set) var isDecided = false
    private var kept: Worth?

    init(
        maxHedges: Int, delay: Int64?, on verdicts: VerdictSet, hasEffects: Bool = false, deadline: MonotonicInstant,
        at now: MonotonicInstant
    ) {
        self.maxHedges = maxHedges
        self.delay = delay
        self.verdicts = verdicts
        self.hasEffects = hasEffects
        self.deadline = deadline
        next = Self.next(after: now, delay)
    }

    private static func next(after now: MonotonicInstant, _ delay: Int64?) -> MonotonicInstant {
        delay.map { MonotonicInstant(nanoseconds: now.nanoseconds.saturatingAdding($0)) } ?? .distantFuture
    }

    func step(at now: MonotonicInstant) -> Step {
        // A hedge waits only while a copy runs; unlike a retry, it does not wait once all copies have ended.
        if isDecided || running == 0 && !isAsked { return .end }
        let next = max(next, floor)
        let mayBegin = mayBegin && hedges < maxHedges && next < deadline && now < deadline
        if mayBegin, next <= now { return .begin }
        return running == 0 ? .end : .wait(until: mayBegin ? next : .distantFuture)
    }

    /// - Returns: false if no copy may begin any more, because a copy has ended meanwhile.
    @discardableResult
    mutating func began(at now: MonotonicInstant) -> Bool {
        guard step(at: now) == .begin else { return false }
        hedges += 1
        running += 1
        isAsked = false
        next = Self.next(after: now, delay)
        return true
    }

    /// The budget is exhausted, or the caller was cancelled. Running copies continue.
    mutating func mayBeginNoMore() { mayBegin = false }

    /// A copy has ended.
    /// - Parameter hasRun: Whether its operation has begun.
    /// - Returns: Whether the call ends like this, unless a later copy does better.
    mutating func ended(_ verdict: Verdict, hasRun: Bool = true, at now: MonotonicInstant) -> Bool {
        running -= 1
        guard !isDecided else { return false }
        // A rejection carries no wish of the server.
        let wish = verdict.saysNothing ? nil : verdict.shouldRetry
        let asks = wish ?? verdicts.contains(verdict)
        if verdict.kind == .success || verdict.kind == .permanent && !asks {
            isDecided = true
            return true
        }
        if let wait = verdict.namedWait { floor = max(floor, now + wait) }
        if asks {
            next = min(next, now)
            isAsked = verdict.namedWait == nil
        } else if verdict.saysNothing || verdict.kind == .throttled || wish == false {
            mayBegin = false
        }
        let isUnknown = hasRun && (verdict.kind == .uncertain || verdict.kind == .cancelled)
        let worth = Worth(verdict, hasRun: hasRun, mayHaveHadEffect: hasEffects && isUnknown)
        if let kept, kept > worth { return false }
        kept = worth
        return true
    }
}
