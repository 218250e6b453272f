import Resilience

/// How fast to send to a server whose limit nobody told.
///
/// ```
/// flowing ── 429 ─▶ paused ── its end, one request ─▶ probing ── acknowledged ─▶ flowing
///                     ▲──────── 429, or no answer ───────┘
/// ```
///
/// While nothing is known it sends as fast as answers come and its user allows, a few at a time first (slow start, RFC
/// 5681). After the second 429 it knows a rate (``RateSearch``), and keeps a model of the server's bucket: empty at a 429,
/// filled at that rate. So what gathers during a pause is sent at once after it, and the rest as it flows in.
struct SendPace: Sendable, Hashable {
    enum Phase: Sendable, Hashable {
        /// → paused
        case flowing
        /// → probing
        case paused(until: MonotonicInstant)
        /// → flowing, paused
        case probing(sentAt: MonotonicInstant)
    }

    /// Above one in a nanosecond no time is left to wait.
    private static let fastest = 1e9

    private(set) var phase = Phase.flowing
    private let maxInFlight: Int
    private let maxRate: Double

    /// How many may be in flight, and acknowledgements since that last grew.
    private var width = 2
    private var acknowledgements = 0
    private var widthSearch = WidthSearch()
    private var lastSentAt = MonotonicInstant.distantPast

    /// The probe of this run. What was sent before belongs to an earlier one.
    private var resumedAt = MonotonicInstant.distantPast
    /// The 429 that this run began with; nil if it began otherwise, or was interrupted.
    private var exhaustedAt: MonotonicInstant?
    private var admitted = 0
    private var catchUp = 0.0
    /// A run that has ended, and is learned from once its late acknowledgements are in.
    private var ended: RateSearch.Run?
    private var search: RateSearch?

    /// Requests that may be sent at once, at this instant.
    private var credit = 0.0
    private var creditAt = MonotonicInstant.distantPast
    /// Whether it was the pace that the latest request waited for.
    private var isHeldBack = false

    /// How long to be silent where the server doesn't say, once its rate is known: half as long as was enough before.
    private var quiet = Duration.zero

    /// - Parameters:
    ///   - maxInFlight: at least 1.
    ///   - maxRate: requests a second never to exceed; above 0.
    ///   - search: what is known of the server already.
    init(maxInFlight: Int, maxRate: Double? = nil, search: RateSearch? = nil) {
        self.maxInFlight = maxInFlight
        self.maxRate = min(maxRate ?? .infinity, Self.fastest)
        self.search = search
    }

    /// Until when it is silent; nil if it isn't.
    func pausedUntil(at now: MonotonicInstant) -> MonotonicInstant? {
        if case .paused(let until) = phase, now < until { until } else { nil }
    }

    /// Requests a second that it believes the server admits: what was measured, or what was borne since; nil while unknown.
    var rate: Double? { search.map { max($0.limit, $0.pace) } }

    enum Answer: Sendable, Equatable {
        case now
        case notBefore(MonotonicInstant)
        /// Enough are in flight, or a probe is: ask again when one has ended.
        case afterAnEnd
    }

    /// Whether to send the next request.
    func answer(at now: MonotonicInstant, inFlight: Int) -> Answer {
        guard inFlight < maxInFlight else { return .afterAnEnd }
        switch phase {
        case .paused(let until):
            if now < until { return .notBefore(until) }
            // Two sent at the same instant couldn't be told apart when one ends.
            return inFlight > 0 && now <= lastSentAt ? .afterAnEnd : .now
        case .probing:
            return inFlight > 0 ? .afterAnEnd : .now
        case .flowing:
            guard inFlight < min(width, widthSearch.limit ?? .max) else { return .afterAnEnd }
            guard let speed else { return .now }
            let missing = 1 - credit(at: now, speed)
            // Less than a rounding error is missing.
            guard missing > 1e-9 else { return .now }
            return .notBefore(now + .nanoseconds(Int64(saturating: missing / speed * 1e9)) + .nanoseconds(1))
        }
    }

    /// A request goes out.
    /// - Parameter inFlight: how many others are in flight.
    mutating func sent(at now: MonotonicInstant, beside inFlight: Int = 0) {
        switch phase {
        case .flowing:
            if isIdle(from: lastSentAt, to: now) { exhaustedAt = nil }
            guard let speed else { break }
            let credit = credit(at: now, speed)
            isHeldBack = credit < Self.mostCredit(speed)
            self.credit = credit - 1
            creditAt = now
        case .paused(let until):
            if isIdle(from: until, to: now) { exhaustedAt = nil }
            startRun(at: now)
        case .probing:
            startRun(at: now)
        }
        lastSentAt = now
        widthSearch.sent(inFlight: inFlight + 1)
    }

    private mutating func startRun(at now: MonotonicInstant) {
        phase = .probing(sentAt: now)
        (resumedAt, admitted) = (now, 0)
        widthSearch.runBegan()
    }

