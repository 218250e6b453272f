public import Resilience

extension Pipeline {
    /// A pipeline for the calls of one HTTP service, with the policies that most clients need.
    ///
    /// Outermost first:
    ///
    /// | policy | default | why there, and with this default |
    /// |---|---|---|
    /// | ``/Resilience/Timeout`` "total" | 30 s | the call with all its attempts and waits: nobody waits longer |
    /// | ``/Resilience/Retry`` | 3 retries, from 50 ms doubling, full jitter; after a 429 from 1 s; never earlier than `Retry-After` | outside the policies below, so that each attempt is admitted and counted |
    /// | ``/Resilience/RetryBudget`` of the retry | `.tokens()` | in an outage retries stop, and only first attempts remain |
    /// | ``/Resilience/CircuitBreaker``, by the pipeline's name | opens at 50 % failures of at least 100 attempts in 30 s, or at 9 in a row; for 5 s, doubling up to 60 s | the share is for a server's traffic, the 9 in a row for an app with few calls; why 9, see below. Outside throttle and bulkhead, so that a rejected call uses neither |
    /// | ``/Resilience/Throttle`` | no rate; a 429 holds all calls, then one probes | one 429 is enough for all calls, and `Pipeline.note(_:)` needs a throttle |
    /// | ``/Resilience/Bulkhead`` | 1,000 at a time, no queue | limits how many can pile up; not tuned |
    /// | ``/Resilience/Timeout`` "attempt" | 10 s | one attempt that hangs leaves time for two more |
    ///
    /// ```swift
    /// let session = URLSession.shared.resilient(.http("catalog"))
    /// ```
    ///
    /// The breaker counts attempts, and a call has up to `1 + maxRetries` of them. So the number of failures in a row
    /// that opens the circuit is two calls plus one attempt: `2 × (1 + maxRetries) + 1`, and at least 5. A simulation
    /// with the defaults, in which each attempt takes 100 ms and fails at random:
    ///
    /// | service | calls | failing | circuit |
    /// |---|---|---|---|
    /// | quiet | 1 a minute | all attempts of two calls | stays closed |
    /// | quiet, down | 1 a minute | all | opens in the 3rd call, after 2 minutes |
    /// | busy, down | 50 a second | all | opens after 9 attempts, within 0.3 s |
    /// | busy | 50 a second, for an hour | 10 % of the attempts | stays closed |
    ///
    /// A 429 holds all calls of the pipeline, since they share the limit. During a long hold, one call probes after 5
    /// minutes, and then from time to time. A 503, with or without `Retry-After`, counts as a failure and holds only
    /// its own call: one failing path stops the others only if its failures open the circuit. With an
    /// ``HTTPEndpointRegistry``, each path has a circuit and a throttle of its own.
    ///
    /// The order and most figures come from .NET's standard resilience handler, except: the limit of calls is inside
    /// the retry, so that a call holds no permit while it waits; the first wait is 50 ms instead of 2 s, as in the AWS
    /// SDKs, since the budget already limits the retries; a 429 holds all calls; the circuit opens at 50 % instead of
    /// 10 %, since retries hide 10 %; and it also opens with few calls.
    ///
    /// Make one pipeline for each service, or for each endpoint with an ``HTTPEndpointRegistry``, and share it.
    ///
    /// - Parameters:
    ///   - name: The name of the pipeline, and of its circuit breaker. "http" by default.
    ///   - total: How long a call may take, with all attempts and waits; above 0. 30 seconds by default.
    ///   - attempt: How long an attempt may take; above 0. 10 seconds by default.
    ///   - maxRetries: How many attempts may follow the first; 0 or more. 3 by default.
    ///   - budget: The budget that limits the retries of all calls together; nil for no limit. By default its own
    ///     `.tokens()`.
    ///   - rate: The rate limit on attempts. No limit by default. An attempt waits for its turn as long as its call
    ///     may take.
    ///   - concurrency: How many attempts may be in flight; 1 or more. 1,000 by default.
    ///   - enforcement: Who ends calls at the two timeouts. By default the timeouts do, each with a child task. With
    ///     `.client`, each is a ``/Resilience/ClientTimeout``, which costs a twentieth of a child task: for clients
    ///     that end at their attempt's deadline, as `URLSession` and async-http-client do with the modules of this
    ///     package.
    ///   - classifier: Returns the verdict of an error.
    ///   - observers: The observers of the policies' events; nil for none at first.
    ///   - timeBase: The clock of the pipeline and of its policies.
    /// - Returns: The pipeline, with policies of its own.
    public static func http(
        _ name: String = "http", total: Duration = .seconds(30), attempt: Duration = .seconds(10), maxRetries: Int = 3,
        budget: RetryBudget? = .tokens(), rate: ThrottleLimit = .unlimited, concurrency: Int = 1_000,
        timeoutsEnforcedBy enforcement: TimeoutEnforcement = .policy, classifier: Classifier = .standard,
        observers: PolicyObservers? = nil, timeBase: any TimeBase = .system
    ) -> Pipeline {
        Pipeline(name, timeBase: timeBase, classifier: classifier, observers: observers) {
            enforcement.timeout("total", limit: total)
            Retry(maxRetries: maxRetries, budget: budget)
            CircuitBreaker(
                name,
                tripping: .anyOf(
                    .failureRatio(0.5, over: .time(.seconds(30)), minimumCalls: 100),
                    .consecutiveFailures(row(maxRetries: maxRetries))),
                openFor: .exponential(from: .seconds(5), maxMultiplier: 12, cap: .seconds(60)), timeBase: timeBase)
            Throttle(limit: rate, maxWait: max(.zero, total), holdOnThrottled: true, timeBase: timeBase)
            Bulkhead(limit: concurrency, timeBase: timeBase)
            enforcement.timeout("attempt", limit: attempt)
        }
    }

    /// How many failed attempts in a row open the circuit: more than two calls that fail with all their retries.
    private static func row(maxRetries: Int) -> Int {
        max(5, max(0, maxRetries).saturatingAdding(1).saturatingMultiplied(by: 2).saturatingAdding(1))
    }
}
