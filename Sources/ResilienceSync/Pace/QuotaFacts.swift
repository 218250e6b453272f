import Resilience

/// The server's quotas, and their consequences for the next request.
///
/// The rule: no more requests are in flight than the quota has left. This is exact for any order of the answers, since
/// the server may or may not have counted a request that is still in flight. If nothing is left, there is silence until
/// the reset.
///
/// ``QuotaDoubt`` finds out when silences are useless.
struct QuotaFacts: Sendable, Hashable {
    /// The quota in one answer.
    fileprivate struct Word: Sendable, Hashable {
        var remaining: Int
        /// When the server gives new units; if it doesn't say, when the longest pause after the answer ends.
        let until: MonotonicInstant
        let hasReset: Bool
        /// How many requests had been sent when the answer came: a later request brings newer information.
        let requests: Int
    }

    fileprivate struct Limit: Sendable, Hashable {
        /// The quotas that no later quota has replaced; the quota with the fewest requests left comes first.
        var words: [Word] = []
        var size: Int?
        var window: Duration?
        /// The longest reported time until a reset.
        var longestReset = Duration.zero
        var resetAt = MonotonicInstant.distantPast
        /// The number of requests left in the latest quota.
        var latest = 0
    }

    /// Names that change with each answer must not fill the memory.
    private static let mostLimits = 16
    private static let mostWords = 32
    /// Spread requests go out a little more slowly than a bucket fills, so that the bucket gains units.
    private static let margin = 0.95
    /// This wait is not reported as a pause, so it must be short.
    private static let longestSpread = Duration.seconds(10)

    private let maxInFlight: Int
    private let maxPause: Duration
    private let lateness: Double
    private var limits: [String?: Limit] = [:]
    private var doubt = QuotaDoubt()
    /// Quotas of requests up to this number are ignored: these requests belong to cleared mutations.
    private var forgotten = 0
    /// The end of the silence; nil if there is none, or if a request has been sent since its end.
    private(set) var silence: MonotonicInstant?
    /// Whether one request may go at once, after a resume by hand, even if few are left.
    private var isByHand = false

    /// - Parameters:
    ///   - maxInFlight: The most requests in flight.
    ///   - maxPause: The longest silence.
    ///   - lateness: The share by which a silence is prolonged.
    init(maxInFlight: Int, maxPause: Duration, lateness: Double) {
        (self.maxInFlight, self.maxPause, self.lateness) = (maxInFlight, maxPause, lateness)
    }

    // MARK: Quotas from the server

    /// - Parameters:
    ///   - request: The number of the request with this answer; nil if unknown.
    ///   - requests: The number of the latest request that was sent.
    mutating func note(_ quota: ServerQuota, from request: Int?, of requests: Int, at now: MonotonicInstant) {
        guard request ?? .max > forgotten, doubt.believes else { return }
        // Until the next answer, the quotas of the last window still count: they are the best guess.
        for name in limits.keys { limits[name]?.words.removeAll { $0.until <= now } }
        if limits.count >= Self.mostLimits, limits[quota.name] == nil { forgetTheLeast() }
        var limit = limits[quota.name] ?? Limit()
        limit.learn(quota)
        if let remaining = quota.remaining {
            let remaining = min(remaining, limit.size ?? .max)
            let (until, isRounded) = limit.reset(
                of: quota, remaining: remaining, maxPause: maxPause, lateness: lateness, at: now)
            // Quotas known before this request was sent are older.
            limit.words.removeAll { $0.requests < request ?? .min }
            let word = Word(
                remaining: remaining, until: until, hasReset: quota.resetsAfter != nil, requests: requests)
            if until > now { limit.add(word, isRounded: isRounded, atMost: Self.mostWords) }
        }
        limits[quota.name] = limit
        listen(at: now)
    }

    /// An exhausted quota is the last to be dropped.
    private mutating func forgetTheLeast() {
        func weight(_ name: String?, _ limit: Limit) -> (Int, MonotonicInstant, String) {
            let end = limit.words.map(\.until).max() ?? .distantPast
            return (limit.words.contains(where: \.isEmpty) ? 1 : 0, end, name ?? "")
        }
        let least = limits.min { weight($0.key, $0.value) < weight($1.key, $1.value) }
        if let least { limits.removeValue(forKey: least.key) }
    }

