/// A stack of policies around any async operation. The first is the outermost.
///
/// ```swift
/// let pipeline = Pipeline("activities") {
///     Timeout(limit: .seconds(30))                       // the whole call
///     Retry(maxRetries: 3)
///     breaker                                     // shared with others: it is a reference
///     Throttle(limit: .perSecond(10, burst: 20))
///     Bulkhead(limit: 16, queue: 64)
///     Timeout(limit: .seconds(5))                        // each attempt
/// }
/// let page = try await pipeline.run { try await client.activities() }
/// ```
///
/// A pipeline is a plain value: store it, pass it on, nest it (its policies join the outer list). The operation runs in
/// the caller's isolation: it may touch the caller's actor, capture a local `var`, and return something not `Sendable`.
public struct Pipeline: Sendable {
    @usableFromInline var core: PipelineCore

    /// - Parameters:
    ///   - name: names the pipeline in events.
    ///   - timeBase: where it reads the time and sleeps. By default that of its policies, or ``TimeBase/system`` if none
    ///     keeps readings. All policies must live in this one, and none that can't
    ///     nest in itself (``PolicyTraits/canNestInItself``) be in it twice.
    ///   - classifier: says what an error means, for all its policies.
    ///   - observers: who is told what its policies do to calls of this pipeline.
    public init(
        _ name: String = "pipeline", timeBase: (any TimeBase)? = nil, classifier: Classifier = .standard,
        observers: PolicyObservers = PolicyObservers(), @PipelineBuilder _ elements: () -> [Element]
    ) {
        let elements = elements()
        var base = timeBase
        var owner = "the pipeline itself"
        for case .policy(let policy) in elements {
            guard let other = policy.timeBase else { continue }
            precondition(
                base == nil || base === other,
                "Pipeline \"\(name)\": \"\(policy.name)\" lives in another time base than \(owner)")
            if base == nil { owner = "\"\(policy.name)\"" }
            base = other
        }
        Self.checkNesting(of: elements, name)
        core = PipelineCore(
            name: name, timeBase: base ?? .system, classifier: classifier, observers: observers, elements: elements)
    }

    private static func checkNesting(of elements: [Element], _ name: String) {
        var seen: Set<ObjectIdentifier> = []
        // Of structs there are only copies, and a box of one has no identity.
        for element in elements {
            guard let object = element.object, !seen.insert(ObjectIdentifier(object)).inserted else { continue }
            precondition(
                element.traits.canNestInItself,
                "Pipeline \"\(name)\": \"\(element.name)\" is in it twice: a call would wait for what it holds itself")
        }
    }

    /// `other` made of these, which are of the same time base.
    init(like other: Pipeline, elements: [Element]) {
        core = PipelineCore(
            name: other.name, timeBase: other.timeBase, classifier: other.core.classifier, observers: other.observers,
            elements: elements)
    }

    public var name: String { core.name ?? "" }

    /// What it is made of, outermost first.
    public var elements: [Element] { core.elements }

    /// Who is told what its policies do to calls of this pipeline.
    public var observers: PolicyObservers { core.observers }

    /// The time base of the pipeline and of its policies.
    public var timeBase: any TimeBase { core.timeBase }

    /// What an error that `run` threw means.
    public func verdict(for error: any Error) -> Verdict { core.classifier.verdict(for: error) }

    /// Runs `operation` through the policies, as often as they say.
    ///
    /// - Parameter options: what the policies are to know of this call.
    /// - Returns: what the operation returned.
    /// - Throws: what the operation threw in its last attempt; a ``Rejection`` if a policy refused the first attempt;
    ///   ``TimedOut``, also for the deadline in `options`; `CancellationError` if the task was cancelled before its first
    ///   attempt, or ``CancelledWhileWaiting`` before a further one. ``CallFailure`` tells them apart; <doc:ErrorsGuide> has
    ///   them all.
    @inlinable public nonisolated(nonsending) func run<R>(
        options: RunOptions = RunOptions(), _ operation: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        try await core.run(options, judging: { _ in .success }, { _ in try await operation() })
    }

    /// Runs `operation` in the same way, and tells it its attempt and deadline.
    @inlinable public nonisolated(nonsending) func run<R>(
        options: RunOptions = RunOptions(), _ operation: nonisolated(nonsending) (CallAttempt) async throws -> R
    ) async throws -> R {
        try await core.run(options, judging: { _ in .success }, { try await operation(CallAttempt($0)) })
    }

    /// Runs `operation` in the same way, for results that may mean failure, such as a response with status 503.
    ///
    /// When attempts run out, or a policy refuses a further one, the last result is returned, so that the caller still sees
    /// it.
    /// - Parameter judge: what a result means.
    @inlinable public nonisolated(nonsending) func run<R>(
        options: RunOptions = RunOptions(), judging judge: (R) -> Verdict,
        _ operation: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        try await core.run(options, judging: judge, { _ in try await operation() })
    }

    /// Runs `operation` in the same way, for results that may mean failure, and tells it its attempt and deadline.
    @inlinable public nonisolated(nonsending) func run<R>(
        options: RunOptions = RunOptions(), judging judge: (R) -> Verdict,
        _ operation: nonisolated(nonsending) (CallAttempt) async throws -> R
    ) async throws -> R {
        try await core.run(options, judging: judge, { try await operation(CallAttempt($0)) })
    }
}

extension Policy {
    /// Runs `operation` guarded by this policy alone: a pipeline of one.
    @inlinable public nonisolated(nonsending) func run<R>(
        options: RunOptions = RunOptions(), _ operation: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        try await run(on: PipelineCore.bare(on: timeBase), options, judging: { _ in .success }, operation)
    }

    /// Runs `operation` in the same way, for results that may mean failure, such as a response with status 503.
    /// - Parameter judge: what a result means.
    @inlinable public nonisolated(nonsending) func run<R>(
        options: RunOptions = RunOptions(), judging judge: (R) -> Verdict,
        _ operation: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        try await run(on: PipelineCore.bare(on: timeBase), options, judging: judge, operation)
    }

    @inlinable @inline(__always) nonisolated(nonsending) func run<R>(
        on core: PipelineCore, _ options: RunOptions, judging judge: (R) -> Verdict,
        _ operation: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        defer { withExtendedLifetime(core) {} }
        var call = PolicyCall(core, options)
        if core.isPlain(call) {
            return try await LoneSegment(self).drive(&call, judging: judge, { _ in try await operation() })
        }
        return try await runWatched(on: core, options, judging: judge, operation)
    }

    /// Apart from the plain call, whose frame it would make larger.
    @inlinable @inline(never) nonisolated(nonsending) func runWatched<R>(
        on core: PipelineCore, _ options: RunOptions, judging judge: (R) -> Verdict,
        _ operation: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        try await core.of(self).run(options, judging: judge, { _ in try await operation() })
    }
}

extension AroundPolicy {
    /// Runs `operation` guarded by this policy alone: a pipeline of one, on the system's time base.
    public nonisolated(nonsending) func run<R>(
        options: RunOptions = RunOptions(), _ operation: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        try await Pipeline(name) { self }.run(options: options, operation)
    }

    /// Runs `operation` in the same way, for results that may mean failure, such as a response with status 503.
    /// - Parameter judge: what a result means.
    public nonisolated(nonsending) func run<R>(
        options: RunOptions = RunOptions(), judging judge: (R) -> Verdict,
        _ operation: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        try await Pipeline(name) { self }.run(options: options, judging: judge, operation)
    }
}
