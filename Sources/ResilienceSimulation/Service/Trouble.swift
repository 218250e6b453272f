/// Something that goes wrong with a service, or with its callers, for a time.
public struct Trouble: Sendable, Hashable {
    /// What goes wrong.
    public enum Kind: Sendable, Hashable {
        /// Every request fails at once with a transient failure, as if no process listened.
        case outage
        /// No request of this share of the clients, from 0 to 1, is answered, as if the network dropped it.
        case partition(clients: Double = 1)
        /// The service takes this many times as long for each request; above 0.
        case brownOut(slower: Double)
        /// This share of requests, from 0 to 1, fails after its service time, with an uncertain failure (status 500).
        case errors(share: Double)
        /// Requests beyond a rate are answered with status 429, and with the time until one would be served.
        case rateLimit(perSecond: Double, burst: Int)
        /// This share of requests, from 0 to 1, takes this many times as long.
        case stragglers(share: Double, slower: Double)
        /// Only this share of the workers, from 0 to 1, is left: one of three zones is lost with 0.67.
        case capacity(share: Double)
        /// Only this share of the workers is there at first, and the rest comes evenly until the end: a cold cache, or
        /// a deploy.
        case slowStart(share: Double)
        /// Callers of an open load make this many times as many calls: a retry storm from upstream; above 0.
        case surge(Double)
    }

    /// What goes wrong.
    public var kind: Kind
    /// When it begins, from the start of the run.
    public var begins: Duration
    /// How long it lasts.
    public var length: Duration
    /// In which zones of a scenario it happens, of which the first is 0.
    ///
    /// A ``Kind/surge(_:)`` happens to all.
    public var zones: Set<Int>

    /// Creates a trouble.
    ///
    /// - Parameters:
    ///   - kind: What goes wrong.
    ///   - begins: When it begins, from the start of the run.
    ///   - length: How long it lasts.
    ///   - zones: In which zones of a scenario. The first by default.
    public init(_ kind: Kind, at begins: Duration, for length: Duration, zones: Set<Int> = [0]) {
        (self.kind, self.begins, self.length, self.zones) = (kind, begins, length, zones)
        check()
    }

    /// Traps if a value is out of range.
    func check() {
        let times = Duration.zero...Duration.seconds(1_000_000_000)
        precondition(times.contains(begins) && times.contains(length), "a trouble's times must be 0 to 10⁹ s")
        switch kind {
        case .outage: break
        case .brownOut(let factor), .surge(let factor): Self.check(factor: factor)
        case .partition(let share), .errors(let share), .capacity(let share), .slowStart(let share):
            Self.check(share: share)
        case .stragglers(let share, let factor):
            Self.check(share: share)
            Self.check(factor: factor)
        case .rateLimit(let rate, let burst): _ = ServiceModel.RateLimit(perSecond: rate, burst: burst)
        }
    }

    private static func check(share: Double) { precondition((0...1).contains(share), "a share must lie in 0...1") }

    private static func check(factor: Double) {
        precondition(factor > 0 && factor < 1e9, "a trouble's factor must be above 0, and below 10⁹")
    }

    /// When it ends, from the start of the run.
    public var ends: Duration { begins + length }

    /// Whether it lasts at a time from the start of the run.
    func isActive(at elapsed: Duration) -> Bool { begins <= elapsed && elapsed < ends }
}