    /// Called when a request ended without a quota. The server may have counted it.
    mutating func endedUntold(at now: MonotonicInstant) {
        guard !limits.isEmpty else { return }
        for name in limits.keys { limits[name]?.useOne(at: now) }
        listen(at: now)
    }

    private mutating func listen(at now: MonotonicInstant) {
        let empty = emptyUntil(at: now)
        if empty != nil, silence == nil { doubt.silenceBegins() }
        if let empty, !doubt.isTesting {
            silence = empty
        } else if silence ?? .distantPast > now {
            silence = nil
        }
    }

    /// The end of the last exhausted quota; nil if there is none.
    private func emptyUntil(at now: MonotonicInstant) -> MonotonicInstant? {
        limits.values.lazy.flatMap(\.words).filter { $0.isEmpty && $0.until > now }.map(\.until).max()
    }

    // MARK: The next request

    func silentUntil(at now: MonotonicInstant) -> MonotonicInstant? { silence.flatMap { now < $0 ? $0 : nil } }

    /// How many requests may go at once, until the reset: the smallest number left in any quota; nil if none is known.
    func left(at now: MonotonicInstant) -> Int? {
        limits.values.compactMap { $0.words.first { $0.until > now }?.remaining }.min()
    }

    /// The rate that a limit and its window give, in requests per second; the lowest, if there are several limits.
    var rate: Double? { limits.values.compactMap { $0.window.flatMap($0.rate(in:)) }.min() }

    /// Whether to send the next request, by the quotas.
    /// - Parameter isProbe: Whether it is the first after a silence or a pause.
    func answer(
        at now: MonotonicInstant, lastSentAt: MonotonicInstant, inFlight: Int, isProbe: Bool
    ) -> SendPace.Answer {
        if doubt.isTesting { return inFlight > 0 ? .afterAnEnd : .now }
        let silence = silentUntil(at: now)
        var next = silence ?? .distantPast
        for limit in limits.values {
            guard let word = limit.words.first else { continue }
            let left = word.remaining
            // If nothing is left here, the silence is over or has no known end, so one request may try. A probe may go
            // while fewer requests than the whole limit are in flight: the exhausted quota has counted these.
            let size = limit.size ?? .max
            let most = isProbe && word.isEmpty ? size : max(1, min(limit.left(at: now), size))
            if silence == nil, inFlight >= most {
                // The reset frees one more unit.
                guard inFlight == left, left < size, word.hasReset, word.until > now else { return .afterAnEnd }
                next = max(next, word.until)
            }
            guard let reserve = limit.reserve, left <= min(maxInFlight, reserve),
                let rate = limit.rate(in: limit.window ?? limit.longestReset)
            else { continue }
            guard !isByHand else { continue }
            // A bucket that was empty needs two units, or the next request empties it again.
            let gap = (left > 0 ? 1 : 2) / (Self.margin * rate)
            let spread = lastSentAt + min(maxPause, Self.longestSpread, .nanoseconds(Int64(saturating: gap * 1e9)))
            // After the reset there are new units. The reset may have been rounded, by up to a second.
            next = max(next, min(spread, word.until + .seconds(1)))
        }
        return next > now ? .notBefore(next) : .now
    }

    // MARK: Requests

    /// Called when a request goes out.
    mutating func sent(at now: MonotonicInstant) {
        if silence != nil { doubt.probeSent() }
        (silence, isByHand) = (nil, false)
        guard doubt.isTesting else { return }
        doubt.sent(inSilence: emptyUntil(at: now) != nil)
    }

    mutating func acknowledged() {
        // Without a noted quota, there is nothing to change.
        guard !limits.isEmpty || !doubt.believes else { return }
        if doubt.acknowledged() { (limits, silence) = ([:], nil) }
    }