    mutating func acknowledged(sentAt: MonotonicInstant, at now: MonotonicInstant) {
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
        // Twice as many with each round of answers; between the first 429 and the second, one more.
        if search != nil || exhaustedAt == nil || acknowledgements >= width {
            width += 1
            acknowledgements = 0
        }
        if isHeldBack { search?.acknowledged(sentAt: sentAt, at: now) }
    }

    /// - Parameters:
    ///   - retryAfter: how long the server wants silence at least; nil if it doesn't say.
    ///   - backoff: how long to be silent if it doesn't say, or if what it said before was of no use; less, once it is known
    ///     how soon there will be something again. nil: what it says is enough.
    /// - Returns: until when nothing is sent.
    mutating func throttled(
        sentAt: MonotonicInstant, retryAfter: Duration?, backoff: Duration?, at now: MonotonicInstant
    ) -> MonotonicInstant {
        // Never none at all, so that the probe is later than all before it.
        let wait = max(.milliseconds(1), retryAfter ?? .zero, ownWait(sentAt: sentAt, atMost: backoff))
        var until = now + wait
        switch phase {
        case .flowing where sentAt >= resumedAt:
            exhausted(at: sentAt + sentAt.duration(to: now) / 2, named: retryAfter ?? .zero)
            quiet = wait
        case .paused(let earlier):
            until = max(until, earlier)
        case .probing(let probe):
            if sentAt >= probe { widthSearch.refuted() }
            quiet = wait
        case .flowing:
            // Of an earlier run: the server is as empty as it was.
            quiet = wait
        }
        phase = .paused(until: until)
        return until
    }

    private func ownWait(sentAt: MonotonicInstant, atMost backoff: Duration?) -> Duration {
        guard let backoff else { return .zero }
        // What is known of the server doesn't hold if not even a probe gets through.
        if case .probing(let probe) = phase, sentAt >= probe { return backoff }
        guard let search else { return backoff }
        // Its bucket is empty: one is there after this time.
        return min(backoff, max(quiet, .nanoseconds(Int64(saturating: 1e9 / search.limit))))
    }

    private mutating func exhausted(at instant: MonotonicInstant, named: Duration) {
        if widthSearch.runEnded(isRateKnown: search != nil) {
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

    /// Any other end says nothing about the limit.
    mutating func endedOtherwise(sentAt: MonotonicInstant, at now: MonotonicInstant) {
        if case .probing(let probe) = phase, sentAt >= probe { phase = .paused(until: now) }
    }

    /// Nothing is sent before this instant, for another reason than a 429: then a probe, and slow start.
    mutating func paused(until: MonotonicInstant) {
        // What gathers meanwhile may be more than the server keeps.
        exhaustedAt = nil
        if case .paused(let earlier) = phase {
            phase = .paused(until: max(until, earlier))
        } else {
            phase = .paused(until: until)
        }
    }

    /// By hand: one request may go at once, whatever was found; then it goes on from there, or begins anew.
    /// - Parameter keepingRate: whether what is known of the server holds.
    mutating func resumed(keepingRate: Bool = false, at now: MonotonicInstant) {
        if !keepingRate {
            (search, ended, quiet, widthSearch) = (nil, nil, .zero, WidthSearch())
        }
        switch phase {
        case .flowing:
            paused(until: now)
        case .paused(let until):
            if !keepingRate { exhaustedAt = nil }
            phase = .paused(until: min(until, now))
        case .probing:
            // The one request is on its way, or may go.
            if !keepingRate { exhaustedAt = nil }
        }
    }

    // MARK: The server's bucket

    private mutating func learn() {
        if var run = ended {
            ended = nil
            run.rest = exhaustedAt.map { $0.duration(to: resumedAt).inSeconds } ?? run.silence
            if search == nil { search = RateSearch(from: run, maxRate: maxRate) } else { search?.learn(from: run) }
        }
        guard let search else { return }
        // The probe was the first of what has gathered.
        catchUp = exhaustedAt.map { max(0, search.catchUp(after: $0.duration(to: resumedAt).inSeconds) - 1) } ?? 0
        // What has gathered is no reason to go faster than allowed.
        if maxRate < Self.fastest { catchUp = min(catchUp, Self.mostCredit(maxRate)) }
        (credit, creditAt) = (catchUp, resumedAt)
    }

    private func credit(at now: MonotonicInstant, _ pace: Double) -> Double {
        max(credit, min(Self.mostCredit(pace), credit + pace * creditAt.duration(to: now).inSeconds))
    }

    /// The most that builds up while nothing is sent: enough for a timer that is late.
    private static func mostCredit(_ pace: Double) -> Double { max(2, pace / 50) }

    /// Whether so long nothing was sent that it wasn't for the pace: then what was admitted says nothing about the limit.
    private func isIdle(from: MonotonicInstant, to now: MonotonicInstant) -> Bool {
        from.duration(to: now).inSeconds > 10 * max(1, 1 / (speed ?? .infinity))
    }

    /// Requests a second to send: as found, or no more than allowed; nil for as many as can be.
    private var speed: Double? { search?.pace ?? (maxRate < Self.fastest ? maxRate : nil) }
}
