/// The policies of a pipeline up to the next around policy, that around policy, and the segment inside of it. A segment
/// has at most ``Frame/capacity`` policies.
@usableFromInline final class PipelineSegment: Segment, Sendable {
    private let owned: [Node]
    /// The nodes in `owned`, without reference counting: loading a reference from a strong array costs more than a
    /// policy's own work. Safe: `owned` keeps them alive as long as the segment.
    @usableFromInline let nodes: [Unmanaged<Node>]
    /// nil if the list was cut only for its length, or has no further around policy.
    let around: (any AroundPolicy)?
    let inner: PipelineSegment?
    @usableFromInline let isInnermost: Bool

    init(_ elements: ArraySlice<Pipeline.Element>) {
        var policies: [Node] = []
        var around: (any AroundPolicy)?
        var inner: PipelineSegment?
        for (index, element) in zip(elements.indices, elements) {
            switch element.kind {
            case .policy(let policy) where policies.count < Frame.capacity:
                policies.append(Node.holding(policy))
                continue
            case .policy:
                inner = PipelineSegment(elements[index...])
            case .around(let policy):
                around = policy
                inner = PipelineSegment(elements[(index + 1)...])
            }
            break
        }
        owned = policies
        nodes = policies.map(Unmanaged.passUnretained)
        self.around = around
        self.inner = inner
        isInnermost = inner == nil
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

    @usableFromInline nonisolated(nonsending) func descend(
        _ call: inout PolicyCall, _ innermost: nonisolated(nonsending) (inout PolicyCall) async throws -> Verdict
    ) async throws -> Verdict {
        // A segment without policies needs no driver: a timeout is usually the first or the last policy of a pipeline.
        if nodes.isEmpty { return try await goOn(&call, innermost) }
        var record = CallRecord()
        return try await drive(&call, &record, judging: { $0 }) { try await goOn(&$0, innermost) }
    }

    /// Runs what comes inside of this segment.
    @inline(__always) private nonisolated(nonsending) func goOn(
        _ call: inout PolicyCall, _ innermost: nonisolated(nonsending) (inout PolicyCall) async throws -> Verdict
    ) async throws -> Verdict {
        guard let inner else { return try await innermost(&call) }
        guard let around else { return try await inner.descend(&call, innermost) }
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
                    // A hedge right inside, where the pipeline is cut in two, pays and tells all the same.
                    if inner.isBare { return try await innermost(&call) }
                    return try await inner.descend(&call, innermost)
                }
            }
        } catch let error as CancellationError {
            // A policy further in may have ended the call as if it had been cancelled.
            if settled?.kind == .cancelled { call.settled = settled }
            throw error
        }
    }

    private var isBare: Bool { nodes.isEmpty && inner == nil }
}