    /// Called when a request ended without an answer, or with an answer that says nothing about the limit.
    mutating func endedOtherwise(at now: MonotonicInstant) {
        // One test request is enough: the silence continues.
        if doubt.endedOtherwise() { silence = emptyUntil(at: now) }
    }

    /// Called at a 429.
    mutating func throttled(at now: MonotonicInstant) {
        doubt.refuted()
        listen(at: now)
    }

    /// Ends the silence by hand.
    mutating func resumed() {
        for name in limits.keys { limits[name]?.words.removeAll(where: \.isEmpty) }
        (silence, isByHand) = (nil, true)
    }

    /// Forgets everything, and from now on ignores the quotas of requests up to this one.
    mutating func forget(upTo request: Int) {
        self = QuotaFacts(maxInFlight: maxInFlight, maxPause: maxPause, lateness: lateness)
        forgotten = request
    }
}

extension QuotaFacts.Word {
    fileprivate var isEmpty: Bool { remaining == 0 && hasReset }
}

extension QuotaFacts.Limit {
    fileprivate mutating func learn(_ quota: ServerQuota) {
        if let limit = quota.limit, limit > 0 {
            if limit != size { longestReset = .zero }
            size = limit
        }
        if let length = quota.window, length > .zero { window = length }
        longestReset = max(longestReset, quota.resetsAfter ?? .zero)
    }

    /// When a quota expires, and whether that may be up to a second too late.
    fileprivate mutating func reset(
        of quota: ServerQuota, remaining: Int, maxPause: Duration, lateness: Double, at now: MonotonicInstant
    ) -> (MonotonicInstant, isRounded: Bool) {
        guard let told = quota.resetsAfter else { return (now + maxPause, false) }
        let wait = min(told, maxPause)
        var instant = now + wait
        // A reset in whole seconds was rounded up: if several answers report the same reset, the earliest time is the
        // most exact. In a window of a second or two, a reset can't be distinguished from the previous one.
        let isRounded = wait.saturatedNanoseconds % 1_000_000_000 == 0 && (window ?? longestReset) >= .seconds(4)
        if isRounded, remaining <= latest, resetAt > now, resetAt < instant, instant < resetAt + .seconds(1) {
            instant = resetAt
        }
        (resetAt, latest) = (instant, remaining)
        let prolonged = Duration.nanoseconds(Int64(saturating: Double(wait.saturatedNanoseconds) * lateness))
        return (instant + min(maxPause - wait, prolonged), isRounded)
    }

    fileprivate mutating func add(_ word: QuotaFacts.Word, isRounded: Bool, atMost most: Int) {
        // The removed quotas have the same or an earlier reset, and at least as many requests left.
        let latest = word.until + (isRounded ? .milliseconds(999) : .zero)
        words.removeAll { $0.remaining >= word.remaining && $0.until <= latest }
        words.insert(word, at: words.firstIndex { $0.remaining >= word.remaining } ?? words.endIndex)
        if words.count > most { words.removeLast() }
    }

    fileprivate mutating func useOne(at now: MonotonicInstant) {
        for index in words.indices { words[index].remaining = max(0, words[index].remaining - 1) }
        // A quota is void after its reset, and also when it is used up without a known reset.
        words.removeAll { $0.until <= now || $0.remaining == 0 && !$0.isEmpty }
    }

    /// The smallest number left. After the reset it is one more: the request that reported the quota no longer counts.
    fileprivate func left(at now: MonotonicInstant) -> Int {
        guard let word = words.first, word.hasReset, word.until <= now else { return words.first?.remaining ?? .max }
        return min(word.remaining.saturatingAdding(1), words.first { $0.until > now }?.remaining ?? .max)
    }

    /// Requests are spread if no more than this many are left, and no more than may be in flight. nil if the limit is
    /// too small to spread.
    fileprivate var reserve: Int? { size.flatMap { $0 < 4 ? nil : $0 / 4 } }

    fileprivate func rate(in window: Duration) -> Double? {
        guard let size, window > .zero else { return nil }
        return Double(size) / window.inSeconds
    }
}
