/// What stays the same for every call of one pipeline.
@usableFromInline final class PipelineCore: Sendable {
    let name: String?
    let timeBase: any TimeBase
    let classifier: Classifier
    let observers: PolicyObservers
    let elements: [Pipeline.Element]
    @usableFromInline let outermost: PipelineSegment

    init(
        name: String?, timeBase: any TimeBase, classifier: Classifier = .standard,
        observers: PolicyObservers = PolicyObservers(),
        elements: [Pipeline.Element] = []
    ) {
        self.name = name
        self.timeBase = timeBase
        self.classifier = classifier
        self.observers = observers
        self.elements = elements
        outermost = PipelineSegment(elements[...])
    }

    /// For a policy used without a pipeline, on the system's time base: shared, so that such a call allocates nothing.
    private static let bare = PipelineCore(name: nil, timeBase: .system)

    @usableFromInline static func bare(on timeBase: (any TimeBase)?) -> PipelineCore {
        guard let timeBase, timeBase !== SystemTimeBase.shared else { return bare }
        return PipelineCore(name: nil, timeBase: timeBase)
    }

    /// For a call of a policy without a pipeline that is more than plain.
    @usableFromInline func of(_ policy: some Policy) -> PipelineCore {
        PipelineCore(name: nil, timeBase: timeBase, elements: [.policy(policy)])
    }

    @inlinable @inline(__always) nonisolated(nonsending) func run<R>(
        _ options: RunOptions, judging judge: (R) -> Verdict,
        _ body: nonisolated(nonsending) (inout PolicyCall) async throws -> R
    ) async throws -> R {
        // The call does not count its reference.
        defer { withExtendedLifetime(self) {} }
        var call = PolicyCall(self, options)
        return try await run(&call, judging: judge, body)
    }

    @inlinable @inline(__always) nonisolated(nonsending) func run<R>(
        _ call: inout PolicyCall, judging judge: (R) -> Verdict,
        _ body: nonisolated(nonsending) (inout PolicyCall) async throws -> R
    ) async throws -> R {
        if isPlain(call) { return try await walk(&call, judging: judge, body) }
        return try await runWatched(&call, judging: judge, body)
    }

    /// Whether the call can begin at once, has no deadline of its own, and nobody is to be told of it.
    @usableFromInline func isPlain(_ call: borrowing PolicyCall) -> Bool {
        !Task.isCancelled && call.options.deadline == .distantFuture && observers.isEmpty
    }

    @inlinable @inline(__always) nonisolated(nonsending) func walk<R>(
        _ call: inout PolicyCall, judging judge: (R) -> Verdict,
        _ body: nonisolated(nonsending) (inout PolicyCall) async throws -> R
    ) async throws -> R {
        if outermost.isInnermost { return try await outermost.drive(&call, judging: judge, body) }
        // A result must not pass through the around policies, whose code knows nothing of its type.
        var result: R?
        _ = try await outermost.descend(&call) { call in
            let returned = try await body(&call)
            result = returned
            return judge(returned)
        }
        guard let result else { throw insideWasLost() }
        return result
    }

    @usableFromInline func insideWasLost() -> any Error { InsideWasLost(pipeline: name) }

    /// An around policy returned a verdict, and no result is there to go with it.
    private struct InsideWasLost: Error, CustomStringConvertible {
        let pipeline: String?

        var description: String {
            "\(pipeline.map { "\($0): " } ?? "")an around policy returned a verdict without a result: it must run its inside, "
                + "and throw what that throws"
        }
    }

    // MARK: Calls that are told of, or have a deadline

    @inlinable @inline(never) nonisolated(nonsending) func runWatched<R>(
        _ call: inout PolicyCall, judging judge: (R) -> Verdict,
        _ body: nonisolated(nonsending) (inout PolicyCall) async throws -> R
    ) async throws -> R {
        var record = CallRecord(beganAt: call.now)
        var verdict = Verdict.success
        do {
            try begin(&call)
            let result = try await walkUntilDeadline(
                &call, hasBegun: { record.attempts > 0 },
                judging: { _ in verdict },
                { call in
                    let began = record.attemptBegan(&call)
                    do {
                        let result = try await body(&call)
                        // Once for each attempt: it is the user's code. The policies are given the same verdict.
                        verdict = judge(result)
                        record.attemptEnded(&call, since: began, verdict: verdict)
                        return result
                    } catch {
                        record.attemptEnded(&call, since: began, error: error)
                        throw error
                    }
                })
            record.ended(&call, verdict)
            return result
        } catch {
            record.ended(&call, error: error)
            throw error
        }
    }

    /// A cancelled task begins no attempt, and neither does a call whose deadline is over.
    @usableFromInline func begin(_ call: inout PolicyCall) throws {
        try Task.checkCancellation()
        if call.isOver { throw DeadlinePassed() }
    }

    @inlinable @inline(__always) nonisolated(nonsending) func walkUntilDeadline<R>(
        _ call: inout PolicyCall, hasBegun: () -> Bool, judging judge: (R) -> Verdict,
        _ body: nonisolated(nonsending) (inout PolicyCall) async throws -> R
    ) async throws -> R {
        guard call.deadline != .distantFuture else { return try await walk(&call, judging: judge, body) }
        var result: R?
        _ = try await untilDeadline(&call, hasBegun) { call in
            let returned = try await walk(&call, judging: judge, body)
            result = returned
            return .success
        }
        guard let result else { throw insideWasLost() }
        return result
    }

    /// As under a ``Timeout`` around everything.
    @usableFromInline nonisolated(nonsending) func untilDeadline(
        _ call: inout PolicyCall, _ hasBegun: () -> Bool,
        _ inside: nonisolated(nonsending) (inout PolicyCall) async throws -> Verdict
    ) async throws -> Verdict {
        let (options, attempt, began, deadline) = (call.options, call.attempt, call.now, call.deadline)
        var settled: Verdict?
        do {
            return try await TimeoutRace.run(until: deadline, on: timeBase, isolation: #isolation) {
                var call = PolicyCall(self, options, attempt: attempt, deadline: deadline)
                defer { settled = call.settled }
                return try await inside(&call)
            }
        } catch let expired as TimeoutRace.Expired {
            guard hasBegun() else { throw DeadlinePassed() }
            call.settled = .transient
            throw TimedOut(
                timeout: "deadline", limit: began.duration(to: deadline), underlying: expired.underlying)
        } catch {
            call.settled = settled
            throw error
        }
    }
}
