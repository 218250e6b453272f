/// What the driver does next. The particulars are in the ``Frame``: a trivial answer keeps the usual path free of copies.
@usableFromInline enum Step: UInt8 {
    /// All policies let the call through.
    case operation
    /// Suspend until the frame's waiter is resumed or its instant comes, then walk in again.
    case wait
    /// The call is over and has failed with the frame's error.
    case failed
    /// The call is over, and what the operation returned last is its result.
    case done
}

/// One call's memory while it walks through up to ``Frame/capacity`` policies. Lives in the caller's async frame: no
/// allocation.
@frozen @usableFromInline struct Frame {
    @usableFromInline static let capacity = 8

    @usableFromInline var slots = (
        PolicySlot(), PolicySlot(), PolicySlot(), PolicySlot(), PolicySlot(), PolicySlot(), PolicySlot(), PolicySlot()
    )
    /// The policy to be asked next.
    @usableFromInline var next = 0
    /// How many policies are owed an exit: those before this index.
    @usableFromInline var open = 0
    /// A bit for each policy that has asked for another round since the call first entered it.
    @usableFromInline var rounds: UInt8 = 0
    /// nil as long as all goes well.
    @usableFromInline var trouble: Trouble?

    @inlinable init() {}

    @inlinable mutating func withSlot<R>(_ index: Int, _ body: (inout PolicySlot) -> R) -> R {
        withUnsafeMutableBytes(of: &slots) { bytes in
            // A homogeneous tuple is laid out like its elements in a row, and is bound to their type.
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

    /// The policy at this index wants another round after `outcome`.
    @usableFromInline mutating func goRound(at instant: MonotonicInstant, from index: Int, after outcome: PolicyOutcome)
        -> Step
    {
        rounds |= 1 << UInt8(index)
        // A refusal does not hide how the attempt before it ended.
        return wait(
            nil, until: instant, next: index, open: index,
            after: outcome.verdict.saysNothing ? last ?? outcome : outcome)
    }

    /// The call leaves the policy at this index for good.
    ///
    /// A call that was refused after an attempt has failed all the same, and not because it was refused: it ends as that
    /// attempt did.
    @usableFromInline mutating func leave(_ index: Int, with outcome: PolicyOutcome) -> PolicyOutcome {
        let wentRound = rounds & 1 << UInt8(index) != 0
        rounds &= ~(1 << UInt8(index))
        guard wentRound, outcome.verdict == .rejected, outcome.error != nil, let last, !last.verdict.saysNothing else {
            return outcome
        }
        return last
    }

    /// How the last attempt ended, for a call that goes round again.
    @inlinable var last: PolicyOutcome? {
        guard case .wait(let wait) = trouble else { return nil }
        return wait.last
    }
}

/// What a call that waits or fails has to remember. One word, so that a call that does neither has one thing to look at
/// when it cleans up, and one that fails allocates nothing.
@usableFromInline enum Trouble {
    /// For ``Step/wait``, and kept while the call walks in again.
    case wait(Wait)
    /// For ``Step/failed``.
    case failure(any Error)
}

@usableFromInline final class Wait {
    let waiter: PolicyWaiter
    let ends: MonotonicInstant
    /// How the attempt before it ended; nil before the first.
    @usableFromInline let last: PolicyOutcome?

    init(_ waiter: PolicyWaiter, until ends: MonotonicInstant, last: PolicyOutcome?) {
        self.waiter = waiter
        self.ends = ends
        self.last = last
    }
}
