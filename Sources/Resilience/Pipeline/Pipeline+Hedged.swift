extension Pipeline {
    /// Runs the operation through the policies, and lets the pipeline's `Hedge` run copies of it concurrently.
    ///
    /// So the operation is `@Sendable`, and runs outside the caller's actor. A pipeline without a hedge runs it once
    /// for each attempt. Of several hedges in a pipeline, only the outermost makes copies.
    ///
    /// A hedge makes copies only of calls that may be repeated: with `isIdempotent: true` on the pipeline or in the
    /// options. For other calls, it makes a copy only after a failure that had no effect; it makes none with
    /// `isIdempotent: false`.
    ///
    /// - Parameters:
    ///   - options: Options of this call, such as a deadline.
    ///   - judge: Returns what a result means, such as a response with status 503. It is called once for each attempt
    ///     of a copy that returns. By default each result is a success.
    ///   - operation: The operation. If another copy is faster, this one is cancelled, and the call waits for its end.
    /// - Returns: The operation's result in the copy that decides the call: a success, if there is one.
    /// - Throws: The error of the operation's last attempt, or an error of a policy or of the pipeline: see
    ///   <doc:ErrorsGuide>. If no copy succeeded, it is the most informative error, in this order: a failure that may
    ///   have had its effect, unless the call is idempotent; a wish of the other side; any other failure; a rejection.
    ///   Of two errors of equal rank, the later one.
    public nonisolated(nonsending) func runHedged<R: Sendable>(
        options: RunOptions = RunOptions(), judging judge: @escaping @Sendable (R) -> Verdict = { _ in .success },
        _ operation: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        guard let halves = core.halves else {
            return try await core.runOnce(options, judging: judge) { _ in try await operation() }
        }
        let result = try await halves.run(options) { _, _ in
            let result = try await operation()
            return (CopyResult(result), judge(result))
        }
        return result.value()
    }

    /// Runs the operation as ``runHedged(options:judging:_:)-(_,_,()->R)``, and tells it which attempt and which copy
    /// it is.
    ///
    /// - Parameters:
    ///   - options: Options of this call, such as a deadline.
    ///   - judge: Returns what a result means. By default each result is a success.
    ///   - operation: The operation, which is given its attempt: see ``CallAttempt/hedge``.
    /// - Returns: The operation's result in the copy that decides the call: a success, if there is one.
    /// - Throws: As ``runHedged(options:judging:_:)-(_,_,()->R)``.
    public nonisolated(nonsending) func runHedged<R: Sendable>(
        options: RunOptions = RunOptions(), judging judge: @escaping @Sendable (R) -> Verdict = { _ in .success },
        _ operation: @escaping @Sendable (CallAttempt) async throws -> R
    ) async throws -> R {
        try await core.runHedged(options, judging: judge) { attempt, _ in try await operation(attempt) }
    }
}

/// A policy that runs copies of a call concurrently.
///
/// It does not know the type of their results: generic code whose type is known only at run time looks up the types
/// that it uses in every call.
package protocol CopyingPolicy: Policy {
    /// Runs a call and concurrent copies, until the call's result is certain and all copies have ended.
    /// - Parameters:
    ///   - call: The call, which is inside of all outer policies.
    ///   - inner: The inner policies.
    ///   - walk: Takes a copy through the inner policies.
    ///   - lose: Disposes of a result that comes after another copy has ended the call.
    /// - Returns: The result, and its verdict.
    nonisolated(nonsending) func race(
        _ call: inout PolicyCall, inside inner: PipelineCore, _ walk: @escaping HedgeCopy.Run,
        losing lose: @escaping @Sendable (CopyResult, inout PolicyCall) -> Void
    ) async throws -> (CopyResult, Verdict)

    /// Begins the same without tasks.
    func steppedRace(_ call: inout PolicyCall, inside inner: PipelineCore) -> any SteppedRace
}

/// A pipeline that is cut in two at its hedge.
final class HedgedHalves: Sendable {
    let outer: PipelineCore
    let hedge: any CopyingPolicy
    let inner: PipelineCore

