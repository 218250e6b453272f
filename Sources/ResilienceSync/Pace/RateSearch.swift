import Resilience

/// What rate a server admits, found from the requests it admits between one 429 and the next.
///
/// A token bucket is empty at a 429. What it admits until the next is what has flowed in meanwhile, whatever its size: that
/// count over that time is the rate. Windows of a clock come to the same in the long run. Two things blur it, and are
/// learned too: a server that is full before the pause ends (`burst`), and one that doesn't fill up during it (`boldness`).
///
/// The pace holds just below the limit, then rises, slowly first and then faster, until a 429 shows where the limit is now.
/// That shape is CUBIC's (RFC 9438); that it keeps to a measured rate instead of a share of the last one is BBR's.
struct RateSearch: Sendable, Hashable {
    /// What happened from one 429 to the next.
    struct Run: Sendable, Hashable {
        var admitted: Int
        /// Seconds from the 429 to the probe.
        var silence: Double
        /// Seconds from the probe to the next 429.
        var activity: Double
        /// How many of what gathered during the silence were to be sent at once.
        var catchUp: Double
        /// Seconds that the server named before the silence; 0 if it named none.
        var named = 0.0
    }

    /// Requests a second that the server is believed to admit.
    private(set) var limit: Double
    /// Requests a second to send.
    private(set) var pace: Double
    private let maxRate: Double

    /// The requests that the limit was measured with, and the seconds they took.
    private var requests = 0.0
    private var seconds = 0.0
    /// The most that gathers during a silence.
    private var burst = Double.infinity
    /// Which share of what has gathered is sent at once.
    private var boldness = 1.0
    /// Seconds of the latest silence, and of those the ones that the server named.
    private var (silence, named) = (0.0, 0.0)

    /// How many requests the limit is believed for.
    private var trust = Self.leastTrust
    /// By which share the pace rises next; 0 while it holds.
    private var step = 0.0
    /// Since when the pace is what it is, and how many of the requests sent since were acknowledged.
    private var steppedAt = Instant.distantPast
    private var acknowledgements = 0.0
    /// How many more were acknowledged in this rise than the limit explains; and than one a tenth higher does, since the
    /// measurement is too low where some of what flows in is lost.
    private var (surplus, sureSurplus) = (0.0, 0.0)
    /// The most of it at a 429: what the server had kept; nil until one has come in a rise.
    private var reserve: Double?

    /// Below the limit, since going over it costs more than the difference is worth.
    private static let margin = 0.995
    private static let leastTrust = 8.0
    private static let mostTrust = 80.0
    private static let longestHold = 1_000.0
    /// In this many seconds every sender looks for more once, however slow it is. So those that share a limit come to equal
    /// shares: a 429 takes the same part from each, and the faster one meets more of them.
    private static let period = 10.0
    /// What is left after a 429 to which the pace had not risen: others have, or the limit has fallen.
    private static let cut = 0.7

    /// - Parameter limit: above zero.
    init(limit: Double, maxRate: Double) {
        self.limit = min(limit, maxRate)
        self.maxRate = maxRate
        pace = self.limit
    }

    /// The first that is known of a server.
    init(from run: Run, maxRate: Double) {
        self.init(limit: run.leastRate, maxRate: maxRate)
        (requests, seconds) = (Double(run.admitted), run.length)
        (silence, named) = (run.silence, run.named)
        settle(at: limit)
    }

    /// How many of what has gathered since the last 429 to send at once.
    func catchUp(after silence: Double) -> Double { boldness * gathered(in: silence) }

    private func gathered(in silence: Double) -> Double { min(burst, limit * silence) }

    // MARK: At a 429

