/// The shared state of all calls of one pipeline.
@usableFromInline package final class PipelineCore: Sendable {
    package let name: String?
    @usableFromInline package let timeBase: any TimeBase
    package let classifier: Classifier
    /// Whether the calls may be repeated, unless a call's own options decide it.
    @usableFromInline let repetition: Repetition
    let isMetered: Bool
    /// Whether a client timeout's operation ends itself at its deadline, and no around policy needs a task.
    @usableFromInline let isEndedByClient: Bool
    /// Whether a call's deadline needs no task of its own, because a timeout's task ends the call.
    private let sharesDeadline: Bool
    @usableFromInline package let observers: PolicyObservers
    @usableFromInline let outermost: PipelineSegment
    private let extras: Extras?

    /// The parts that few pipelines have.
    private final class Extras: Sendable {
        let meters: [any CallMeter]
        let halves: HedgedHalves?
        let bypass: Bypass?

        init?(_ meters: [any CallMeter], _ halves: HedgedHalves?, _ bypass: Bypass?) {
            if meters.isEmpty, halves == nil, bypass == nil { return nil }
            (self.meters, self.halves, self.bypass) = (meters, halves, bypass)
        }
    }

    var meters: [any CallMeter] { extras?.meters ?? [] }
    /// nil without a hedge.
    var halves: HedgedHalves? { extras?.halves }
    /// nil if calls always pass all policies.
    var bypass: Bypass? { extras?.bypass }

    var elements: [Pipeline.Element] {
        var elements: [Pipeline.Element] = []
        outermost.forEach { elements.append($0) }
        return elements
    }

    /// The path that calls take while the surrounding policies would do nothing.
    struct Bypass: Sendable {
        let outermost: PipelineSegment
        let isOpen: @Sendable () -> Bool
    }

    init(
        name: String?, timeBase: any TimeBase, classifier: Classifier = .standard,
        repetition: Repetition = .unsaid, observers: PolicyObservers? = nil, elements: [Pipeline.Element] = [],
        bypass: Bypass? = nil, isInsideOfClientEnded: Bool = false
    ) {
        self.name = name
        self.timeBase = timeBase
        self.classifier = classifier
        self.repetition = repetition
        self.observers = observers ?? PolicyObservers()
        let meters = self.observers.meters(of: name)
        isMetered = !meters.isEmpty
        outermost = PipelineSegment(elements[...])
        isEndedByClient =
            isInsideOfClientEnded || outermost.isInnermost && elements.contains { $0.policy is any ClientEndedPolicy }
        sharesDeadline = bypass == nil && outermost.endsAtLimits
        let halves = HedgedHalves(name, timeBase, classifier, repetition, self.observers, elements)
        extras = Extras(meters, halves, bypass)
    }

    /// Creates a core with another classifier, which shares everything else.
    init(_ core: PipelineCore, classifier: Classifier) {
        name = core.name
        timeBase = core.timeBase
        self.classifier = classifier
        repetition = core.repetition
        observers = core.observers
        isMetered = core.isMetered
        outermost = core.outermost
        isEndedByClient = core.isEndedByClient
        sharesDeadline = core.sharesDeadline
        extras = core.extras.flatMap { extras in
            Extras(extras.meters, extras.halves.map { HedgedHalves($0, classifier: classifier) }, extras.bypass)
        }
    }

    /// The core for policies that are used without a pipeline, on the system's time base. Shared, so that such a call
    /// allocates nothing.
    private static let bare = PipelineCore(name: nil, timeBase: .system)

    @usableFromInline package static func bare(on timeBase: (any TimeBase)?) -> PipelineCore {
        guard let timeBase, timeBase !== SystemTimeBase.shared else { return bare }
        return PipelineCore(name: nil, timeBase: timeBase)
    }

    /// Returns the core of a call that uses this policy without a pipeline and is not plain.
    @usableFromInline func of(_ policy: some Policy) -> PipelineCore {
        PipelineCore(name: nil, timeBase: timeBase, elements: [Pipeline.Element(kind: .policy(policy))])
    }

    @_alwaysEmitIntoClient @inline(__always) package nonisolated(nonsending) func run<R>(
        _ options: RunOptions, judging judge: (R) -> Verdict,
        _ body: nonisolated(nonsending) (inout PolicyCall) async throws -> R
    ) async throws -> R {
        // The call holds an uncounted reference to this object.
        defer { withExtendedLifetime(self) {} }
        var call = PolicyCall(self, options)
        return try await run(&call, judging: judge, body)
    }

    @_alwaysEmitIntoClient @inline(__always) nonisolated(nonsending) func run<R>(
        _ call: inout PolicyCall, judging judge: (R) -> Verdict,
        _ body: nonisolated(nonsending) (inout PolicyCall) async throws -> R
    ) async throws -> R {
        var record = CallRecord(of: &call)
        do {
            let result =
                isPlain(call) || isEnded(byClient: &call, &record)
                ? try await walk(&call, &record, judging: judge, body)
                : try await walkUntilDeadline(&call, &record, judging: judge, body)
            if record.isWatched { record.ended(&call) }
            return result
        } catch {
            if record.isWatched || isEndedByClient { throw ended(by: error, &call, record) }
            throw error
        }
    }

    /// Whether the task is not cancelled, and the call has no deadline.
    @usableFromInline func isPlain(_ call: borrowing PolicyCall) -> Bool {
        !Task.isCancelled && call.deadline == .distantFuture
    }

    @_alwaysEmitIntoClient @inline(__always) nonisolated(nonsending) func walk<R>(
        _ call: inout PolicyCall, _ record: inout CallRecord, judging judge: (R) -> Verdict,
        _ body: nonisolated(nonsending) (inout PolicyCall) async throws -> R
    ) async throws -> R {
        if outermost.isInnermost { return try await outermost.drive(&call, &record, judging: judge, body) }
        return try await walkAround(&call, &record, judging: judge, body)
    }

    /// Takes a call through around policies. A separate function: inlined, it would enlarge the frame of other calls.
    @inlinable @inline(never) nonisolated(nonsending) func walkAround<R>(
        _ call: inout PolicyCall, _ record: inout CallRecord, judging judge: (R) -> Verdict,
        _ body: nonisolated(nonsending) (inout PolicyCall) async throws -> R
    ) async throws -> R {
        let way = way
        if way.isInnermost { return try await way.drive(&call, &record, judging: judge, body) }
        // The result does not pass through the around policies: their code does not know its type.
        var result: R?
        _ = try await way.descend(&call) { call in
            record.attemptBegins(&call)
            do {
                let returned = try await body(&call)
                call.reading = nil
                let verdict = judge(returned)
                if record.isWatched { record.attemptEnded(&call, verdict, result: returned) }
                result = returned
                return verdict
            } catch {
                call.reading = nil
                record.attemptEnded(&call, error: error)
                throw error
            }
        }
        guard let result else { throw insideWasLost() }
        return result
    }

    @usableFromInline var way: PipelineSegment {
        if let bypass, bypass.isOpen() { bypass.outermost } else { outermost }
    }

    @usableFromInline func insideWasLost() -> any Error { InsideWasLost(pipeline: name) }

    /// The error for an around policy that returned a verdict although its inside has not returned a result.
    private struct InsideWasLost: Error, CustomStringConvertible {
        let pipeline: String?

        var description: String {
            "\(pipeline.map { "\($0): " } ?? "")an around policy returned a verdict without a result: it must run its inside, "
                + "and throw what that throws"
        }
    }

    // MARK: Calls with a deadline

    /// Throws if the task is cancelled or the call's deadline has come: no attempt begins then.
    @usableFromInline func begin(_ call: inout PolicyCall) throws {
        try Task.checkCancellation()
        if call.isOver { throw DeadlinePassed() }
    }

    /// Takes a call that is not plain through the policies. A separate function: inlined, it would enlarge the frame of
    /// the plain call.
    @inlinable @inline(never) nonisolated(nonsending) func walkUntilDeadline<R>(
        _ call: inout PolicyCall, _ record: inout CallRecord, judging judge: (R) -> Verdict,
        _ body: nonisolated(nonsending) (inout PolicyCall) async throws -> R
    ) async throws -> R {
        try begin(&call)
        guard call.deadline != .distantFuture else { return try await walk(&call, &record, judging: judge, body) }
        var result: R?
        _ = try await untilDeadline(&call, { record.attempts > 0 }) { call in
            let returned = try await walk(&call, &record, judging: judge, body)
            result = returned
            return .success
        }
        guard let result else { throw insideWasLost() }
        return result
    }

    /// Returns whether a call may begin and is ended at its deadline only by its client.
    @usableFromInline func isEnded(byClient call: inout PolicyCall, _ record: inout CallRecord) -> Bool {
        guard isEndedByClient, !Task.isCancelled, !call.isOver else { return false }
        record.began = call.now
        return true
    }

    /// Returns the final error of a call that has thrown an error.
    @usableFromInline func ended(by error: any Error, _ call: inout PolicyCall, _ record: CallRecord) -> any Error {
        let error = isEndedByClient ? late(error, &call, since: record.began, call.deadline) : error
        if record.isWatched { record.ended(&call, error: error) }
        return error
    }

    /// Returns the final error of a call that only its client ends at its deadline.
    func late(
        _ error: any Error, _ call: inout PolicyCall, since began: MonotonicInstant, _ deadline: MonotonicInstant
    ) -> any Error {
        guard deadline != .distantFuture else { return error }
        let verdict = call.settled ?? classifier.verdict(for: error)
        call.reading = nil
        guard call.now >= deadline, verdict.kind != .rejected, !Task.isCancelled else { return error }
        return timedOut(&call, since: began, deadline, error)
    }

    private func timedOut(
        _ call: inout PolicyCall, since began: MonotonicInstant, _ deadline: MonotonicInstant,
        _ underlying: (any Error)?
    ) -> TimedOut {
        let timedOut = TimedOut(policy: "deadline", limit: began.duration(to: deadline), underlying: underlying)
        call.settled = timedOut.verdict
        return timedOut
    }

    /// Runs the inside until the call's deadline, as a ``Timeout`` around the whole pipeline would.
    @usableFromInline nonisolated(nonsending) func untilDeadline(
        _ call: inout PolicyCall, _ hasBegun: () -> Bool,
        _ inside: nonisolated(nonsending) (inout PolicyCall) async throws -> Verdict
    ) async throws -> Verdict {
        if sharesDeadline { return try await sharingDeadline(&call, hasBegun, inside) }
        let (options, attempt, began, deadline) = (call.options, call.attempt, call.now, call.deadline)
        let notes = call.sharedNotes
        var settled: Verdict?
        var shared: SharedLimit?
        defer { call.reading = nil }
        do {
            return try await TimeoutRace.run(
                until: deadline, deadline: deadline, sharing: &shared, on: timeBase, isolation: #isolation
            ) { deadline in
                try await CallDeadline.narrowing(to: deadline, on: self.timeBase) {
                    var call = PolicyCall(self, options, attempt: attempt, deadline: deadline)
                    call.goOn(noting: notes)
                    defer {
                        settled = call.settled
                        call.endNotes()
                    }
                    return try await inside(&call)
                }
            }
        } catch let expired as TimeoutRace.Expired {
            guard hasBegun() else { throw DeadlinePassed() }
            throw timedOut(&call, since: began, deadline, expired.underlying)
        } catch {
            call.settled = settled
            throw error
        }
    }

    private nonisolated(nonsending) func sharingDeadline(
        _ call: inout PolicyCall, _ hasBegun: () -> Bool,
        _ inside: nonisolated(nonsending) (inout PolicyCall) async throws -> Verdict
    ) async throws -> Verdict {
        let (began, deadline) = (call.now, call.deadline)
        call.sharedLimit = SharedLimit(expiry: deadline)
        do {
            return try await CallDeadline.narrowing(to: deadline, on: timeBase) { try await inside(&call) }
        } catch {
            throw self.error(error, &call, since: began, deadline, hasBegun: hasBegun())
        }
    }

    /// Returns the final error of a call whose shared limit is its deadline.
    func error(
        _ error: any Error, _ call: inout PolicyCall, since began: MonotonicInstant, _ deadline: MonotonicInstant,
        hasBegun: Bool
    ) -> any Error {
        call.reading = nil
        guard call.isCancelled, call.sharedLimit?.machine == .expired else { return error }
        call.settled = nil
        return hasBegun ? timedOut(&call, since: began, deadline, error) : DeadlinePassed()
    }
}
