public import Resilience
import ResilienceSync

extension HealthReport {
    /// The content type of ``prometheusText(counts:)``.
    public static var prometheusContentType: String { "text/plain; version=0.0.4; charset=utf-8" }

    /// Returns the report as metrics in Prometheus' text format, for a service without another metrics backend.
    ///
    /// ```swift
    /// let text = await health.report().prometheusText(counts: counter.counts)
    /// ```
    ///
    /// The components that the report lists are written, and no others: the monitor's limit bounds the page. The guide
    /// has the list of metrics: <doc:HealthGuide>.
    /// - Parameter counts: Events that an `EventCounter` has counted, for `resilience_calls_total` and the other
    ///   counters. None by default.
    /// - Returns: The text, which ends with a line feed.
    public func prometheusText(counts: EventCounts? = nil) -> String {
        var text = PrometheusText()
        text.declareHealth()
        text.declareEvents()
        text.add("resilience_health_status", [], Double(status.level))
        for (label, count) in [
            ("up", totals.components - totals.degraded - totals.down), ("degraded", totals.degraded),
            ("down", totals.down),
        ] {
            text.add("resilience_components", [("status", label)], Double(count))
        }
        text.add("resilience_components_omitted", [], Double(totals.omitted))
        // By id, so that the numbers of equal names stay with the same components, whatever their status.
        for component in components.sorted(by: { $0.id < $1.id }) { text.add(component) }
        if let counts { text.add(counts) }
        return text.text
    }
}

extension PrometheusText {
    fileprivate mutating func declareHealth() {
        declare("resilience_health_status", .gauge, "The status of the service: 0 up, 1 degraded, 2 down.")
        declare("resilience_components", .gauge, "Components of the service, by status.")
        declare("resilience_components_omitted", .gauge, "Components that are counted but not listed here.")
        declare("resilience_component_status", .gauge, "The status of a component: 0 up, 1 degraded, 2 down.")
        declare("resilience_circuits", .gauge, "Whether a circuit is in this state.")
        declare("resilience_circuit_failures", .gauge, "Failures that a circuit counts.")
        declare("resilience_circuit_probe_seconds", .gauge, "Time to the next probe of an open circuit.")
        declare("resilience_permits_in_use", .gauge, "Calls inside a bulkhead.")
        declare("resilience_permits_limit", .gauge, "Calls that a bulkhead lets in at the same time.")
        declare("resilience_queue_length", .gauge, "Calls that wait for a bulkhead or a throttle.")
        declare("resilience_shedding", .gauge, "Whether a bulkhead is overloaded and rejects waiting calls.")
        declare("resilience_adaptive_limit_latency_seconds", .gauge, "How long the latest calls took.")
        declare("resilience_adaptive_limit_baseline_seconds", .gauge, "How long a call takes that finds no queue.")
        declare("resilience_throttle_available", .gauge, "Calls that a throttle would let through now.")
        declare("resilience_throttle_wait_seconds", .gauge, "How long until a new call could go.")
        declare("resilience_throttle_held_seconds", .gauge, "How much longer a throttle holds all calls.")
        declare("resilience_adaptive_throttle_rejection", .gauge, "The share of calls that is rejected, 0 to 1.")
        declare("resilience_chaos_on", .gauge, "Whether a chaos policy is on.")
        declare("resilience_hedge_delay_seconds", .gauge, "How long a call waits before its first hedge.")
        declare("resilience_hedges_left", .gauge, "Hedges that the budget still allows.")
        declare("resilience_sync_up", .gauge, "Whether the store of a sync queue answers.")
        declare("resilience_endpoints", .gauge, "Endpoints of a pool.")
        declare("resilience_endpoints_ejected", .gauge, "Endpoints of a pool that are ejected.")
        declare("resilience_endpoint_panic", .gauge, "Whether a pool uses all endpoints since too few are left.")
        declare("resilience_sync_pending", .gauge, "Mutations that are not acknowledged.")
        declare("resilience_sync_bytes", .gauge, "Bytes of the payloads of those mutations.")
        declare("resilience_sync_in_flight", .gauge, "Mutations that were sent and not answered.")
        declare("resilience_sync_dead", .gauge, "Dead mutations.")
        declare("resilience_sync_oldest_age_seconds", .gauge, "How long the first pending mutation has waited.")
        declare("resilience_sync_rate", .gauge, "Requests per second that the server is believed to allow.")
        declare("resilience_sync_paused_seconds", .gauge, "How much longer a sync queue sends nothing.")
    }

    fileprivate mutating func declareEvents() {
        declare("resilience_calls_total", .counter, "Calls of a pipeline, by how they ended.")
        declare("resilience_attempts_total", .counter, "Attempts of a pipeline's calls, by how they ended.")
        declare("resilience_events_total", .counter, "Events of policies and queues, by kind.")
        declare("resilience_events_uncounted_total", .counter, "Events beyond the limit of keys, of any kind.")
    }

