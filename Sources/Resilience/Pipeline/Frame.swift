/// The driver's next step. Details are in the ``Frame``: a trivial type keeps the usual path free of copies.
@usableFromInline enum Step: UInt8 {
    /// Run the operation, or the inner segment: all policies of the segment admitted the call.
    case operation
    /// Suspend until the frame's waiter is resumed or its instant comes, then enter the policies again.
    case wait
    /// The call leaves the segment with the frame's error.
    case failed
    /// The call leaves the segment with the operation's last result.
    case done
}

/// The state of a call while it walks through up to ``Frame/capacity`` policies. It lives in the caller's async frame,
/// so it allocates nothing.
@frozen @usableFromInline struct Frame {
    @usableFromInline static let capacity = 8

    @usableFromInline var slots = (
        PolicySlot(), PolicySlot(), PolicySlot(), PolicySlot(), PolicySlot(), PolicySlot(), PolicySlot(), PolicySlot()
    )
    /// The index of the policy to enter next.
    @usableFromInline var next = 0
    /// The policies before this index are owed an exit.
    @usableFromInline var open = 0
    /// A bit for each policy that has asked for another round since the call first entered it.
    @usableFromInline var rounds: UInt8 = 0
    /// nil until the call waits or fails.
    @usableFromInline var trouble: Trouble?

    @inlinable init() {}

    @inlinable mutating func withSlot<R>(_ index: Int, _ body: (inout PolicySlot) -> R) -> R {
        withUnsafeMutableBytes(of: &slots) { bytes in
            // A homogeneous tuple is laid out like an array of its elements, and is bound to their type.
            body(&bytes.baseAddress!.assumingMemoryBound(to: PolicySlot.self)[index])
        }
    }

    @usableFromInline mutating func wait(
        _ waiter: PolicyWaiter?, until deadline: MonotonicInstant, next: Int, open: Int, after last: PolicyOutcome?
    ) -> Step {
        trouble = .wait(Wait(waiter ?? PolicyWaiter(), until: deadline, last: last))
        self.next = next
        self.open = open
        return .wait
    }

    /// The waiter of a ``Step/wait``, and the instant at which the call's wait ends at the latest.
    func wait(of call: borrowing PolicyCall) -> (waiter: PolicyWaiter, ends: MonotonicInstant) {
        guard case .wait(let wait) = trouble else { preconditionFailure("the frame has no wait") }
        return (wait.waiter, min(wait.ends, call.sharedLimit?.expiry ?? .distantFuture))
    }

    /// Prepares another round of the policy at `index` after `outcome`, to begin at `instant`.
    @usableFromInline mutating func goRound(at instant: MonotonicInstant, from index: Int, after outcome: PolicyOutcome)
        -> Step
    {
        rounds |= 1 << UInt8(index)
        // A rejected or cancelled attempt does not hide how the attempt before it ended.
        return wait(
            nil, until: instant, next: index, open: index,
            after: outcome.verdict.saysNothing || Self.isOfNoAttempt(outcome) ? last ?? outcome : outcome)
    }

    /// Clears the mark that the policy at `index` asked for another round, since the call leaves it.
    /// - Returns: The outcome for the outer policies. If a further attempt was rejected, it is the outcome of the
    ///   attempt before; otherwise it is `outcome`.
    @usableFromInline mutating func leave(_ index: Int, with outcome: PolicyOutcome) -> PolicyOutcome {
        let wentRound = rounds & 1 << UInt8(index) != 0
        rounds &= ~(1 << UInt8(index))
        guard wentRound, Self.isOfNoAttempt(outcome), let last, !last.verdict.saysNothing else { return outcome }
        guard outcome.verdict.kind == .cancelled else { return last }
        return PolicyOutcome(
            .cancelled, error: CancelledWhileWaiting(lastError: last.error, lastVerdict: last.verdict))
    }

    /// Whether the attempt never began: it was rejected, or its time was over before it could begin.
    private static func isOfNoAttempt(_ outcome: PolicyOutcome) -> Bool {
        guard let error = outcome.error else { return false }
        return outcome.verdict.kind == .rejected || (error as? any PolicyError)?.reachedService == false
    }

    /// Takes the error of ``Step/failed``.
    @usableFromInline mutating func takeError() -> any Error {
        guard case .failure(let error) = trouble.take() else { preconditionFailure("failed without an error") }
        return error
    }

    /// How the attempt before the latest wait ended; nil before the first attempt has ended.
    @inlinable var last: PolicyOutcome? {
        guard case .wait(let wait) = trouble else { return nil }
        return wait.last
    }
}

/// The state of a call that waits or has failed. It is one word: other calls have one thing to check when they clean
/// up, and a call that fails allocates nothing.
@usableFromInline enum Trouble {
    /// For ``Step/wait``; kept while the call enters the policies again.
    case wait(Wait)
    /// For ``Step/failed``.
    case failure(any Error)
}

@usableFromInline final class Wait {
    let waiter: PolicyWaiter
    let ends: MonotonicInstant
    /// How the attempt before the wait ended; nil before the first attempt has ended.
    @usableFromInline let last: PolicyOutcome?

    init(_ waiter: PolicyWaiter, until ends: MonotonicInstant, last: PolicyOutcome?) {
        self.waiter = waiter
        self.ends = ends
        self.last = last
    }
}
