/// The policies of a pipeline up to the next around policy, that around policy, and the segment inside of it. A segment
/// has at most ``Frame/capacity`` policies.
@usableFromInline final class PipelineSegment: Segment, Sendable {
    /// Without reference counting: loading a reference from a strong array costs more than a policy's own work. Safe:
    /// each node is retained once here, and released only at the end of this segment.
    @usableFromInline let nodes: [Unmanaged<Node>]
    /// nil if this is the innermost segment.
    private let rest: Rest?
    @usableFromInline let isInnermost: Bool

    /// The inside of a segment. A reference, since most pipelines have only one segment.
    private final class Rest: Sendable {
        let around: (any AroundPolicy)?
        let segment: PipelineSegment
        /// The around policy, if it can be without a task.
        let timeLimit: (any SharingTimeLimit)?
        /// Whether the next inner timeout ends the inside for both. The innermost timeout has a task.
        let sharesTimeLimit: Bool

        init(_ around: (any AroundPolicy)?, _ segment: PipelineSegment) {
            (self.around, self.segment) = (around, segment)
            timeLimit = around as? any SharingTimeLimit
            sharesTimeLimit = timeLimit != nil && segment.endsAtLimits
        }
    }

    /// nil if the list was cut only for its length, or has no further around policy.
    var around: (any AroundPolicy)? { rest?.around }
    var inner: PipelineSegment? { rest?.segment }
    /// The around policy, if it can be without a task.
    var timeLimit: (any SharingTimeLimit)? { rest?.timeLimit }
    /// Whether the around policy is a timeout without a task of its own.
    var sharesTimeLimit: Bool { rest?.sharesTimeLimit ?? false }

    /// Whether everything in this segment ends at the limit of an outer timeout that has no task of its own.
    var endsAtLimits: Bool {
        timeLimit != nil
            && nodes.allSatisfy { $0._withUnsafeGuaranteedRef { $0.element.policy is any DeadlineBound } }
    }

    init(_ elements: ArraySlice<Pipeline.Element>) {
        var policies: [Unmanaged<Node>] = []
        policies.reserveCapacity(min(elements.count, Frame.capacity))
        var rest: Rest?
        for (index, element) in zip(elements.indices, elements) {
            switch element.kind {
            case .policy(let policy) where policies.count < Frame.capacity:
                policies.append(.passRetained(Node.holding(policy)))
                continue
            case .policy:
                rest = Rest(nil, PipelineSegment(elements[index...]))
            case .around(let policy):
                rest = Rest(policy, PipelineSegment(elements[(index + 1)...]))
            }
            break
        }
        nodes = policies
        self.rest = rest
        isInnermost = rest == nil
    }

    deinit { for node in nodes { node.release() } }

    /// Calls a function with each policy of this and all inner segments, outermost first.
    func forEach(_ body: (Pipeline.Element) -> Void) {
        var segment = self
        while true {
            for node in segment.nodes { body(node._withUnsafeGuaranteedRef { $0.element }) }
            guard let rest = segment.rest else { return }
            if let around = rest.around { body(Pipeline.Element(kind: .around(around))) }
            segment = rest.segment
        }
    }

    @inlinable var count: Int { nodes.count }

    @usableFromInline func name(at index: Int) -> String { nodes[index]._withUnsafeGuaranteedRef { $0.name } }

    @inlinable func enter(at index: Int, _ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        nodes[index]._withUnsafeGuaranteedRef { $0.enter(&call, &slot) }
    }

    @inlinable func exit(at index: Int, _ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome)
        -> PolicyExit
    {
        nodes[index]._withUnsafeGuaranteedRef { $0.exit(&call, &slot, outcome) }
    }

    @usableFromInline func abandon(at index: Int, _ call: inout PolicyCall, _ slot: inout PolicySlot) {
        nodes[index]._withUnsafeGuaranteedRef { $0.abandon(&call, &slot) }
    }

    // Not inlined: the frame of a timeout's task should fit into the task's first piece of memory.
    @usableFromInline @inline(never) nonisolated(nonsending) func descend(
        _ call: inout PolicyCall, _ innermost: nonisolated(nonsending) (inout PolicyCall) async throws -> Verdict
    ) async throws -> Verdict {
        // A segment without policies needs no driver: a timeout is usually the first or the last policy of a pipeline.
        if nodes.isEmpty { return try await goOn(&call, innermost) }
        var record = CallRecord()
        return try await drive(&call, &record, judging: { $0 }) { try await goOn(&$0, innermost) }
    }

    /// Runs the inside of this segment.
    @inline(__always) private nonisolated(nonsending) func goOn(
        _ call: inout PolicyCall, _ innermost: nonisolated(nonsending) (inout PolicyCall) async throws -> Verdict
    ) async throws -> Verdict {
        guard let rest else { return try await innermost(&call) }
        let inner = rest.segment
        guard let around = rest.around else { return try await inner.descend(&call, innermost) }
        if rest.sharesTimeLimit, let timeout = rest.timeLimit, let limit = try timeout.share(&call) {
            return try await inner.descend(&call, limit, of: timeout, innermost)
        }
        let core = call.core
        let options = call.options
        let attempt = call.attempt
        let notes = call.sharedNotes
        let account = call.account
        var settled: Verdict?
        var told = account
        defer {
            call.account = told
            call.reading = nil
        }
        do {
            return try await around.around(&call, isolation: #isolation) { deadline in
                try await CallDeadline.narrowing(to: deadline, on: core.timeBase) {
                    var call = PolicyCall(core, options, attempt: attempt, deadline: deadline)
                    call.goOn(noting: notes)
                    call.account = account
                    defer {
                        (settled, told) = (call.settled, call.account)
                        call.endNotes()
                    }
                    // If a hedge comes next, the pipeline is cut in two here; the hedge still pays and reports.
                    if inner.isBare { return try await innermost(&call) }
                    return try await inner.descend(&call, innermost)
                }
            }
        } catch let error as CancellationError {
            // An inner policy may have ended the call as if it had been cancelled.
            if settled?.kind == .cancelled { call.settled = settled }
            throw error
        }
    }

    /// Runs the inside of a timeout without a task of its own. A separate function: inlined, it would enlarge the frame
    /// of other calls.
    @inline(never) private nonisolated(nonsending) func descend(
        _ call: inout PolicyCall, _ limit: (expiry: MonotonicInstant, length: Int64), of timeout: any SharingTimeLimit,
        _ innermost: nonisolated(nonsending) (inout PolicyCall) async throws -> Verdict
    ) async throws -> Verdict {
        // The outer limit comes before this one, which can then be ignored.
        if let outer = call.sharedLimit, outer.expiry < limit.expiry { return try await descend(&call, innermost) }
        var inside = PolicyCall(inside: &call, until: limit.expiry)
        defer { call.left(&inside) }
        do {
            return try await CallDeadline.narrowing(to: inside.deadline, on: call.timeBase) {
                try await descend(&inside, innermost)
            }
        } catch {
            throw call.error(error, leaving: &inside, of: timeout, limit.length)
        }
    }

    private var isBare: Bool { nodes.isEmpty && isInnermost }
}
