import Resilience

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One round of a flight: sends what may be sent until nothing is left, or nothing more may be. It alone talks to the store
/// about what it sends; requests run in tasks of their own and leave their answers for it.
extension SyncQueue {
    struct EndedRequest: Sendable {
        let mutations: [StoredMutation]
        let result: Result<[SyncHandler.ItemResult], any Error>
        let sentAt: Instant
        let endedAt: Instant
    }

    /// What the store and the observers are to be told of a mutation.
    struct Settlement: Sendable {
        let changes: [MutationChange]
        let event: SyncEvent
    }

    /// What to do now.
    struct Plan {
        var parked: [(head: LaneHead, reason: LanesStateMachine.ParkReason)] = []
        var requests: [[LaneHead]] = []
        var then = Then.lookAtEnds
        enum Then {
            case lookAtEnds
            case look(after: Int64)
            case wait(Waiter, until: Instant)
            case end(FlushReport.End)
        }
    }

    func round() async throws -> FlushReport {
        var report = FlushReport()
        if let until = try await pauseLeft() {
            report.end = .paused(until: until)
            return report
        }
        state.withLock { $0.lanes.begin() }
        let failure: (any Error)? = await withTaskGroup(of: Void.self) { group in
            var end: FlushReport.End?
            do {
                report.end = try await send(in: &group, &end, &report)
                return nil
            } catch {
                // What is in flight may end: its answers are kept for the next flight.
                await group.waitForAll()
                while (try? await noteEnds(&group, &end, &report)) == nil {}
                return error
            }
        }
        if let failure { throw failure }
        return report
    }

    /// - Parameter end: why nothing more is sent, while requests are still under way.
    func send(
        in group: inout TaskGroup<Void>, _ end: inout FlushReport.End?, _ report: inout FlushReport
    ) async throws -> FlushReport.End {
        while true {
            try await noteEnds(&group, &end, &report)
            if Task.isCancelled {
                await group.waitForAll()
                try await noteEnds(&group, &end, &report)
                _ = try await settle(claiming: [], in: &group, &report)
                // A pause is one for all, whoever was cancelled.
                return state.withLock { $0.stopped } ? .cancelled : end ?? .cancelled
            }
            let plan = plan(&end)
            for (head, reason) in plan.parked {
                setAside(head.position, id: head.id, reason.rawValue, counting: false)
            }
            // In one transaction: what has ended, and what is going to be sent.
            guard try await settle(claiming: plan.requests, in: &group, &report) else { continue }
            switch plan.then {
            case .lookAtEnds:
                continue
            case .look(let position):
                let page = try await uncancelled {
                    try await self.store.heads(after: position, limit: self.configuration.pageSize)
                }
                state.withLock { $0.lanes.found(page) }
            case .wait(let waker, let instant):
                _ = await waker.wait(until: instant, on: pipeline.timeBase)
                state.withLock { if $0.waker === waker { $0.waker = nil } }
            case .end(let end):
                return end == .drained ? try await drainedOrBlocked() : end
            }
        }
    }

    func plan(_ end: inout FlushReport.End?) -> Plan {
        let now = now
        let rules = LanesStateMachine.Rules(
            batchLimits: batchLimits, otherKinds: handlers[nil]?.batchLimit,
            oldest: configuration.maxAge.map { wallClock().addingTimeInterval(-($0 / .seconds(1))) })
        return state.withLock { state in
            var plan = Plan()
            guard state.ended.isEmpty else { return plan }
            func wait(until instant: Instant) -> Plan.Then {
                let waker = Waiter()
                state.waker = waker
                return .wait(waker, until: instant)
            }
            // A pause may be over before all that was in flight is.
            if case .paused = end, state.pace.pausedUntil(at: now) == nil { end = nil }
            if let end = state.stopped ? .cancelled : end {
                plan.then = state.requests == 0 ? .end(end) : wait(until: .distantFuture)
                return plan
            }
            if state.machine.takeTrigger() { state.lanes.lookAgain() }
            while true {
                let answer = state.pace.answer(at: now, inFlight: state.requests)
                switch state.lanes.next(at: now, pace: answer, rules: rules) {
                case .send(let heads):
                    state.requests += 1
                    state.pace.sent(at: now)
                    plan.requests.append(heads)
                    continue
                case .park(let head, let reason):
                    plan.parked.append((head, reason))
                    continue
                case .look(let position): plan.then = .look(after: position)
                case .wait(let instant): plan.then = wait(until: instant)
                case .stalled(let instant): plan.then = .end(.stalled(retryAt: instant))
                case .done: plan.then = .end(.drained)
                }
                // What was parked or claimed just now may have another head behind it.
                if case .end = plan.then, !plan.parked.isEmpty { plan.then = .lookAtEnds }
                return plan
            }
        }
    }

