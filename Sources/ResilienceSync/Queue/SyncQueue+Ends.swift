import Resilience

/// What the end of a request means for its mutations, and for all.
extension SyncQueue {
    func noteEnds(
        _ group: inout TaskGroup<Void>, _ end: inout FlushReport.End?, _ report: inout FlushReport
    ) async throws {
        while let ended = state.withLock({ $0.ended.isEmpty ? nil : $0.ended.removeFirst() }) {
            // So that a long flight does not gather the tasks of its requests.
            _ = await group.next()
            try await note(ended, &end, &report)
        }
    }

    func note(
        _ ended: EndedRequest, _ end: inout FlushReport.End?, _ report: inout FlushReport
    ) async throws {
        state.withLock { state in
            state.requests -= 1
            state.inFlight -= ended.mutations.count
            state.lanes.ended(ended.mutations.lazy.map(\.mutation.entity))
        }
        // It was one request, however many of its mutations were throttled.
        let throttled = report.throttled + 1
        defer { report.throttled = min(report.throttled, throttled) }
        switch ended.result {
        case .failure(let error):
            try await note(error, of: ended.mutations, ended, &end, &report)
        case .success(let results):
            let delivered = zip(ended.mutations, results).filter { (try? $1.get()) != nil }.map(\.0)
            if !delivered.isEmpty {
                state.withLock { state in
                    state.pace.acknowledged(sentAt: ended.sentAt, at: ended.endedAt)
                    state.throttles = 0
                    state.outages = 0
                    state.unsettled += delivered.map {
                        Settlement(
                            changes: [.acknowledged($0.position)], event: .delivered(id: $0.mutation.id))
                    }
                }
            }
            for (stored, result) in zip(ended.mutations, results) {
                if case .failure(let error) = result { try await note(error, of: [stored], ended, &end, &report) }
            }
        }
    }

    /// - Parameter mutations: all of a request that failed, or the one of a batch that the error is about.
    func note(
        _ error: any Error, of mutations: [StoredMutation], _ ended: EndedRequest, _ end: inout FlushReport.End?,
        _ report: inout FlushReport
    ) async throws {
        let verdict = pipeline.verdict(for: error)
        if case .throttled(let named) = verdict, !Task.isCancelled {
            report.lastError = error
            report.throttled += 1
            return try await pause(for: named, sentAt: ended.sentAt, isOurOwn: false, &end)
        }
        state.withLock { $0.pace.endedOtherwise(sentAt: ended.sentAt, at: ended.endedAt) }
        if Task.isCancelled { return }
        report.lastError = error
        if configuration.isOffline(error) {
            tell(.offline(error: "\(error)"))
            if end == nil { end = .offline(retryAt: now + outageDelay()) }
            return
        }
        switch verdict {
        case .throttled:
            break
        case .rejected:
            try await pause(
                for: (error as? any Rejection)?.retryAfter, sentAt: ended.sentAt, isOurOwn: true, &end)
        case .cancelled:
            // By somebody else, and not the mutation's fault.
            for stored in mutations { hold(stored, failures: stored.failures) }
        case .permanent where mutations.count == 1:
            setAside(mutations[0].position, id: mutations[0].mutation.id, "\(error)", counting: false)
        case .permanent, .transient, .uncertain, .success:
            for stored in mutations { countFailure(of: stored, error) }
        }
    }

    func countFailure(of stored: StoredMutation, _ error: any Error) {
        let text = "\(error)"
        // A store may hold any number.
        let failures = stored.failures.saturatingAdding(1)
        if failures >= configuration.maxFailures {
            return setAside(stored.position, id: stored.mutation.id, text, counting: true)
        }
        let settlement = Settlement(
            changes: [.failed(stored.position, error: text)],
            event: .failed(id: stored.mutation.id, failures: failures, error: text))
        state.withLock { $0.unsettled.append(settlement) }
        hold(stored, failures: stored.failures)
    }

    func setAside(_ position: Int64, id: String, _ error: String, counting counts: Bool) {
        let parked = MutationChange.parked(position, error: error, rest: configuration.laneRule)
        let settlement = Settlement(
            changes: counts ? [.failed(position, error: error), parked] : [parked], event: .died(id: id, error: error))
        state.withLock { $0.unsettled.append(settlement) }
    }

    // MARK: Waits

    /// Without it, a backoff of zero would have the queue try again and again at the same instant.
    static let shortestWait = Duration.milliseconds(1)

    func hold(_ stored: StoredMutation, failures: Int) {
        let until = now + delay(after: failures, by: configuration.failedBackoff)
        state.withLock { $0.lanes.hold(stored.mutation.entity, until: until) }
    }

    func outageDelay() -> Duration { delay(counting: \.outages, by: configuration.failedBackoff) }

    /// The wait after one more of what is counted there.
    func delay(counting count: any WritableKeyPath<State, Int> & Sendable, by backoff: Backoff) -> Duration {
        let before = state.withLock { state in
            defer { state[keyPath: count] = min(state[keyPath: count] + 1, 1_000_000) }
            return state[keyPath: count]
        }
        return delay(after: before, by: backoff)
    }

    func delay(after failures: Int, by backoff: Backoff) -> Duration {
        var generator = SplitMix64.shared
        return max(backoff.delay(beforeRetry: failures, using: &generator), Self.shortestWait)
    }
}
