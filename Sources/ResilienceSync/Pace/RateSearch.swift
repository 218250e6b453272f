import Resilience

/// Finds a server's rate, from the requests that it admits between one 429 and the next.
///
/// A token bucket is empty at a 429. Until the next 429 it admits only what flows in meanwhile, whatever its size, so
/// the number of requests admitted, divided by that time, is the rate. Servers that count in windows of a clock give
/// the same rate in the long run. Two effects blur the measurement and are also learned: the bucket may be full before
/// the pause ends (`burst`), or may not fill during it (`boldness`).
///
/// The pace holds just below the limit, then rises, slowly first and then faster, until a 429 shows the present limit.
/// The shape is CUBIC's (RFC 9438). To keep to a measured rate, instead of a share of the last rate, is an idea from
/// BBR.
///
/// A server that admits only a few requests per long wait is slow, or was closed for a while: a few requests measure
/// its rate badly. For such a server the pace holds for two of these waits, and for four times as many after each
/// failed rise. In a rise it soon doubles with each step.
struct RateSearch: Sendable, Hashable {
    /// The data from one 429 to the next.
    struct Run: Sendable, Hashable {
        var admitted: Int
        /// Seconds from the 429 to the probe.
        var silence: Double
        /// Seconds from the probe to the next 429.
        var activity: Double
        /// How many of the requests that gathered during the silence to send at once.
        var catchUp: Double
        /// Seconds that the server named at that 429; 0 if it named none.
        var named = 0.0
        /// Seconds from that 429 to the next probe.
        var rest = 0.0
    }

    /// The server's estimated rate, in requests per second.
    private(set) var limit: Double
    /// The rate to send at, in requests per second.
    private(set) var pace: Double
    private let maxRate: Double

    /// The requests that the limit was measured with, and the seconds they took.
    private var requests = 0.0
    private var seconds = 0.0
    /// The most requests that gather during a silence.
    private var burst = Double.infinity
    /// The share of gathered requests that is sent at once.
    private var boldness = 1.0
    /// The length of the latest silence, in seconds.
    private var silence = 0.0
    /// The wait that the server now imposes, in seconds.
    private var wait = 0.0

    /// The number of requests for which the limit is believed.
    private var trust = Self.leastTrust
    /// For a slow server: how long the limit is believed, as a number of the server's waits.
    private var patience = Self.leastPatience
    /// The share by which the pace rises next; 0 while it holds.
    private var step = 0.0
    /// Whether the first measurement may be far too low: then the pace doubles until the first 429.
    private var isFloor = false
    /// The factor of the pace's last or next rise.
    private var growth = 1.0
    /// During a rise, the pace two steps ago.
    private var earlier = 0.0
    /// When the pace got its present value, and how many of the requests sent since then were acknowledged.
    private var steppedAt = MonotonicInstant.distantPast
    private var acknowledgements = 0.0
    /// By how much the acknowledgements in this rise exceed the limit, and by how much they exceed a limit a tenth
    /// higher: if part of the inflow is lost, the measured limit is too low.
    private var (surplus, sureSurplus) = (0.0, 0.0)
    /// The largest surplus at a 429: the server's reserve; nil before the first 429 in a rise.
    private var reserve: Double?

    /// The pace stays below the limit, since exceeding the limit costs more than the difference is worth.
    private static let margin = 0.995
    private static let leastTrust = 8.0
    private static let mostTrust = 80.0
    private static let longestHold = 1_000.0
    private static let leastPatience = 2.0
    private static let mostPatience = 16.0
    /// This many requests in one of the server's waits measure its rate well.
    private static let few = 20.0
    /// The pace may be lower than one request per wait by this factor, since the measured waits are inexact.
    private static let slack = 1.25
    /// Within these seconds every sender, however slow, tries a higher rate once. So senders that share a limit
    /// approach equal shares: a 429 takes the same part from each, and a faster sender meets more 429s.
    private static let period = 10.0
    /// The share of the pace to keep after a 429 that comes while the pace holds: then other senders have raised their
    /// pace, or the limit has fallen.
    private static let cut = 0.7

    /// - Parameter limit: Above zero.
    init(limit: Double, maxRate: Double) {
        self.limit = min(limit, maxRate)
        self.maxRate = maxRate
        pace = self.limit
    }

    /// Creates a search from the first measurement of a server.
    init(from run: Run, maxRate: Double) {
        self.init(limit: run.leastRate, maxRate: maxRate)
        (requests, seconds) = (Double(run.admitted), run.length)
        silence = run.silence
        wait = shownWait(by: run)
        settle(at: limit)
        // The server named no wait, and its bucket may have been full with one request for most of the silence.
        isFloor = run.admitted == 1 && run.named == 0 && !isSlow
        if isFloor { (step, growth, earlier) = (1, 2, pace) }
    }

