#if Demo
    import Foundation
    import Resilience
    import ResilienceHTTP
    import ResilienceSync

    /// Sends the same mutations through the toolkit: one queue, and one pause for all, in which the server is left
    /// alone. After it the rest is sent at the rate that the server is found to allow.
    struct ToolkitRun: Sendable {
        enum End: Sendable, Equatable {
            /// Nothing is pending.
            case drained
            case interrupted
            /// The server can't be reached, or keeps failing. What is pending stays.
            case gaveUp(reason: String)
        }

        /// The number of mutations that become dead in a row, with no acknowledgement in between, that puts the blame
        /// on the server.
        static let refusals = 5
        /// The number of failed tries in a row to reach a server that has acknowledged something before; and one that
        /// has not.
        static let (tries, firstTries) = (3, 2)
        /// The most requests in flight at once.
        static let requests = 2

        let client: MutationClient
        let queue: SyncQueue
        private let verdicts = GivingUp()

        /// - Parameter timeBase: The time base of the queue and its breakers.
        init(client: MutationClient, store: some MutationStore, timeBase: any TimeBase = .system) {
            self.client = client
            let outage = CircuitBreaker(
                "outage", tripping: .consecutiveFailures(5), openFor: .seconds(5), timeBase: timeBase)
            // The rate limit's gate is the outer one, so that a call that it rejects is not the outage breaker's probe.
            let pipeline = Pipeline("storm", timeBase: timeBase) {
                CircuitBreaker("rate limit", circuit: BackoffGate(), timeBase: timeBase)
                outage
                Timeout("attempt", limit: .seconds(10))
            }
            let configuration = SyncQueueConfiguration(
                maxInFlight: Self.requests, isOffline: { $0 is ServerTrouble || $0 is TimedOut })
            queue = SyncQueue("mutations", store: store, pipeline: pipeline, configuration: configuration) {
                try await client.deliver($0)
            }
            queue.observers.add(QueueWatch(tally: client.tally, verdicts: verdicts))
            outage.observers.add { [verdicts] event in
                if case CircuitBreaker.Event.reopened = event.detail {
                    verdicts.giveUp(
                        "\(client.url.absoluteString) keeps failing, the last time with \(verdicts.lastFailure)")
                }
            }
        }

        /// Sends what is pending, until nothing is left or continuing makes no sense.
        /// - Throws: The store's error.
        func drain() async throws -> End {
            let flight = Task { try await drainPatiently() }
            verdicts.watch(flight)
            let result = await withTaskCancellationHandler {
                await flight.result
            } onCancel: {
                flight.cancel()
            }
            await queue.stop()
            if let reason = verdicts.reason { return .gaveUp(reason: reason) }
            return try result.get()
        }

        private func drainPatiently() async throws -> End {
            var fruitless = 0
            while true {
                let before = client.tally.counts.delivered
                let report = try await queue.drain()
                guard case .offline(let retryAt) = report.end else {
                    return report.end == .drained ? .drained : .interrupted
                }
                fruitless = client.tally.counts.delivered > before ? 1 : fruitless + 1
                let everDelivered = client.tally.counts.delivered > 0
                guard fruitless < (everDelivered ? Self.tries : Self.firstTries) else {
                    return .gaveUp(reason: reason(report.lastError))
                }
                client.tally.paused(until: retryAt)
                try? await Task.sleep(for: queue.pipeline.timeBase.now.duration(to: retryAt))
                if Task.isCancelled { return .interrupted }
            }
        }

        private func reason(_ error: (any Error)?) -> String {
            switch error {
            case let timedOut as TimedOut: ServerTrouble(timedOut, at: client.url).description
            case let error?: "\(error)"
            case nil: "\(client.url.absoluteString) can't be reached"
            }
        }
    }

    /// Follows the queue's events: the end of its pauses, and mutations that become dead in a row.
    private final class QueueWatch: PolicyObserver {
        private let tally: Tally
        private let verdicts: GivingUp
        private let refused = Locked(0)

        init(tally: Tally, verdicts: GivingUp) {
            self.tally = tally
            self.verdicts = verdicts
        }

        func receive(_ event: PolicyEvent) {
            switch event.detail as? SyncEvent {
            case .paused(let length):
                tally.paused(until: event.time + length)
            case .delivered:
                refused.withLock { $0 = 0 }
            case .died(_, let error):
                let count = refused.withLock { count in
                    count += 1
                    return count
                }
                if count == ToolkitRun.refusals {
                    verdicts.giveUp("the server refused \(count) mutations in a row, the last with: \(error)")
                }
            case .failed(_, _, let error):
                verdicts.note(error)
            case .enqueued, .coalesced, .dropped, .duplicate, .attempted, .suspected, .pausedByHand, .resumed, .offline,
                .lockedOut, .drained, .cancelled, .cleared, .revived, .discarded, .storeFailed, nil:
                break
            }
        }
    }

    /// The reason to stop before the queue is empty, and the task to cancel then.
    private final class GivingUp: Sendable {
        private struct State {
            var reason: String?
            var lastFailure = "no word"
            var flight: Task<ToolkitRun.End, any Error>?
        }

        private let state = Locked(State())

        var reason: String? { state.withLock { $0.reason } }
        var lastFailure: String { state.withLock { $0.lastFailure } }

        func note(_ failure: String) { state.withLock { $0.lastFailure = failure } }

        func watch(_ flight: Task<ToolkitRun.End, any Error>) {
            let late = state.withLock { state in
                state.flight = flight
                return state.reason != nil
            }
            if late { flight.cancel() }
        }

        func giveUp(_ reason: String) {
            let flight = state.withLock { state in
                if state.reason == nil { state.reason = reason }
                return state.flight
            }
            flight?.cancel()
        }
    }
#endif
