#if Dashboard
    import Resilience
    import ResilienceObservability

    /// Reads the states while a page is open, and passes them to all pages. Without a page it only records the changes
    /// of circuits, and every few seconds the number of ended calls.
    final class DashboardHub: Sendable {
        private struct State {
            var readers: [Int: AsyncStream<DashboardState>.Continuation] = [:]
            var lastID = 0
            var sampler: Task<Void, Never>?
            /// The sampler's wait.
            var waiter: PolicyWaiter?
            /// Whether a change was reported since the last sample.
            var isStale = false
            var timelines = Timelines()
            var rates: CallRates
        }

        /// The time until the next sample if nothing happens.
        static let interval = Duration.milliseconds(500)
        /// The shortest time between two samples.
        static let shortestInterval = Duration.milliseconds(100)
        /// How long a sample waits for a queue that is known to be slow.
        static let patience = Duration.milliseconds(100)

        let monitor: HealthMonitor
        /// Counts the calls of the pipelines; nil if they are not counted.
        private let counter: EventCounter?
        let configuration: DashboardConfiguration
        let timeBase: any TimeBase
        private let start: MonotonicInstant
        private let state: Locked<State>
        private let recorder = Locked<[Task<Void, Never>]>([])
        private let onLeave: @Sendable (_ remaining: Int) -> Void

        /// - Parameter onLeave: Receives the number of remaining pages each time a page leaves: for tests.
        init(
            _ monitor: HealthMonitor, _ configuration: DashboardConfiguration, counting counter: EventCounter? = nil,
            timeBase: any TimeBase = .system,
            onLeave: @escaping @Sendable (_ remaining: Int) -> Void = { _ in }
        ) {
            self.onLeave = onLeave
            self.monitor = monitor
            self.counter = counter
            self.configuration = configuration.checked
            self.timeBase = timeBase
            start = timeBase.now
            state = Locked(State(rates: CallRates(history: 0.adding(self.configuration.history))))
            var tasks = monitor.watch { [weak self] component, change in self?.note(change, of: component) }
            if counter != nil {
                countCalls()
                tasks.append(
                    Task { [weak self] in
                        while (try? await timeBase.sleep(for: .milliseconds(CallRates.step))) != nil {
                            self?.countCalls()
                        }
                    })
            }
            recorder.withLock { [tasks] in $0 = tasks }
        }

        deinit { for task in recorder.withLock({ $0 }) { task.cancel() } }

        /// Milliseconds since the dashboard was mounted.
        var now: Int { 0.adding(start.duration(to: timeBase.now)) }

        var clientCount: Int { state.withLock { $0.readers.count } }

        /// Whether states are being read.
        var isSampling: Bool { state.withLock { $0.sampler != nil } }

        // MARK: Who watches

        /// A page's place among the open pages. It is given back when the page has left, and at the latest when nobody
        /// holds the seat: a response may be dropped before its body is read.
        final class Seat: Sendable {
            private let hub: DashboardHub
            private let id: Int
            /// The stream of states, which buffers only the latest one. A slow reader misses the states in between.
            let states: AsyncStream<DashboardState>

            fileprivate init(_ hub: DashboardHub, _ id: Int, _ states: AsyncStream<DashboardState>) {
                (self.hub, self.id, self.states) = (hub, id, states)
            }

            deinit { leave() }

            /// Gives the place back, and ends the states.
            func leave() { hub.leave(id) }
        }

        /// - Returns: nil at the limit of pages.
        func join() -> Seat? {
            let (states, continuation) = AsyncStream.makeStream(
                of: DashboardState.self, bufferingPolicy: .bufferingNewest(1))
            let id: Int? = state.withLock { state in
                guard state.readers.count < configuration.maxClients else { return nil }
                state.lastID += 1
                state.readers[state.lastID] = continuation
                if state.readers.count == 1 { state.sampler = Task { await self.sample() } }
                return state.lastID
            }
            guard let id else { return nil }
            poke()
            return Seat(self, id, states)
        }

        private func leave(_ id: Int) {
            let (reader, sampler, remaining) = state.withLock { state in
                let reader = state.readers.removeValue(forKey: id)
                return (reader, state.readers.isEmpty ? state.sampler.take() : nil, state.readers.count)
            }
            guard let reader else { return }
            reader.finish()
            sampler?.cancel()
            onLeave(remaining)
        }

        // MARK: Sampling

        /// Reports a change that pages should show at once.
        func poke() {
            let waiter = state.withLock { state in
                state.isStale = true
                return state.waiter
            }
            waiter?.resume()
        }

        private func sample() async {
            while !Task.isCancelled {
                let began = timeBase.now
                state.withLock { $0.isStale = false }
                let state = await present()
                // After a cancellation the report is incomplete: do not send it to pages that have come meanwhile.
                if Task.isCancelled { return }
                for reader in self.state.withLock({ Array($0.readers.values) }) { reader.yield(state) }
                await rest(until: began + Self.interval)
                // Limits the number of samples while changes follow each other quickly.
                try? await timeBase.sleep(until: began + Self.shortestInterval)
            }
        }

        private func rest(until deadline: MonotonicInstant) async {
            let waiter = PolicyWaiter()
            let isStale = state.withLock { state in
                if Task.isCancelled { return true }
                state.waiter = waiter
                return state.isStale
            }
            if isStale { return }
            _ = await waiter.wait(until: deadline, on: timeBase)
        }

        /// Returns the state to show now.
        func present() async -> DashboardState {
            let report = await monitor.report(limit: configuration.limit, patience: Self.patience)
            let now = now
            let (timelines, rates) = state.withLock { ($0.timelines, $0.rates) }
            return DashboardState(
                report, timelines, counter == nil ? nil : rates, since: now.adding(.zero - configuration.history),
                at: now)
        }

        func snapshot(_ state: DashboardState) -> DashboardMessage {
            .snapshot(
                DashboardMessage.Snapshot(
                    now: state.now, summary: state.summary, sections: state.sections, rows: state.rows,
                    history: 0.adding(configuration.history), recordedSince: 0,
                    allowsActions: configuration.allowsActions))
        }

        private func countCalls() {
            guard let counter else { return }
            let (counts, time) = (counter.counts, now)
            let totals = CallCounts.byPipeline(counts)
            state.withLock { state in
                state.rates.isPartial = counts.others > 0
                state.rates.note(totals, at: time)
            }
        }

        private func note(_ change: HealthSource.Change, of component: String) {
            let time = now.adding(.zero - change.age)
            state.withLock {
                $0.timelines.note(
                    change.transition, of: Timelines.Circuit(component: component, place: change.policy), at: time)
            }
            poke()
        }
    }
#endif
