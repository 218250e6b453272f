/// A stack of policies around any async operation.
///
/// The first is the outermost.
///
/// ```swift
/// let pipeline = Pipeline("activities", isIdempotent: true) {
///     Timeout(limit: .seconds(30))                // the whole call
///     Retry(maxRetries: 3)
///     breaker                                     // a reference: shared
///     Throttle(limit: .perSecond(10, burst: 20))
///     Bulkhead(limit: 16, queue: 64)
///     Timeout(limit: .seconds(5))                 // each attempt
/// }
/// let page = try await pipeline.run { try await client.activities() }
/// ```
///
/// A pipeline is a plain value: store it, pass it on, or nest it in another pipeline, which takes over its policies.
/// The operation runs in the caller's isolation: it may touch the caller's actor, capture a local `var`, and return
/// something that is not `Sendable`.
///
/// See <doc:PipelinesGuide>.
public struct Pipeline: Sendable {
    @usableFromInline package var core: PipelineCore

    /// Creates a pipeline of these policies.
    ///
    /// All policies must have the pipeline's time base, and an object that can't nest in itself
    /// (``PolicyTraits/canNestInItself``) may be in the pipeline only once. Otherwise this traps.
    ///
    /// - Parameters:
    ///   - name: The pipeline's name in events. "pipeline" by default.
    ///   - timeBase: The pipeline's clock. By default the time base of its policies, or ``TimeBase/system`` if none
    ///     of them has one.
    ///   - classifier: Decides what an error means, for all policies of the pipeline.
    ///   - isIdempotent: Whether its calls may be repeated: see ``RunOptions/isIdempotent``. Pass true if the calls
    ///     only read, or can be made twice without harm. With nil, the default, only calls known to have had no effect
    ///     are repeated.
    ///   - observers: The observers of the events of its policies and calls.
    ///   - elements: The policies, outermost first. A pipeline in this list contributes its policies.
    public init(
        _ name: String = "pipeline", timeBase: (any TimeBase)? = nil, classifier: Classifier = .standard,
        isIdempotent: Bool? = nil, observers: PolicyObservers? = nil, @PipelineBuilder _ elements: () -> [Element]
    ) {
        let elements = elements()
        var base = timeBase
        var owner = "the pipeline itself"
        for case .policy(let policy) in elements.map(\.kind) {
            guard let other = policy.timeBase else { continue }
            precondition(
                base == nil || base === other,
                "Pipeline \"\(name)\": \"\(policy.name)\" has another time base than \(owner)")
            if base == nil { owner = "\"\(policy.name)\"" }
            base = other
        }
        Self.checkNesting(of: elements, name)
        core = PipelineCore(
            name: name, timeBase: base ?? .system, classifier: classifier, repetition: Repetition(isIdempotent),
            observers: observers, elements: elements)
        guard let observers else { return }
        let home = PolicyHome(name, observers)
        for case .policy(let policy) in elements.map(\.kind) { (policy as? any HomedPolicy)?.settle(in: home) }
    }

    private static func checkNesting(of elements: [Element], _ name: String) {
        var seen: Set<ObjectIdentifier> = []
        // Only classes are checked: a struct is copied, and a box around one has no identity.
        for element in elements {
            guard let object = element.object, !seen.insert(ObjectIdentifier(object)).inserted else { continue }
            precondition(
                element.traits.canNestInItself,
                "Pipeline \"\(name)\": \"\(element.name)\" is in it twice: a call would wait for something that it holds itself"
            )
        }
    }

    /// Makes a pipeline like `other` from these policies, which have the time base of `other`.
    init(like other: Pipeline, elements: [Element], bypass: PipelineCore.Bypass? = nil) {
        core = PipelineCore(
            name: other.name, timeBase: other.timeBase, classifier: other.core.classifier,
            repetition: other.core.repetition, observers: other.observers, elements: elements,
            bypass: bypass)
    }

    /// The pipeline's name.
    public var name: String { core.name ?? "" }

    /// Whether its calls may be repeated; with nil, only calls known to have had no effect are repeated.
    public var isIdempotent: Bool? { core.repetition.isIdempotent }

