import Resilience
import ResilienceTraffic
import Testing

@Suite struct LogLineTests {
    private static let breaker: [(CircuitBreaker.Event, String)] = [
        (.allowed(.closed), "closed, allowing call"),
        (.allowed(.halfOpen), "half-open, allowing a probe"),
        (.failure(3, of: 5), "failure 3/5"),
        (.opened(5, of: 5, for: .seconds(60)), "threshold reached (5/5) → open for 60 s"),
        (.tripped(for: .seconds(60)), "opened by hand for 60 s"),
        (.breakEndedByHand(.halfOpen), "break ended by hand → half-open"),
        (.rejected(retryAfter: .seconds(42)), "open, rejecting call (retry in 42 s)"),
        (.halfOpened, "break over → half-open"),
        (.waiting, "half-open, call waits for the probe"),
        (.recovered, "probe succeeded → closed (recovered)"),
        (.reopened(for: .seconds(60)), "probe failed → open for 60 s"),
        (.breakEnded, "break over → closed"),
        (.late(.success), "late success from an earlier state, not counted"),
        (.modeChanged(.isolated), "mode set → isolated"),
        (.reset, "reset → closed"),
        (.wouldOpen, "threshold reached, only observing: would open"),
    ]
    private static let call: [(Pipeline.Event, String)] = [
        (.attemptSucceeded(2, took: .milliseconds(120)), "attempt 2 succeeded after 120 ms"),
        (.attemptFailed(1, .transient, took: .seconds(5)), "attempt 1 failed after 5 s (transient)"),
        (
            .succeeded(
                took: .milliseconds(6_120), attempts: 2, waits: [PolicyWait(policy: "retry", duration: .seconds(6))]),
            "succeeded after 6.12 s, 2 attempts, waited 6 s for retry"
        ),
        (.failed(.transient, took: .seconds(30), attempts: 3), "failed after 30 s, 3 attempts (transient)"),
        (.rejected(took: .milliseconds(2), attempts: 0), "rejected after 2 ms, 0 attempts"),
        (.cancelled(took: .milliseconds(1_500), attempts: 1), "cancelled after 1.5 s, 1 attempt"),
    ]
    private static let bulkhead: [(Bulkhead.Event, String)] = [
        (.queued, "full, call queued"),
        (.rejected(.full), "full, queue full, rejecting call"),
        (.rejected(.turnTooLate), "turn would come too late, rejecting call"),
        (.rejected(.waitedTooLong), "waited too long, rejecting call"),
        (.rejected(.displaced), "lost its place in the queue, rejecting call"),
        (.rejected(.shed), "overloaded, rejecting call"),
        (.sheddingBegan, "overloaded, newest call first"),
        (.sheddingEnded, "overload ended"),
        (.limitChanged(from: 8, to: 12), "limit 8 → 12"),
        (.queueChanged(from: 32, to: 64), "queue 32 → 64"),
    ]
    private static let throttle: [(Throttle.Event, String)] = [
        (.rejected(retryAfter: .seconds(3)), "rejecting call (retry in 3 s)"),
        (.held(for: .seconds(30)), "rate limited → holding all calls for 30 s"),
        (.holdEnded, "hold ended by hand → the next call probes"),
    ]
    private static let adaptiveThrottle: [(AdaptiveThrottle.Event, String)] = [
        (.began(0.25), "too few calls are accepted, rejecting 25 % of calls"),
        (.rejected(0.25), "rejecting call, as 25 % of calls"),
        (.ended, "enough calls are accepted, rejecting none"),
    ]
    private static let hedge: [(Hedge.Event, String)] = [
        (.hedged(1, after: .milliseconds(120)), "beginning hedge 1 after 120 ms"),
        (.won(1, after: .milliseconds(150)), "hedge 1 was first, after 150 ms"),
        (.budgetExhausted, "the budget allows no hedge"),
        (
            .notCopied(.runOnce),
            "calls through run, open or a permit, requests that can't be sent twice, and copies of another hedge have no copies; use runHedged"
        ),
        (
            .notCopied(.unknownEffects),
            "calls not marked as repeatable have no copies after the delay; if they are repeatable, set isIdempotent: true"
        ),
    ]
    private static let retry: [(Retry.Event, String)] = [
        (
            .retrying(attempt: 1, of: 4, after: .milliseconds(200), .transient),
            "attempt 1 of 4 failed (transient), trying again in 200 ms"
        ),
        (.gaveUp(attempt: 4, .attemptsExhausted), "gave up after attempt 4: no attempt is left"),
        (.gaveUp(attempt: 1, .deadlineTooNear), "gave up after attempt 1: the deadline is too near"),
        (.gaveUp(attempt: 1, .retryAfterTooLong), "gave up after attempt 1: the wait that was asked for is too long"),
        (.gaveUp(attempt: 1, .elapsedTooLong), "gave up after attempt 1: too much time has passed"),
        (.gaveUp(attempt: 1, .budgetExhausted), "gave up after attempt 1: the retry budget is exhausted"),
        (
            .gaveUp(attempt: 1, .notIdempotent),
            "gave up after attempt 1: it must not be done twice, and may have been done"
        ),
        (
            .gaveUp(attempt: 1, .effectUnknown),
            "gave up after attempt 1: it may have been done; if it may be done twice, say isIdempotent: true"
        ),
        (.gaveUp(attempt: 1, .rejected), "gave up after attempt 1: a further attempt was rejected"),
        (.gaveUp(attempt: 1, .callerRetries), "gave up after attempt 1: the caller retries by itself"),
    ]
    private static let chaos: [(Chaos.Event, String)] = [
        (.failed(.transient, after: .zero), "chaos: failing call (transient)"),
        (.lostAnswer(.uncertain), "chaos: lost the answer of call (uncertain)"),
        (.delayed(.milliseconds(200)), "chaos: delaying call by 200 ms"),
        (.behaved("flush"), "chaos: ran flush"),
        (.cancelled(after: .zero), "chaos: cancelling call"),
        (.leftOut, "chaos: not delaying call, enough are delayed"),
        (.limitReached(1_000), "chaos: touched 1000 calls, leaving the others alone"),
        (.turnedOn(for: .seconds(900)), "chaos: on for 900 s"),
        (.turnedOff(.timeIsOver), "chaos: off (its time is over)"),
    ]
    private static let pool: [(EndpointPoolEvent, String)] = [
        (
            .ejected("10.0.0.1", .consecutiveFailures(5), for: .seconds(30)),
            "ejected 10.0.0.1 for 30 s: 5 failures in a row"
        ),
        (.ejected("10.0.0.1", .byHand, for: .nanoseconds(Int64.max)), "ejected 10.0.0.1 until it is restored: by hand"),
        (
            .notEjected("10.0.0.1", .deviation(0.6, mean: 0.93)),
            "too many are ejected, keeping 10.0.0.1: 60 % of calls succeeded, on average 93 %"
        ),
        (.returned("10.0.0.1"), "10.0.0.1 gets calls again"),
        (.panicBegan(left: 4, of: 10), "only 4 of 10 endpoints left, using all"),
        (.panicEnded, "enough endpoints left, using those"),
    ]
    private static let around: [(any PolicyEventDetail, String)] = [
        (Timeout.Event.timedOut(.seconds(5)), "timed out after 5 s"),
        (Timeout.Event.endedLate(by: .seconds(3)), "abandoned operation ended, 3 s after its call"),
        (FallbackEvent.fellBack(.transient), "transient, handing back a substitute"),
        (FallbackEvent.failed(.transient, error: "empty"), "transient, and no substitute: empty"),
        (SingleFlightEvent.began, "no flight to join, beginning one"),
        (SingleFlightEvent.joined(waiting: 3), "joined a flight, 3 waiting"),
        (AdaptiveBulkhead.Event.limitAdapted(from: 8, to: 12), "limit adapted 8 → 12"),
        (SingleFlightEvent.abandoned(after: .seconds(2)), "no call waits any more after 2 s, cancelling"),
        (SingleFlightEvent.endedLate(by: .seconds(1)), "abandoned operation ended, 1 s after its last call"),
        (CacheEvent.hit, "fresh value"), (CacheEvent.hitStale, "stale value"),
        (CacheEvent.hitFailure, "cached failure"), (CacheEvent.missed, "no value, loading one"),
        (CacheEvent.loaded(took: .seconds(2)), "loaded in 2 s"),
        (CacheEvent.failed(.transient, took: .seconds(2)), "load failed after 2 s: transient"),
        (CacheEvent.fellBack(.transient), "transient, returning the stale value"),
        (CacheEvent.evicted(3), "evicted 3 to make room"),
    ]

    @Test("each event of a policy has the expected log line")
    func lines() {
        let all: [(any PolicyEventDetail, String)] =
            Self.breaker + Self.call + Self.bulkhead + Self.throttle + Self.adaptiveThrottle + Self.hedge + Self.retry
            + Self.chaos + Self.pool + Self.around
        for (event, line) in all { #expect("\(event)" == line) }
    }
}
