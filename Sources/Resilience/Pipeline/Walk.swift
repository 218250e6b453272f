/// What the driver does next. The particulars are in the ``Frame``: a trivial answer keeps the usual path free of copies.
@usableFromInline enum Step: UInt8 {
    /// All policies let the call through.
    case operation
    /// Suspend until the frame's waiter is resumed or its instant comes, then walk in again.
    case wait
    /// The call is over and has failed with the frame's error.
    case failed
    /// The call is over, and what the operation returned is its result.
    case done
}

/// One call's memory while it walks through up to ``Frame/capacity`` policies. Lives in the caller's async frame: no
/// allocation.
@usableFromInline struct Frame {
    @usableFromInline static let capacity = 8

    @usableFromInline var slots = (Slot(), Slot(), Slot(), Slot(), Slot(), Slot(), Slot(), Slot())
    /// The policy to be asked next.
    @usableFromInline var next = 0
    /// How many policies are owed an exit: those before this index.
    @usableFromInline var open = 0
    /// nil as long as all goes well.
    @usableFromInline var trouble: Trouble?

    @inlinable init() {}

    @inlinable mutating func withSlot<R>(_ index: Int, _ body: (inout Slot) -> R) -> R {
        withUnsafeMutableBytes(of: &slots) { bytes in
            // A homogeneous tuple is laid out like its elements in a row, and is bound to their type.
            body(&bytes.baseAddress!.assumingMemoryBound(to: Slot.self)[index])
        }
    }

    @usableFromInline mutating func wait(
        _ waiter: Waiter?, until deadline: Instant, next: Int, open: Int, after error: (any Error)?
    ) -> Step {
        trouble = .wait(Wait(waiter ?? Waiter(), until: deadline, lastError: error))
        self.next = next
        self.open = open
        return .wait
    }

    /// What the last attempt threw, for a call that goes round again.
    @inlinable var lastError: (any Error)? {
        guard case .wait(let wait) = trouble else { return nil }
        return wait.lastError
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
    let waiter: Waiter
    let ends: Instant
    /// What the attempt before it threw.
    @usableFromInline let lastError: (any Error)?

    init(_ waiter: Waiter, until ends: Instant, lastError: (any Error)?) {
        self.waiter = waiter
        self.ends = ends
        self.lastError = lastError
    }
}

/// A row of policies that one driver loop walks: in from the first to the last, out the other way.
@usableFromInline protocol Walk {
    var count: Int { get }
    func enter(at index: Int, _ call: inout Call, _ slot: inout Slot) -> Entry
    func exit(at index: Int, _ call: inout Call, _ slot: inout Slot, _ outcome: Outcome) -> Exit
    func abandon(at index: Int, _ call: inout Call, _ slot: inout Slot)
}

/// The walk of one policy used without a pipeline.
@usableFromInline struct Lone<P: Policy>: Walk {
    @usableFromInline let policy: P

    @inlinable init(_ policy: P) { self.policy = policy }

    @inlinable var count: Int { 1 }

    @inlinable func enter(at index: Int, _ call: inout Call, _ slot: inout Slot) -> Entry {
        policy.enter(&call, &slot)
    }

    @inlinable func exit(at index: Int, _ call: inout Call, _ slot: inout Slot, _ outcome: Outcome) -> Exit {
        policy.exit(&call, &slot, outcome)
    }

    @inlinable func abandon(at index: Int, _ call: inout Call, _ slot: inout Slot) { policy.abandon(&call, &slot) }
}

extension Walk {
    /// Walks in from where the call stands.
    @inlinable func walkIn(_ call: inout Call, _ frame: inout Frame) -> Step {
        var index = frame.next
        while index < count {
            switch frame.withSlot(index, { enter(at: index, &call, &$0) }) {
            case .proceed:
                index += 1
            case .refuse(let error):
                frame.open = index
                return walkOut(&call, &frame, Outcome(.rejected, error: error))
            case .sleep(let deadline):
                return frame.wait(nil, until: deadline, next: index, open: index + 1, after: frame.lastError)
            case .park(let waiter, let deadline):
                return frame.wait(waiter, until: deadline, next: index, open: index + 1, after: frame.lastError)
            }
        }
        frame.open = index
        return .operation
    }

