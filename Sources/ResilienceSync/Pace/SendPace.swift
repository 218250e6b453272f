import Resilience

/// Decides how fast to send to a server whose limit is unknown.
///
/// ```
/// flowing ── 429 ─▶ paused ── its end ─▶ probing ── acknowledged ─▶ flowing
///                     ▲──────── 429, or no answer ───────┘
/// ```
///
/// While nothing is known, it sends as fast as answers come and its user allows, beginning with a few requests at a
/// time (slow start, RFC 5681). After the second 429 it knows a rate (``RateSearch``), and keeps a model of the
/// server's bucket: empty at a 429, and filled at that rate. So after a pause it sends at once as many requests as the
/// bucket has gathered, and then the rest at that rate.
///
/// The server's own quotas (``QuotaFacts``) also apply: the stricter of the two decides.
struct SendPace: Sendable, Hashable {
    enum Phase: Sendable, Hashable {
        /// → paused
        case flowing
        /// → probing
        case paused(until: MonotonicInstant)
        /// → flowing, paused
        case probing(sentAt: MonotonicInstant)
    }

    /// Above one request per nanosecond, no time is left to wait.
    private static let fastest = 1e9

    private(set) var phase = Phase.flowing
    private var quotas: QuotaFacts
    private let maxInFlight: Int
    private let maxRate: Double
    /// When ``maxRate`` allows the next request.
    private var allowedAt = MonotonicInstant.distantPast

    /// How many requests may be in flight, and how many were acknowledged since that number last grew.
    private var width = 2
    private var acknowledgements = 0
    private var widthSearch = WidthSearch()
    private var lastSentAt = MonotonicInstant.distantPast

    /// When the probe of this run was sent. Earlier requests belong to an earlier run.
    private var resumedAt = MonotonicInstant.distantPast
    /// How many requests of an earlier run are in flight. They may take long, and say nothing about this run.
    private var earlier = 0
    /// When the 429 came that began this run; nil if the run began otherwise, or was interrupted.
    private var exhaustedAt: MonotonicInstant?
    private var admitted = 0
    private var catchUp = 0.0
    /// An ended run. It is evaluated once its late acknowledgements have come.
    private var ended: RateSearch.Run?
    private var search: RateSearch?

    /// The number of requests that may be sent at once, at this instant.
    private var credit = 0.0
    private var creditAt = MonotonicInstant.distantPast
    /// Whether the latest request had waited for the pace.
    private var isHeldBack = false

    /// How long to be silent if the server names no wait, once its rate is known: half of the last silence that
    /// sufficed.
    private var quiet = Duration.zero

    /// - Parameters:
    ///   - maxInFlight: The most requests in flight, 1 or more.
    ///   - maxRate: The highest rate, in requests per second, above 0; nil for no limit.
    ///   - maxPause: The longest silence for an exhausted quota.
    ///   - lateness: The share by which such a silence is prolonged.
    ///   - search: The existing knowledge about the server.
    init(
        maxInFlight: Int, maxRate: Double? = nil, maxPause: Duration = .infinite, lateness: Double = 0,
        search: RateSearch? = nil
    ) {
        self.maxInFlight = maxInFlight
        quotas = QuotaFacts(maxInFlight: maxInFlight, maxPause: maxPause, lateness: lateness)
        self.maxRate = min(maxRate ?? .infinity, Self.fastest)
        self.search = search
    }

    /// The end of a pause, after a 429 or for another reason; nil if there is none.
    func pausedUntil(at now: MonotonicInstant) -> MonotonicInstant? {
        if case .paused(let until) = phase, now < until { until } else { nil }
    }

    /// The end of the silence for an exhausted quota; nil if there is none.
    func silentUntil(at now: MonotonicInstant) -> MonotonicInstant? { quotas.silentUntil(at: now) }

    /// The server's estimated rate, in requests per second: the measured rate, or the pace if that is higher; without a
    /// measurement, the rate that the server reports; nil while unknown.
    var rate: Double? { search.map { max($0.limit, $0.pace) } ?? quotas.rate.map { min($0, maxRate) } }