    init?(
        _ name: String?, _ timeBase: any TimeBase, _ classifier: Classifier, _ repetition: Repetition,
        _ observers: PolicyObservers, _ elements: [Pipeline.Element]
    ) {
        guard let place = elements.firstIndex(where: { $0.policy is any CopyingPolicy }),
            let hedge = elements[place].policy as? any CopyingPolicy
        else { return nil }
        func half(_ elements: ArraySlice<Pipeline.Element>, inside outer: PipelineCore? = nil) -> PipelineCore {
            PipelineCore(
                name: name, timeBase: timeBase, classifier: classifier, repetition: repetition, observers: observers,
                elements: Array(elements), isInsideOfClientEnded: outer?.isEndedByClient ?? false)
        }
        self.hedge = hedge
        outer = half(elements[..<place])
        inner = half(elements[(place + 1)...], inside: outer)
    }

    init(_ halves: HedgedHalves, classifier: Classifier) {
        hedge = halves.hedge
        outer = PipelineCore(halves.outer, classifier: classifier)
        inner = PipelineCore(halves.inner, classifier: classifier)
    }

    nonisolated(nonsending) func run(
        _ options: RunOptions,
        _ operation: @escaping @Sendable (CallAttempt, HedgeCopy) async throws -> (CopyResult, Verdict)
    ) async throws -> CopyResult {
        let inner = inner
        var verdict = Verdict.success
        return try await outer.run(
            options, judging: { _ in verdict },
            { call in
                let (result, meaning) = try await hedge.race(
                    &call, inside: inner,
                    { call, begin in
                        var verdict = Verdict.success
                        // The observers see the attempt as a whole.
                        var record = CallRecord()
                        let result = try await inner.walk(
                            &call, &record, judging: { _ in verdict },
                            { call in
                                let copy = try begin()
                                let (result, meaning) = try await operation(
                                    CallAttempt(call, hedge: copy.number), copy)
                                verdict = meaning
                                return result
                            })
                        return (result, verdict)
                    }, losing: { _, _ in })
                verdict = meaning
                return result
            })
    }
}

extension PipelineCore {
    package nonisolated(nonsending) func runHedged<R: Sendable>(
        _ options: RunOptions, judging judge: @escaping @Sendable (R) -> Verdict,
        _ operation: @escaping @Sendable (CallAttempt, HedgeCopy) async throws -> R
    ) async throws -> R {
        guard let halves else {
            return try await runOnce(options, judging: judge) { attempt in
                try await operation(attempt, HedgeCopy(number: 0, of: nil))
            }
        }
        let result = try await halves.run(options) { attempt, copy in
            let result = try await operation(attempt, copy)
            return (CopyResult(result), judge(result))
        }
        return result.value()
    }

    /// Runs the operation in a pipeline without a hedge.
    @inline(never) fileprivate nonisolated(nonsending) func runOnce<R: Sendable>(
        _ options: RunOptions, judging judge: (R) -> Verdict,
        _ operation: @Sendable (CallAttempt) async throws -> R
    ) async throws -> R {
        try await run(options, judging: judge, { try await Self.apart(operation, CallAttempt($0)) })
    }

    /// Runs an operation outside the caller's actor, as a copy would.
    @concurrent private static func apart<R: Sendable>(
        _ operation: @Sendable (CallAttempt) async throws -> R, _ attempt: CallAttempt
    ) async throws -> R {
        try await operation(attempt)
    }
}

extension Pipeline {
    /// Whether calls can have copies.
    package var makesCopies: Bool { core.halves != nil }

    /// Runs an operation as ``runHedged(options:judging:_:)-(_,_,()->R)``, and lets it say when no further copy may
    /// begin: for example, when a copy has passed on a part of its result. The copies that already run continue to
    /// their end.
    package nonisolated(nonsending) func runHedged<R: Sendable>(
        options: RunOptions, judging judge: @escaping @Sendable (R) -> Verdict,
        _ operation:
            @escaping @Sendable (CallAttempt, _ mayBeginNoMore: @escaping @Sendable () -> Void) async throws -> R
    ) async throws -> R {
        try await core.runHedged(options, judging: judge) { try await operation($0, $1.mayBeginNoMore) }
    }