    fileprivate mutating func add(_ component: HealthComponent) {
        let owner: Labels = [("registry", component.group)]
        if let queue = component.queue {
            let labels = owner + [("queue", component.name)]
            add("resilience_component_status", labels, Double(component.status.level))
            add(queue, labels)
            return
        }
        let pipeline = owner + [("pipeline", component.name)]
        add("resilience_component_status", pipeline, Double(component.status.level))
        for policy in component.policies { add(policy, pipeline + [("policy", policy.policy)]) }
    }

    private mutating func add(_ policy: PolicyHealth, _ labels: Labels) {
        if let circuit = policy.circuit {
            for (state, label) in [(CircuitState.closed, "closed"), (.halfOpen, "half_open"), (.open, "open")] {
                add("resilience_circuits", labels + [("state", label)], circuit.state == state ? 1 : 0)
            }
            add("resilience_circuit_failures", labels, Double(circuit.failureCount))
            if let remaining = circuit.timeRemaining {
                add("resilience_circuit_probe_seconds", labels, remaining.writtenSeconds)
            }
        }
        if let bulkhead = policy.bulkhead {
            add("resilience_permits_in_use", labels, Double(bulkhead.inUse))
            add("resilience_permits_limit", labels, Double(bulkhead.limit))
            add("resilience_queue_length", labels, Double(bulkhead.queued))
            add("resilience_shedding", labels, bulkhead.isShedding ? 1 : 0)
            if let latency = bulkhead.adaptive?.latency {
                add("resilience_adaptive_limit_latency_seconds", labels, latency.writtenSeconds)
            }
            if let baseline = bulkhead.adaptive?.baseline {
                add("resilience_adaptive_limit_baseline_seconds", labels, baseline.writtenSeconds)
            }
        }
        if let throttle = policy.adaptiveThrottle {
            add("resilience_adaptive_throttle_rejection", labels, throttle.rejection)
        }
        if let chaos = policy.chaos { add("resilience_chaos_on", labels, chaos.isOn ? 1 : 0) }
        if let hedge = policy.hedge {
            if let delay = hedge.delay { add("resilience_hedge_delay_seconds", labels, delay.writtenSeconds) }
            add("resilience_hedges_left", labels, Double(hedge.hedgesLeft))
        }
        if let pool = policy.endpointPool {
            add("resilience_endpoints", labels, Double(pool.endpoints.count))
            add("resilience_endpoints_ejected", labels, Double(pool.ejected))
            add("resilience_endpoint_panic", labels, pool.isPanicking ? 1 : 0)
        }
        if let throttle = policy.throttle {
            add("resilience_queue_length", labels, Double(throttle.queued))
            // Without a limit there is no number to show.
            if throttle.available != .max { add("resilience_throttle_available", labels, Double(throttle.available)) }
            add("resilience_throttle_wait_seconds", labels, throttle.timeUntilNext.writtenSeconds)
            add("resilience_throttle_held_seconds", labels, (policy.heldFor ?? .zero).writtenSeconds)
        }
    }

    private mutating func add(_ queue: QueueHealth, _ labels: Labels) {
        add("resilience_sync_up", labels, queue.status == nil ? 0 : 1)
        guard let status = queue.status else { return }
        add("resilience_sync_pending", labels, Double(status.pending))
        add("resilience_sync_bytes", labels, Double(status.bytes))
        add("resilience_sync_dead", labels, Double(status.dead))
        add("resilience_sync_in_flight", labels, Double(status.inFlight))
        add("resilience_sync_oldest_age_seconds", labels, (status.oldestAge ?? .zero).writtenSeconds)
        if let rate = status.rate { add("resilience_sync_rate", labels, rate) }
        add("resilience_sync_paused_seconds", labels, (queue.pausedFor ?? .zero).writtenSeconds)
    }

    fileprivate mutating func add(_ counts: EventCounts) {
        for (key, count) in counts.byKey {
            let pipeline: Labels = [("pipeline", key.pipeline.map(bounded) ?? "none")]
            let outcome: (metric: String, outcome: String)? =
                switch (key.policy, key.kind) {
                case ("call", "succeeded"): ("resilience_calls_total", "success")
                case ("call", "failed"), ("call", "rejected"), ("call", "cancelled"):
                    ("resilience_calls_total", key.kind)
                case ("call", "attemptSucceeded"): ("resilience_attempts_total", "success")
                case ("call", "attemptFailed"): ("resilience_attempts_total", "failed")
                default: nil
                }
            if let outcome {
                add(outcome.metric, pipeline + [("outcome", outcome.outcome)], Double(count))
            } else {
                add(
                    "resilience_events_total",
                    pipeline + [("policy", bounded(key.policy)), ("event", bounded(key.kind))], Double(count))
            }
        }
        add("resilience_events_uncounted_total", [], Double(counts.others))
    }
}