    /// The policies of the pipeline, outermost first.
    public var elements: [Element] { core.elements }

    /// Returns the pipeline's policies of one type, outermost first.
    ///
    /// For example, to hold its throttles:
    ///
    /// ```swift
    /// for throttle in pipeline.policies(of: Throttle.self) {
    ///     throttle.hold(for: .seconds(30))
    /// }
    /// ```
    /// - Parameter type: The type, or a protocol: `(any StatusReporting).self`.
    public func policies<P>(of type: P.Type) -> [P] { elements.compactMap { $0.policy as? P } }

    /// The observers of the events of this pipeline's policies and calls.
    public var observers: PolicyObservers { core.observers }

    /// The time base of the pipeline and of its policies.
    public var timeBase: any TimeBase { core.timeBase }

    /// Returns the pipeline's verdict for an error, such as one that `run` threw.
    ///
    /// It does not know whether a task was cancelled: a `CancellationError` is classified like any other error.
    /// - Parameter error: The error.
    public func verdict(for error: any Error) -> Verdict { core.classifier.verdict(for: error) }

    /// Runs the operation through the policies, which may repeat it.
    ///
    /// If the attempts run out, or a further attempt is rejected, the last result is returned even if it means failure,
    /// so that the caller sees it.
    ///
    /// - Parameters:
    ///   - options: Options of this call, such as a deadline.
    ///   - judge: Returns what a result means, such as a response with status 503. It is called once for each attempt
    ///     that returns. By default each result is a success.
    ///   - operation: The operation. It runs in the caller's isolation.
    /// - Returns: The result of the operation's last attempt.
    /// - Throws: The error of the operation's last attempt; a ``Rejection`` if a policy rejected the first attempt, or
    ///   if the deadline passed before it; ``TimedOut``, also for the deadline in `options`; `CancellationError` if the
    ///   task was cancelled before its first attempt, or ``CancelledWhileWaiting`` before a further one.
    ///   ``CallFailure`` tells them apart; <doc:ErrorsGuide> lists them all.
    @_alwaysEmitIntoClient @inline(__always) public nonisolated(nonsending) func run<R>(
        options: RunOptions = RunOptions(), judging judge: (R) -> Verdict = { _ in .success },
        _ operation: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        try await core.run(options, judging: judge, { _ in try await operation() })
    }

    /// Runs the operation as ``run(options:judging:_:)-(_,_,()->R)``, and tells it the number and the deadline of each
    /// attempt.
    ///
    /// - Parameters:
    ///   - options: Options of this call, such as a deadline.
    ///   - judge: Returns what a result means. By default each result is a success.
    ///   - operation: The operation, which is given its attempt. It runs in the caller's isolation.
    /// - Returns: The result of the operation's last attempt.
    /// - Throws: As ``run(options:judging:_:)-(_,_,()->R)``.
    @_alwaysEmitIntoClient @inline(__always) public nonisolated(nonsending) func run<R>(
        options: RunOptions = RunOptions(), judging judge: (R) -> Verdict = { _ in .success },
        _ operation: nonisolated(nonsending) (CallAttempt) async throws -> R
    ) async throws -> R {
        try await core.run(options, judging: judge, { try await operation(CallAttempt($0)) })
    }
}

extension Pipeline {
    /// Returns a pipeline of some of this pipeline's policies, for ``runPart(options:_:)``.
    package func part(_ elements: [Element]) -> Pipeline { Pipeline(like: self, elements: elements) }

    /// Runs a part of a call. The part's policies send events, but the owner of the whole call reports its end.
    package nonisolated(nonsending) func runPart<R>(
        options: RunOptions = RunOptions(), _ inside: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        defer { withExtendedLifetime(core) {} }
        var call = PolicyCall(core, options)
        var record = CallRecord()
        return core.isPlain(call)
            ? try await core.walk(&call, &record, judging: { _ in .success }, { _ in try await inside() })
            : try await core.walkUntilDeadline(&call, &record, judging: { _ in .success }, { _ in try await inside() })
    }
}

