import Resilience

/// What rate a server admits, found from the requests it admits between one 429 and the next.
///
/// A token bucket is empty at a 429. What it admits until the next is what has flowed in meanwhile, whatever its size: that
/// count over that time is the rate. Windows of a clock come to the same in the long run. Two things blur it, and are
/// learned too: a server that is full before the pause ends (`burst`), and one that doesn't fill up during it (`boldness`).
///
/// The pace holds just below the limit, then rises, slowly first and then faster, until a 429 shows where the limit is now.
/// That shape is CUBIC's (RFC 9438); that it keeps to a measured rate instead of a share of the last one is BBR's.
///
/// A server that admits a handful in each long wait is slow, or was closed for a while: few requests tell little. There the pace
/// holds for two of these waits, and for four times as many after each rise that failed. In a rise it soon doubles with each step.
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
        /// Seconds that the server named at that 429; 0 if it named none.
        var named = 0.0
        /// Seconds from that 429 to the next probe.
        var rest = 0.0
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
    /// Seconds of the latest silence.
    private var silence = 0.0
    /// Seconds that the server lately makes one wait.
    private var wait = 0.0

    /// How many requests the limit is believed for.
    private var trust = Self.leastTrust
    /// For how many of the server's waits, if it is slow.
    private var patience = Self.leastPatience
    /// By which share the pace rises next; 0 while it holds.
    private var step = 0.0
    /// By which factor it rose last, or will; and what it was two steps before, while it rises.
    private var growth = 1.0
    private var earlier = 0.0
    /// Since when the pace is what it is, and how many of the requests sent since were acknowledged.
    private var steppedAt = MonotonicInstant.distantPast
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
    private static let leastPatience = 2.0
    private static let mostPatience = 16.0
    /// So many requests in one of the server's waits tell its rate well.
    private static let few = 20.0
    /// The pace may be lower than one request in a wait by this factor, since waits are measured too.
    private static let slack = 1.25
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
        silence = run.silence
        wait = shownWait(by: run)
        settle(at: limit)
    }

    /// How many of what has gathered since the last 429 to send at once.
    func catchUp(after silence: Double) -> Double {
        let catchUp = boldness * gathered(in: silence)
        // A fraction of a request is within the measurement's error, and its price a whole wait.
        return isSlow ? catchUp.rounded(.down) : catchUp
    }

    private func gathered(in silence: Double) -> Double { min(burst, limit * silence) }

    // MARK: At a 429

    mutating func learn(from run: Run) {
        let (before, wasRising, shown) = (limit, step > 0, shownWait(by: run))
        silence = run.silence
        wait = max(shown, limit * wait > 2 ? 0.8 * wait : wait)
        adapt(to: run)
        if limit > 2 * before {
            // What was measured before was an outage, not a limit.
            patience = Self.leastPatience
            wait = max(shown, wait * before / limit)
        } else if wasRising {
            patience = min(Self.mostPatience, 4 * patience)
        } else {
            patience = max(Self.leastPatience, patience / 4)
        }
    }

    /// What the server names, or how long the silence was: no more than two requests' time, since others may take what is there.
    private func shownWait(by run: Run) -> Double { run.named > 0 ? run.named : min(run.silence, 2 / limit) }

    private mutating func adapt(to run: Run) {
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
        // Not lower than what it bore: a bucket that was full all the while hides the rate.
        let step = step
        let borne = step > 0 ? borneInRise : Self.cut * pace
        if requests / seconds < borne {
            trust = step > 0 ? min(Self.mostTrust, trust * 2) : max(Self.leastTrust, trust * 0.9)
            settle(at: borne)
            (requests, seconds) = (0, 0)
        } else {
            trust = min(Self.mostTrust, trust * 2)
            settle(at: requests / seconds)
        }
    }

    /// What it bore some steps ago: fewer ago, where the server had kept nothing.
    private var borneInRise: Double { isSlow && surplus < 1 ? earlier : pace / (growth * growth * growth) }

    /// Adds a run to the measurement, in which older ones fade.
    private mutating func measure(_ run: Run) {
        var (admitted, length) = (Double(run.admitted), run.length)
        if isSlow, limit * max(run.silence, run.rest) < 2 {
            // From probe to probe: at each it had just one, while at a 429 it has any share of one.
            length = max(1e-6, length + run.rest - run.silence)
        } else if burst < limit * run.silence {
            (admitted, length) = (max(1, admitted - burst), run.length - run.silence)
        }
        // Another limit than before: what was measured before counts no more.
        let fading = abs(admitted - limit * length) > 0.2 * limit * length ? 0 : min(1, 150 / requests)
        requests = requests * fading + admitted
        seconds = seconds * fading + length
    }

    private mutating func settle(at rate: Double) {
        // The server's own waits are what the pace may make one wait, or a period.
        limit = min(maxRate, max(rate, 1 / max(Self.period, Self.slack * wait)))
        pace = limit * Self.margin
        (step, acknowledgements, surplus, sureSurplus) = (0, 0, 0, 0)
    }

    // MARK: Between them

    /// Whether the server makes one wait for longer than a period, and admits only a few in that time.
    private var isSlow: Bool { Self.slack * wait > Self.period && limit * wait < Self.few }

    /// Requests in a period, or in one of the server's waits: it is slow by itself, whoever else there is.
    private var inPeriod: Double { pace * max(Self.period, wait) }

    private var believed: Double { min(trust, isSlow ? patience * inPeriod : inPeriod) }

    /// How many requests it holds for: more, where a 429 costs more than the request.
    private var plateau: Double {
        let lost = silence * limit - catchUp(after: silence)
        return min(Self.longestHold, believed * (1 + lost / 10))
    }

    /// Whether more was acknowledged than the server ever had in reserve: then the limit itself is another.
    private var isProvenWrong: Bool { reserve.map { sureSurplus > $0 + 1 } ?? false }

    /// A request was acknowledged that was sent as soon as the pace allowed.
    mutating func acknowledged(sentAt: MonotonicInstant, at now: MonotonicInstant) {
        guard sentAt >= steppedAt else { return }
        acknowledgements += 1
        if step == 0 {
            guard acknowledgements >= plateau else { return }
            step = isSlow ? Self.leastPatience / patience : 1 / max(4, believed)
            (growth, earlier) = (1 + step, pace)
        } else {
            surplus += 1 - limit / pace
            sureSurplus += max(0, 1 - 1.1 * limit / pace)
            let fewest = min(3, max(1, inPeriod / 5))
            let enough = (isSlow ? min(plateau, inPeriod) : plateau) / (isProvenWrong ? 10 : 5)
            guard acknowledgements >= max(fewest, enough) else { return }
            // Where a request takes longer than a fifth of a period, several steps in one.
            growth = 1 + (isSlow ? step : step * max(1, 5 / inPeriod))
            earlier = pace / (1 + step / 2)
            pace = min(maxRate, pace * growth)
            if isProvenWrong { trust = Self.leastTrust }
            step = min(isSlow ? 1 : isProvenWrong ? 0.3 : believed < 50 ? 0.15 : 0.04, step * 2)
            growth = max(growth, 1 + step)
        }
        (steppedAt, acknowledgements) = (now, 0)
    }
}

extension RateSearch.Run {
    var length: Double { silence + max(activity, 1e-6) }

    /// The rate, if nothing that flowed in was lost; else the rate is higher.
    fileprivate var leastRate: Double { Double(admitted) / length }
}