    /// Runs an operation as `open` does, and lets the pipeline's `Hedge` run copies of it concurrently. The permit is
    /// the winning copy's. The other copies are cancelled, and the call waits for their end. A losing copy that
    /// succeeds leaves its policies as if it had been cancelled; its result is dropped.
    /// - Parameters:
    ///   - mayCopy: Whether copies of the operation can run concurrently. If not, the hedge is told so.
    ///   - options: Options of this call, such as a deadline.
    ///   - judge: Returns what a result means.
    ///   - judgeError: Returns the meaning of an error, if this call knows more than the classifier; otherwise nil.
    ///   - describe: Returns the failure of the operation; nil for the error's own description.
    ///   - operation: The operation. It ends by itself at its deadline.
    ///   - hold: Receives the successful result and the permit.
    package nonisolated(nonsending) func openHedged<R: Sendable>(
        copying mayCopy: Bool, options: RunOptions, judging judge: @escaping @Sendable (R) -> Verdict,
        judgingErrors judgeError: @escaping @Sendable (any Error) -> Verdict?,
        describing describe: (any Error) -> FailureDetail?,
        _ operation: @escaping @Sendable (CallAttempt) async throws -> R,
        holding hold: (R, consuming PipelinePermit) -> R
    ) async throws -> R {
        guard mayCopy, let halves = core.halves else {
            return try await open(
                options: options, judging: judge, judgingErrors: judgeError, describing: describe, operation,
                holding: hold)
        }
        let inner = halves.inner
        return try await halves.outer.open(
            options, in: core, judgingErrors: judgeError, describing: describe,
            { call, opening in
                let (result, verdict) = try await halves.hedge.race(
                    &call, inside: inner,
                    { call, begin in
                        let (copy, verdict) = try await OpenCopy.open(
                            &call, inside: inner, judging: judge, judgingErrors: judgeError,
                            { call in try await operation(CallAttempt(call, hedge: try begin().number)) })
                        return (CopyResult(copy), verdict)
                    },
                    losing: { $0.value(as: OpenCopy<R>.self).lose(&$1) })
                let copy = result.value(as: OpenCopy<R>.self)
                opening.inside = copy.inside(inner)
                return (copy.result, verdict)
            }, holding: hold)
    }
}

/// The result of a copy that stays inside of the policies of the inner half if it succeeded.
private struct OpenCopy<R: Sendable>: Sendable {
    let result: R
    private var opening: Opening

    nonisolated(nonsending) static func open(
        _ call: inout PolicyCall, inside core: PipelineCore, judging judge: (R) -> Verdict,
        judgingErrors judgeError: (any Error) -> Verdict?,
        _ operation: nonisolated(nonsending) (inout PolicyCall) async throws -> R
    ) async throws -> (OpenCopy, Verdict) {
        // The observers see the attempt as a whole.
        var opening = Opening(CallRecord())
        let (result, verdict) = try await core.open(
            &call, &opening, judgingErrors: judgeError, describing: { _ in nil }
        ) { call, _ in
            try await call.attempt(judging: judge, judgingErrors: judgeError, operation)
        }
        return (OpenCopy(result: result, opening: opening), verdict)
    }

    /// The policies that the copy is still inside of; nil if it failed.
    func inside(_ core: PipelineCore) -> Opening.Inside? {
        opening.attempt.map { Opening.Inside(core: core, slots: opening.slots, deadline: $0.deadline) }
    }

    /// The copy succeeded after the call had been decided.
    func lose(_ call: inout PolicyCall) {
        var opening = opening
        opening.lose(&call, PolicyOutcome(.cancelled))
    }
}

/// A copy that has got past the inner policies of its hedge.
package struct HedgeCopy: Sendable {
    /// Takes a copy through the inner policies, and calls `begin` innermost.
    /// - Returns: Its result and verdict.
    package typealias Run =
        @Sendable (_ call: inout PolicyCall, _ begin: () throws -> HedgeCopy) async throws -> (CopyResult, Verdict)

    /// 0 for the first copy.
    package let number: Int
    private let race: (any CopyRace)?

    package init(number: Int, of race: (any CopyRace)?) { (self.number, self.race) = (number, race) }

    package func mayBeginNoMore() { race?.mayBeginNoMore() }
}

/// The copies of one call.
package protocol CopyRace: AnyObject, Sendable {
    func mayBeginNoMore()
}

/// The result of a copy's operation.
package final class CopyResult: HeldResult, Sendable {
    private let value: any Sendable
    var held: Any { value }

    package init(_ value: some Sendable) { self.value = value }

    /// - Parameter type: The type that all copies of the call return.
    fileprivate func value<R>(as type: R.Type = R.self) -> R {
        guard let value = value as? R else { preconditionFailure("a copy that returned something else") }
        return value
    }
}

/// The error of a copy that reached its operation after another copy had decided the call. Its task is cancelled a
/// moment later; until then the inner policies must not count the error as a failure.
package struct CopyLost: Rejection {
    package let policy: String
    package var verdict: Verdict { .cancelled }
    package var retryAfter: Duration? { nil }

    package init(policy: String) { self.policy = policy }

    package var description: String { "Another copy of the call was faster (\(policy))." }
}