    mutating func learn(from run: Run) {
        (silence, named) = (run.silence, run.named)
        let admitted = Double(run.admitted)
        // What it admitted beyond the limit had gathered.
        let found = admitted - limit * run.activity
        let isSoon = run.catchUp >= 1 && run.activity < 1.3 * run.silence
        if isSoon, found < 0.9 * gathered(in: run.silence) {
            burst = max(found, run.catchUp / 2)
            boldness *= 0.5
            trust = max(Self.leastTrust, trust * 0.9)
            settle(at: max(run.leastRate, min(limit, 0.9 * pace)))
            return
        }
        boldness = min(1, boldness * 1.1)
        burst = max(1, burst * 1.1)
        measure(run)
        if step > 0 { reserve = max(surplus, 0.9 * (reserve ?? 0)) }
        // Not lower than what it bore some steps ago: a bucket that was full all the while hides the rate.
        let step = step
        let borne = step > 0 ? pace / ((1 + step) * (1 + step) * (1 + step)) : Self.cut * pace
        if requests / seconds < borne {
            trust = step > 0 ? min(Self.mostTrust, trust * 2) : max(Self.leastTrust, trust * 0.9)
            settle(at: borne)
            (requests, seconds) = (0, 0)
        } else {
            trust = min(Self.mostTrust, trust * 2)
            settle(at: requests / seconds)
        }
    }

    /// Adds a run to the measurement, in which older ones fade.
    private mutating func measure(_ run: Run) {
        var (admitted, length) = (Double(run.admitted), run.length)
        if burst < limit * run.silence {
            (admitted, length) = (max(1, admitted - burst), run.length - run.silence)
        }
        // Another limit than before: what was measured before counts no more.
        let fading = abs(admitted - limit * length) > 0.2 * limit * length ? 0 : min(1, 150 / requests)
        requests = requests * fading + admitted
        seconds = seconds * fading + length
    }

    private mutating func settle(at rate: Double) {
        // The server's own pauses are what the pace may make one wait, or a period.
        limit = min(maxRate, max(rate, 1 / max(Self.period, silence)))
        pace = limit * Self.margin
        (step, acknowledgements, surplus, sureSurplus) = (0, 0, 0, 0)
    }

    // MARK: Between them

    /// Requests in a period. A server that names longer waits is as slow as that by itself, whoever else there is.
    private var inPeriod: Double { named > Self.period ? .infinity : pace * Self.period }

    private var believed: Double { min(trust, inPeriod) }

    /// How many requests it holds for: more, where a 429 costs more than the request.
    private var hold: Double {
        let lost = silence * limit - catchUp(after: silence)
        return min(Self.longestHold, believed * (1 + lost / 10))
    }

    /// Whether more was acknowledged than the server ever had in reserve: then the limit itself is another.
    private var isProvenWrong: Bool { reserve.map { sureSurplus > $0 + 1 } ?? false }

    /// A request was acknowledged that was sent as soon as the pace allowed.
    mutating func acknowledged(sentAt: Instant, at now: Instant) {
        guard sentAt >= steppedAt else { return }
        acknowledgements += 1
        if step == 0 {
            guard acknowledgements >= hold else { return }
            step = 1 / max(4, believed)
        } else {
            surplus += 1 - limit / pace
            sureSurplus += max(0, 1 - 1.1 * limit / pace)
            let fewest = min(3, max(1, inPeriod / 5))
            guard acknowledgements >= max(fewest, hold / (isProvenWrong ? 10 : 5)) else { return }
            // Where a request takes longer than a fifth of a period, several steps in one.
            pace = min(maxRate, pace * (1 + step * max(1, 5 / inPeriod)))
            if isProvenWrong { trust = Self.leastTrust }
            step = min(isProvenWrong ? 0.3 : believed < 50 ? 0.15 : 0.04, step * 2)
        }
        (steppedAt, acknowledgements) = (now, 0)
    }
}

extension RateSearch.Run {
    var length: Double { silence + max(activity, 1e-6) }

    /// The rate, if nothing that flowed in was lost; else the rate is higher.
    fileprivate var leastRate: Double { Double(admitted) / length }
}