    /// How many of the requests that gathered since the last 429 to send at once.
    func catchUp(after silence: Double) -> Double {
        let catchUp = boldness * gathered(in: silence)
        // A fraction of a request is within the error of the measurement, and costs a whole wait if wrong.
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
            // The earlier measurement shows an outage, not a limit.
            patience = Self.leastPatience
            wait = max(shown, wait * before / limit)
        } else if wasRising {
            patience = min(Self.mostPatience, 4 * patience)
        } else {
            patience = max(Self.leastPatience, patience / 4)
        }
    }

    /// The wait that the server named, or else the length of the silence. Without a named wait, it is at most the time
    /// in which the limit admits two requests, since other senders may use the bucket.
    private func shownWait(by run: Run) -> Double { run.named > 0 ? run.named : min(run.silence, 2 / limit) }

    private mutating func adapt(to run: Run) {
        let admitted = Double(run.admitted)
        // The requests admitted beyond the limit had gathered in the silence.
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
        // The limit is at least the pace that the server sustained: a bucket that was full all the time hides the rate.
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

    /// The pace that the server sustained some steps ago; fewer steps if the server had kept nothing in reserve.
    private var borneInRise: Double {
        isFloor ? pace / growth : isSlow && surplus < 1 ? earlier : pace / (growth * growth * growth)
    }

    /// Adds a run to the measurement. The weight of earlier runs fades.
    private mutating func measure(_ run: Run) {
        var (admitted, length) = (Double(run.admitted), run.length)
        if isSlow, limit * max(run.silence, run.rest) < 2 {
            // Measured from probe to probe: at each probe the bucket holds exactly one request, and at a 429 any
            // fraction of one.
            length = max(1e-6, length + run.rest - run.silence)
        } else if burst < limit * run.silence {
            (admitted, length) = (max(1, admitted - burst), run.length - run.silence)
        }
        // The limit has changed, so the earlier measurement no longer counts.
        let fading = abs(admitted - limit * length) > 0.2 * limit * length ? 0 : min(1, 150 / requests)
        requests = requests * fading + admitted
        seconds = seconds * fading + length
    }

    private mutating func settle(at rate: Double) {
        // The pace makes no request wait longer than a period, or than the server's own waits with some slack.
        limit = min(maxRate, max(rate, 1 / max(Self.period, Self.slack * wait)))
        pace = limit * Self.margin
        (step, acknowledgements, surplus, sureSurplus, isFloor) = (0, 0, 0, 0, false)
    }

    // MARK: Between 429s

    /// Whether the server makes requests wait for longer than a period, and admits only a few in that time.
    private var isSlow: Bool { Self.slack * wait > Self.period && limit * wait < Self.few }

    /// The number of requests in a period, or in one of the server's waits if that is longer: a server with such waits
    /// is slow, even without other senders.
    private var inPeriod: Double { pace * max(Self.period, wait) }

    private var believed: Double { min(trust, isSlow ? patience * inPeriod : inPeriod) }

    /// The number of requests for which the pace holds; more if a 429 costs more than one request.
    private var plateau: Double {
        let lost = silence * limit - catchUp(after: silence)
        return min(Self.longestHold, believed * (1 + lost / 10))
    }

    /// Whether the acknowledgements exceed the limit by more than the server ever had in reserve: then the limit must
    /// have changed.
    private var isProvenWrong: Bool { reserve.map { sureSurplus > $0 + 1 } ?? false }

    /// Called when a request is acknowledged, if it was sent as soon as the pace allowed.
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
            let fewest = isFloor ? 3 : min(3, max(1, inPeriod / 5))
            let enough = isFloor ? 0 : (isSlow ? min(plateau, inPeriod) : plateau) / (isProvenWrong ? 10 : 5)
            guard acknowledgements >= max(fewest, enough) else { return }
            // If a request takes longer than a fifth of a period, several steps are taken at once.
            growth = 1 + (isSlow ? step : step * max(1, 5 / inPeriod))
            earlier = pace / (1 + step / 2)
            pace = min(maxRate, pace * growth)
            if isProvenWrong { trust = Self.leastTrust }
            step = min(isSlow || isFloor ? 1 : isProvenWrong ? 0.3 : believed < 50 ? 0.15 : 0.04, step * 2)
            growth = max(growth, 1 + step)
        }
        (steppedAt, acknowledgements) = (now, 0)
    }
}

extension RateSearch.Run {
    var length: Double { silence + max(activity, 1e-6) }

    /// The rate, if none of the inflow was lost; otherwise the rate is higher.
    fileprivate var leastRate: Double { Double(admitted) / length }
}