    /// Walks out of every policy that is owed an exit, or to the first that wants another round.
    @inlinable func walkOut(_ call: inout Call, _ frame: inout Frame, _ outcome: Outcome) -> Step {
        var index = frame.open
        while index > 0 {
            index -= 1
            switch frame.withSlot(index, { exit(at: index, &call, &$0, outcome) }) {
            case .pass:
                continue
            case .again(let instant):
                return frame.wait(nil, until: instant, next: index, open: index, after: outcome.error)
            case .replace(let error, let verdict):
                frame.open = index
                return walkOut(&call, &frame, Outcome(verdict, error: error))
            }
        }
        frame.open = 0
        guard let error = outcome.error else { return .done }
        call.settled = outcome.verdict
        frame.trouble = .failure(error)
        return .failed
    }

    @inlinable func returned(_ verdict: Verdict, _ call: inout Call, _ frame: inout Frame) -> Step {
        call.reading = nil
        if case .success = verdict { return walkOut(&call, &frame, .success) }
        // Nobody waits for a better result: what there is goes back as it is.
        return walkOut(&call, &frame, Outcome(Task.isCancelled ? .cancelled : verdict))
    }

    @usableFromInline func threw(_ error: any Error, _ call: inout Call, _ frame: inout Frame) -> Step {
        call.reading = nil
        let settled = call.settled.take()
        let verdict = Task.isCancelled ? .cancelled : settled ?? call.core.classifier.verdict(for: error)
        return walkOut(&call, &frame, Outcome(verdict, error: error))
    }

    /// Suspends as the frame says, then walks in again; or, if the task was cancelled meanwhile, walks out.
    @usableFromInline nonisolated(nonsending) func wait(_ call: inout Call, _ frame: inout Frame) async -> Step {
        guard case .wait(let wait) = frame.trouble else { preconditionFailure("a wait of nothing") }
        let wake = await wait.waiter.wait(until: wait.ends, on: call.timeBase)
        call.reading = nil
        guard wake == .cancelled else { return walkIn(&call, &frame) }
        // The policy to be asked next is owed no exit: the wait was between two rounds of its own.
        let next = frame.next
        if next == frame.open { frame.withSlot(next) { abandon(at: next, &call, &$0) } }
        let error: any Error = wait.lastError.map { CancelledWhileWaiting(lastError: $0) } ?? CancellationError()
        return walkOut(&call, &frame, Outcome(.cancelled, error: error))
    }

    /// The driver: walks in, calls `body` where the caller is, walks out, and does all the waiting in between.
    ///
    /// The call is passed on `inout`, here and below, for one reason: copying it would count references.
    @inlinable @inline(__always) nonisolated(nonsending) func drive<R>(
        _ call: inout Call, judging judge: (R) -> Verdict,
        _ body: nonisolated(nonsending) (inout Call) async throws -> R
    ) async throws -> R {
        var frame = Frame()
        var step = walkIn(&call, &frame)
        while true {
            switch step {
            case .operation:
                let result: R
                do {
                    result = try await body(&call)
                } catch {
                    step = threw(error, &call, &frame)
                    continue
                }
                step = returned(judge(result), &call, &frame)
                if step == .done { return result }
            case .wait:
                step = await wait(&call, &frame)
            case .failed, .done:
                // An outcome without a result has an error: a policy can replace errors, never take them away.
                guard case .failure(let error) = frame.trouble else { preconditionFailure("failed without an error") }
                throw error
            }
        }
    }
}

/// The task was cancelled while it waited for another attempt: the call is over, and this is why it had to wait.
///
/// A call cancelled in the operation throws what the operation throws, and one cancelled while it waits for its first
/// attempt throws `CancellationError`.
public struct CancelledWhileWaiting: Error, CustomStringConvertible {
    /// What the last attempt threw.
    public let lastError: any Error

    public init(lastError: any Error) { self.lastError = lastError }

    public var description: String { "Cancelled while waiting to try again; the last attempt failed: \(lastError)" }
}