extension Policy {
    /// Runs the operation guarded by this policy alone, on the policy's time base, or the system's if it has none.
    ///
    /// - Parameters:
    ///   - options: Options of this call, such as a deadline.
    ///   - judge: Returns what a result means, such as a response with status 503. It is called once for each attempt
    ///     that returns. By default each result is a success.
    ///   - operation: The operation. It runs in the caller's isolation.
    /// - Returns: The result of the operation's last attempt.
    /// - Throws: The error of the operation's last attempt, or an error of the policy or of the call's deadline: see
    ///   the guide to errors.
    @_alwaysEmitIntoClient @inline(__always) public nonisolated(nonsending) func run<R>(
        options: RunOptions = RunOptions(), judging judge: (R) -> Verdict = { _ in .success },
        _ operation: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        try await run(on: PipelineCore.bare(on: timeBase), options, judging: judge, operation)
    }

    /// Runs the operation as ``run(options:judging:_:)-(_,_,()->R)``, and tells it the number and the deadline of each
    /// attempt.
    ///
    /// - Parameters:
    ///   - options: Options of this call, such as a deadline.
    ///   - judge: Returns what a result means. By default each result is a success.
    ///   - operation: The operation, which is given its attempt. It runs in the caller's isolation.
    /// - Returns: The result of the operation's last attempt.
    /// - Throws: As ``run(options:judging:_:)-(_,_,()->R)``.
    @_alwaysEmitIntoClient public nonisolated(nonsending) func run<R>(
        options: RunOptions = RunOptions(), judging judge: (R) -> Verdict = { _ in .success },
        _ operation: nonisolated(nonsending) (CallAttempt) async throws -> R
    ) async throws -> R {
        let core = PipelineCore.bare(on: timeBase).of(self)
        return try await core.run(options, judging: judge, { try await operation(CallAttempt($0)) })
    }

    @_alwaysEmitIntoClient @inline(__always) nonisolated(nonsending) func run<R>(
        on core: PipelineCore, _ options: RunOptions, judging judge: (R) -> Verdict,
        _ operation: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        defer { withExtendedLifetime(core) {} }
        var call = PolicyCall(core, options)
        if core.isPlain(call) {
            var record = CallRecord()
            return try await LoneSegment(self).drive(&call, &record, judging: judge, { _ in try await operation() })
        }
        return try await runWatched(on: core, options, judging: judge, operation)
    }

    /// Runs a call that is not plain. A separate function: inlined, it would enlarge the frame of the plain call.
    @inlinable @inline(never) nonisolated(nonsending) func runWatched<R>(
        on core: PipelineCore, _ options: RunOptions, judging judge: (R) -> Verdict,
        _ operation: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        try await core.of(self).run(options, judging: judge, { _ in try await operation() })
    }
}

extension AroundPolicy {
    /// Runs the operation guarded by this policy alone, on the system's time base.
    ///
    /// - Parameters:
    ///   - options: Options of this call, such as a deadline.
    ///   - judge: Returns what a result means. By default each result is a success.
    ///   - operation: The operation.
    /// - Returns: The operation's result.
    /// - Throws: The operation's error, or an error of the policy or of the call's deadline: see <doc:ErrorsGuide>.
    @_alwaysEmitIntoClient public nonisolated(nonsending) func run<R>(
        options: RunOptions = RunOptions(), judging judge: (R) -> Verdict = { _ in .success },
        _ operation: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        try await Pipeline(name) { self }.run(options: options, judging: judge, operation)
    }

    /// Runs the operation as ``run(options:judging:_:)-(_,_,()->R)``, and tells it the number and the deadline of its
    /// attempt.
    ///
    /// - Parameters:
    ///   - options: Options of this call, such as a deadline.
    ///   - judge: Returns what a result means. By default each result is a success.
    ///   - operation: The operation, which is given its attempt.
    /// - Returns: The operation's result.
    /// - Throws: As ``run(options:judging:_:)-(_,_,()->R)``.
    @_alwaysEmitIntoClient public nonisolated(nonsending) func run<R>(
        options: RunOptions = RunOptions(), judging judge: (R) -> Verdict = { _ in .success },
        _ operation: nonisolated(nonsending) (CallAttempt) async throws -> R
    ) async throws -> R {
        try await Pipeline(name) { self }.run(options: options, judging: judge, operation)
    }
}