    func drainedOrBlocked() async throws -> FlushReport.End {
        guard configuration.laneRule == .block else { return .drained }
        let (pending, heads) = try await uncancelled {
            (try await self.store.totals().pending, try await self.store.heads(after: .min, limit: 1))
        }
        return pending > 0 && heads.isEmpty ? .blocked : .drained
    }

    // MARK: The store

    /// Tells the store what is known, claims what is to be sent, and sends it.
    /// - Returns: false if a request came to nothing, so that the plan no longer holds.
    func settle(
        claiming requests: [[LaneHead]], in group: inout TaskGroup<Void>, _ report: inout FlushReport
    ) async throws -> Bool {
        let settlements = state.withLock { $0.unsettled }
        guard !(settlements.isEmpty && requests.isEmpty) else { return true }
        let sentAt = now
        var claimed: [Int64: StoredMutation] = [:]
        do {
            let mutations = try await uncancelled {
                try await self.store.apply(
                    settlements.flatMap(\.changes), claiming: requests.flatMap { $0 }.map(\.position))
            }
            for mutation in mutations { claimed[mutation.position] = mutation }
        } catch {
            for heads in requests { forget(heads, sentAt) }
            throw error
        }
        state.withLock { state in
            state.unsettled.removeFirst(settlements.count)
            for case .delivered in settlements.map(\.event) { state.progress.delivered += 1 }
        }
        for settlement in settlements {
            report.count(settlement)
            tell(settlement.event)
        }
        var isAllSent = true
        for heads in requests {
            // Of a batch, none that was coalesced into another kind meanwhile: its handler is another.
            let mutations = heads.compactMap { claimed[$0.position] }
                .filter { heads.count == 1 || $0.mutation.kind == heads[0].kind }
            // Gone meanwhile: acknowledged, coalesced with a later one, dropped to make room, or cleared.
            if mutations.isEmpty {
                forget(heads, sentAt)
                isAllSent = false
            } else {
                launch(mutations, heads, in: &group, &report)
            }
        }
        return isAllSent
    }

    func forget(_ heads: [LaneHead], _ sentAt: Instant) {
        let now = now
        state.withLock { state in
            state.requests -= 1
            state.pace.endedOtherwise(sentAt: sentAt, at: now)
            state.lanes.ended(heads.lazy.map(\.entity))
        }
    }

    // MARK: Requests

    func launch(
        _ mutations: [StoredMutation], _ heads: [LaneHead], in group: inout TaskGroup<Void>,
        _ report: inout FlushReport
    ) {
        report.requests += 1
        state.withLock { state in
            state.inFlight += mutations.count
            state.progress.requests += 1
            // Those of a batch that are gone.
            if mutations.count < heads.count {
                state.lanes.ended(Set(heads.map(\.entity)).subtracting(mutations.map(\.mutation.entity)))
            }
        }
        for stored in mutations { tell(.attempted(id: stored.mutation.id)) }
        let sentAt = now
        group.addTask(executorPreference: pipeline.timeBase.taskExecutor) {
            let result = await self.result(of: mutations.map(\.mutation))
            let ended = EndedRequest(mutations: mutations, result: result, sentAt: sentAt, endedAt: self.now)
            let waker = self.state.withLock { state in
                state.ended.append(ended)
                return state.waker.take()
            }
            waker?.resume()
        }
    }

    func result(of mutations: [Mutation]) async -> Result<[SyncHandler.ItemResult], any Error> {
        let kind = mutations[0].kind
        do {
            guard let handler = handlers[kind] ?? handlers[nil] else { throw NoHandler(kind: kind) }
            let judge = { (results: [SyncHandler.ItemResult]) in self.verdict(for: results) }
            return .success(
                try await pipeline.run(judging: judge) { _ in
                    let results = try await handler.send(mutations)
                    guard results.count == mutations.count else {
                        throw BatchResultsMismatch(kind: kind, mutations: mutations.count, results: results.count)
                    }
                    return results
                })
        } catch {
            return .failure(error)
        }
    }

    /// A batch of which anything was throttled was throttled.
    func verdict(for results: [SyncHandler.ItemResult]) -> Verdict {
        for case .failure(let error) in results {
            if case .throttled(let wait) = pipeline.verdict(for: error) { return .throttled(retryAfter: wait) }
        }
        return .success
    }
}

extension FlushReport {
    fileprivate mutating func count(_ settlement: SyncQueue.Settlement) {
        switch settlement.event {
        case .delivered: delivered += 1
        case .failed: failed += 1
        case .died:
            died += 1
            for case .failed in settlement.changes { failed += 1 }
        default: break
        }
    }
}