    /// How many requests may go at once before ``rate`` applies: none if the rate was measured, else as many as the
    /// server's quota has left.
    func left(at now: MonotonicInstant) -> Int { search == nil ? quotas.left(at: now) ?? 0 : 0 }

    enum Answer: Sendable, Equatable {
        case now
        case notBefore(MonotonicInstant)
        /// Enough requests are in flight, or a probe is in flight: ask again when a request has ended.
        case afterAnEnd
    }

    /// Whether to send the next request.
    func answer(at now: MonotonicInstant, inFlight: Int) -> Answer {
        guard inFlight < maxInFlight else { return .afterAnEnd }
        let allowed = allowedAt <= now ? Answer.now : .notBefore(allowedAt)
        return allowed.and(found(at: now, inFlight: inFlight)).and(
            quotas.answer(at: now, lastSentAt: lastSentAt, inFlight: inFlight, isProbe: isPaused))
    }

    private var isPaused: Bool { if case .paused = standing { true } else { false } }

    /// The phase; a silence for a quota counts as a pause, so a probe follows it.
    private var standing: Phase {
        if case .flowing = phase, let silence = quotas.silence { .paused(until: silence) } else { phase }
    }

    private func found(at now: MonotonicInstant, inFlight: Int) -> Answer {
        switch standing {
        case .paused(let until):
            if now < until { return .notBefore(until) }
            // Slow requests may take all of the server's capacity.
            guard inFlight < widthSearch.limit ?? .max else { return .afterAnEnd }
            // The ends of two requests sent at the same instant could not be distinguished.
            return inFlight > 0 && now <= lastSentAt ? .afterAnEnd : .now
        case .probing:
            return inFlight > 0 ? .afterAnEnd : .now
        case .flowing:
            let most = search == nil ? widthSearch.most : widthSearch.limit ?? .max
            guard inFlight - earlier < width, inFlight < most else { return .afterAnEnd }
            guard let speed = search?.pace else { return .now }
            let missing = 1 - credit(at: now, speed)
            // The missing credit is less than a rounding error.
            guard missing > 1e-9 else { return .now }
            return .notBefore(now + Self.time(for: missing, at: speed) + .nanoseconds(1))
        }
    }

    /// Called when a request goes out.
    /// - Parameter inFlight: The number of other requests in flight.
    mutating func sent(at now: MonotonicInstant, beside inFlight: Int = 0) {
        switch standing {
        case .flowing:
            if isIdle(from: lastSentAt, to: now) { exhaustedAt = nil }
            guard let speed = search?.pace else { break }
            let credit = credit(at: now, speed)
            isHeldBack = credit < Self.mostCredit(speed)
            self.credit = credit - 1
            creditAt = now
        case .paused(let until):
            // In a silence for a quota, or in a pause for another reason than a 429, more requests may gather than the
            // server's bucket keeps.
            if phase == .flowing || isIdle(from: max(until, quotas.silence ?? until), to: now) { exhaustedAt = nil }
            startRun(at: now, beside: inFlight)
        case .probing:
            startRun(at: now, beside: inFlight)
        }
        if maxRate < Self.fastest {
            // Makes up for a late timer.
            let late = max(0, Self.mostCredit(maxRate) - 2)
            allowedAt = max(allowedAt, now + Self.time(for: -late, at: maxRate)) + Self.time(for: 1, at: maxRate)
        }
        lastSentAt = now
        quotas.sent(at: now)
        widthSearch.sent(inFlight: inFlight + 1, at: now)
    }

    private mutating func startRun(at now: MonotonicInstant, beside inFlight: Int) {
        phase = .probing(sentAt: now)
        (resumedAt, admitted, earlier) = (now, 0, inFlight)
        widthSearch.runBegan(beside: inFlight)
    }

    /// Called at each end of a request.
    private mutating func countEnd(sentAt: MonotonicInstant) { if sentAt < resumedAt { earlier = max(0, earlier - 1) } }

