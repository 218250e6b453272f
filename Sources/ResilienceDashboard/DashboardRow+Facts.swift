#if Dashboard
    import Resilience
    import ResilienceObservability
    import ResilienceSync

    extension DashboardRow.Facts {
        /// - Parameter now: The time on the dashboard's clock.
        init(_ health: PolicyHealth, at now: Int) {
            if let circuit = health.circuit {
                self.init(circuit, at: now)
            } else if let throttle = health.throttle {
                self.init(throttle, heldFor: health.heldFor, at: now)
            } else if let throttle = health.adaptiveThrottle {
                self.init(throttle)
            } else if let chaos = health.chaos {
                self.init(chaos, at: now)
            } else if let hedge = health.hedge {
                self.init(hedge)
            } else if let pool = health.endpointPool {
                self.init(pool)
            } else if let bulkhead = health.bulkhead {
                self.init(bulkhead)
            } else {
                self = health.isAllowed ? Self("allows calls", .up) : Self("allows no call", .degraded)
            }
        }

        private init(_ circuit: CircuitBreakerStatus, at now: Int) {
            switch circuit.mode {
            case .automatic:
                switch circuit.state {
                case .closed: self.init("closed", .up)
                case .halfOpen: self.init("half-open", .degraded)
                case .open: self.init("open", .down)
                }
                actions = circuit.state == .closed ? [.open, .isolate] : [.close, .isolate]
            case .isolated:
                self.init("isolated", .byHand)
                actions = [.automatic]
            case .disabled: self.init("disabled", .byHand)
            case .observing: self.init("observing", .byHand)
            }
            add("next probe", .until, at: circuit.timeRemaining.map { now.adding($0) })
            add("failures", circuit.failureCount, of: circuit.failureLimit)
            if let calls = circuit.callCount { add("calls", calls) }
        }

        private init(_ throttle: ThrottleStatus, heldFor: Duration?, at now: Int) {
            if throttle.isProbing {
                self.init("probing", .degraded)
            } else if let heldFor, heldFor > .zero {
                self.init("held", .degraded)
                until = now.adding(heldFor)
                actions = [.endHold]
            } else {
                self.init("flowing", .up)
            }
            add("available", throttle.available)
            add("waiting", throttle.queued)
        }

        private init(_ throttle: AdaptiveThrottleStatus) {
            self =
                throttle.rejection > 0
                ? Self("rejecting", throttle.rejection > 0.5 ? .down : .degraded) : Self("accepting", .up)
            add("rejected", (throttle.rejection * 100).rounded(.up), .percent)
            add("accepted", throttle.accepted, of: throttle.calls)
        }

        private init(_ chaos: ChaosStatus, at now: Int) {
            self = chaos.isOn ? Self("on", .degraded) : Self("off", .off)
            if chaos.isOn { until = now.adding(chaos.timeLeft) }
            add("touched", chaos.touched)
            add("delayed now", chaos.delayed)
        }

        private init(_ hedge: HedgeStatus) {
            self = hedge.hedgesLeft > 0 ? Self("ready", .up) : Self("no hedges left", .degraded)
            add("after", hedge.delay)
            add("measured calls", hedge.samples)
            add("hedges left", hedge.hedgesLeft)
        }

        private init(_ pool: EndpointPoolStatus) {
            if !pool.isAllowed {
                self.init("no endpoint", .down)
            } else if pool.isPanicking {
                self.init("too few left, using all", .down)
            } else {
                self = pool.ejected > 0 ? Self("some ejected", .degraded) : Self("none ejected", .up)
            }
            add("ejected", pool.ejected, of: pool.endpoints.count)
            add("in flight", pool.endpoints.reduce(0) { $0.saturatingAdding($1.inFlight) })
        }

        private init(_ bulkhead: BulkheadStatus) {
            let isFull = bulkhead.inUse >= bulkhead.limit
            if bulkhead.isShedding {
                self.init("overloaded, shedding", .down)
            } else if isFull, bulkhead.queued >= bulkhead.queueLimit {
                self.init("full, rejecting", .down)
            } else {
                self = isFull ? Self("full", .degraded) : Self("free", .up)
            }
            if bulkhead.limit != .max { share = min(1, Double(bulkhead.inUse) / Double(max(1, bulkhead.limit))) }
            add("in use", bulkhead.inUse, of: bulkhead.limit)
            if bulkhead.queueLimit > 0 { add("waiting", bulkhead.queued, of: bulkhead.queueLimit) }
            add("calls take", bulkhead.adaptive?.latency)
            add("without a queue", bulkhead.adaptive?.baseline)
        }

        /// - Parameter now: The time on the dashboard's clock.
        init(_ queue: QueueHealth, at now: Int) {
            guard let status = queue.status else {
                self.init("no answer", .down)
                problem = queue.problem
                return
            }
            if status.isPausedByHand || queue.pausedFor != nil {
                self.init(status.isPausedByHand ? "paused by hand" : "paused", .degraded)
                until = queue.pausedFor.map { now.adding($0) }
            } else {
                self.init(status.isFlushing ? "sending" : "idle", .up)
            }
            add("pending", status.pending)
            if status.bytes > 0 { add("size", Double(status.bytes), .bytes) }
            add("in flight", status.inFlight)
            add("dead", status.dead)
            add("oldest", .since, at: status.oldestAge.map { now.adding(.zero - $0) })
            add("pace", status.rate, .perSecond)
            if status.pending > 0, let left = status.estimatedTimeLeft { add("time left", left) }
        }
    }
#endif