    mutating func acknowledged(sentAt: MonotonicInstant, at now: MonotonicInstant) {
        countEnd(sentAt: sentAt)
        quotas.acknowledged()
        switch phase {
        case .paused:
            ended?.admitted += 1
        case .probing(let probe) where sentAt < probe:
            ended?.admitted += 1
        case .probing:
            phase = .flowing
            quiet = quiet / 2
            width = 1
            learn()
            flowed(sentAt: sentAt, at: now)
        case .flowing where sentAt >= resumedAt:
            flowed(sentAt: sentAt, at: now)
        case .flowing:
            break
        }
    }

    private mutating func flowed(sentAt: MonotonicInstant, at now: MonotonicInstant) {
        admitted += 1
        widthSearch.acknowledgedOne()
        acknowledgements += 1
        // The width doubles with each round of answers; between the first 429 and the second, it grows by one.
        if search != nil || exhaustedAt == nil || acknowledgements >= width {
            width += 1
            acknowledgements = 0
        }
        if isHeldBack { search?.acknowledged(sentAt: sentAt, at: now) }
    }

    /// - Parameters:
    ///   - retryAfter: The shortest silence that the server wants; nil if it doesn't say.
    ///   - backoff: The silence if the server names none, or if its earlier wait did not help. It becomes shorter once
    ///     it is known when the bucket will hold a request again. nil if the server's wait is enough.
    /// - Returns: The end of the silence.
    mutating func throttled(
        sentAt: MonotonicInstant, retryAfter: Duration?, backoff: Duration?, at now: MonotonicInstant
    ) -> MonotonicInstant {
        countEnd(sentAt: sentAt)
        // Never zero, so that the probe is later than everything before it.
        let wait = max(.milliseconds(1), retryAfter ?? .zero, ownWait(sentAt: sentAt, atMost: backoff))
        var until = now + wait
        switch phase {
        case .flowing where sentAt >= resumedAt:
            exhausted(sentAt: sentAt, at: sentAt + sentAt.duration(to: now) / 2, named: retryAfter ?? .zero)
            quiet = wait
        case .paused(let earlier):
            until = max(until, earlier)
        case .probing(let probe):
            if sentAt >= probe { widthSearch.probeRejected() }
            quiet = wait
        case .flowing:
            // The request is of an earlier run, so it says nothing new about the server's bucket.
            quiet = wait
        }
        phase = .paused(until: until)
        quotas.throttled(at: now)
        return until
    }

    private func ownWait(sentAt: MonotonicInstant, atMost backoff: Duration?) -> Duration {
        guard let backoff else { return .zero }
        // If not even a probe gets through, earlier knowledge of the server no longer holds.
        if case .probing(let probe) = phase, sentAt >= probe { return backoff }
        guard let search else { return backoff }
        // The server's bucket is empty: after this time it admits one request.
        return min(backoff, max(quiet, .nanoseconds(Int64(saturating: 1e9 / search.limit))))
    }

    private mutating func exhausted(sentAt: MonotonicInstant, at instant: MonotonicInstant, named: Duration) {
        if widthSearch.runEnded(sentAt: sentAt, isRateKnown: search != nil) {
            exhaustedAt = nil
            return
        }
        if let exhaustedAt {
            ended = RateSearch.Run(
                admitted: admitted, silence: exhaustedAt.duration(to: resumedAt).inSeconds,
                activity: resumedAt.duration(to: instant).inSeconds, catchUp: catchUp, named: named.inSeconds)
        }
        exhaustedAt = instant
    }

    /// Called when a request ended in any other way, which says nothing about the limit.
    /// - Parameter endsRequest: false if the same request is reported again, as for a batch.
    mutating func endedOtherwise(sentAt: MonotonicInstant, endsRequest: Bool = true, at now: MonotonicInstant) {
        if endsRequest { countEnd(sentAt: sentAt) }
        if case .probing(let probe) = phase, sentAt >= probe { phase = .paused(until: now) }
        quotas.endedOtherwise(at: now)
    }

    /// Sends nothing before this instant, for another reason than a 429. Then a probe and slow start follow.
    mutating func paused(until: MonotonicInstant) {
        // Meanwhile more requests may gather than the server's bucket keeps.
        exhaustedAt = nil
        if case .paused(let earlier) = phase {
            phase = .paused(until: max(until, earlier))
        } else {
            phase = .paused(until: until)
        }
    }

    /// Ends the silence by hand: one request may go at once, unless as many requests are in flight as the server takes.
    /// Then the pace continues with its knowledge of the server, or begins anew.
    /// - Parameters:
    ///   - keepingRate: Whether to keep the knowledge of the server.
    ///   - request: The number of the latest request that was sent. Quotas from it and earlier ones count only if the
    ///     knowledge is kept.
    mutating func resumed(keepingRate: Bool = false, after request: Int = 0, at now: MonotonicInstant) {
        if keepingRate {
            quotas.resumed()
        } else {
            (search, ended, quiet, widthSearch) = (nil, nil, .zero, WidthSearch())
            quotas.forget(upTo: request)
        }
        switch phase {
        case .flowing:
            paused(until: now)
        case .paused(let until):
            if !keepingRate { exhaustedAt = nil }
            phase = .paused(until: min(until, now))
        case .probing:
            // The probe is in flight, or may go.
            if !keepingRate { exhaustedAt = nil }
        }
    }

    // MARK: The server's quotas

    /// Notes a quota.
    /// - Parameters:
    ///   - request: The number of the request with this answer; nil if unknown.
    ///   - requests: The number of the latest request that was sent.
    mutating func note(_ quota: ServerQuota, from request: Int?, of requests: Int, at now: MonotonicInstant) {
        quotas.note(quota, from: request, of: requests, at: now)
    }

    /// Called when a request ended without a quota in its answer.
    mutating func endedUntold(at now: MonotonicInstant) { quotas.endedUntold(at: now) }

    // MARK: The server's bucket

    private mutating func learn() {
        if var run = ended {
            ended = nil
            run.rest = exhaustedAt.map { $0.duration(to: resumedAt).inSeconds } ?? run.silence
            if search == nil { search = RateSearch(from: run, maxRate: maxRate) } else { search?.learn(from: run) }
        }
        guard let search else { return }
        // One less: the probe was the first of the requests that had gathered.
        catchUp = exhaustedAt.map { max(0, search.catchUp(after: $0.duration(to: resumedAt).inSeconds) - 1) } ?? 0
        (credit, creditAt) = (catchUp, resumedAt)
    }

    private func credit(at now: MonotonicInstant, _ pace: Double) -> Double {
        max(credit, min(Self.mostCredit(pace), credit + pace * creditAt.duration(to: now).inSeconds))
    }

    private static func time(for requests: Double, at rate: Double) -> Duration {
        .nanoseconds(Int64(saturating: requests / rate * 1e9))
    }

    /// The most credit that builds up while nothing is sent: enough to make up for a late timer.
    private static func mostCredit(_ pace: Double) -> Double { max(2, pace / 50) }

    /// Whether nothing was sent for longer than the pace explains. Then the number of admitted requests says nothing
    /// about the limit.
    private func isIdle(from: MonotonicInstant, to now: MonotonicInstant) -> Bool {
        from.duration(to: now).inSeconds > 10 * max(1, 1 / (speed ?? .infinity))
    }

    /// The rate to send at, in requests per second: as found, or the highest allowed; nil for no limit.
    private var speed: Double? { search?.pace ?? (maxRate < Self.fastest ? maxRate : nil) }
}

extension SendPace.Answer {
    /// The stricter of two answers.
    fileprivate func and(_ other: SendPace.Answer) -> SendPace.Answer {
        switch (self, other) {
        case (.afterAnEnd, _), (_, .afterAnEnd): .afterAnEnd
        case (.notBefore(let one), .notBefore(let another)): .notBefore(max(one, another))
        case (.now, _): other
        case (.notBefore, .now): self
        }
    }
}
