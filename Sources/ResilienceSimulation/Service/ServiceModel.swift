/// The shape of a service: how long it takes, how much it can do at once, and what it does beyond that.
public struct ServiceModel: Sendable, Hashable {
    /// The time that a worker needs for a request.
    public var serviceTime: LatencyModel

    /// How many requests are worked on at once, 1 or more; nil, the default, for any number.
    public var workers: Int?

    /// How many requests wait for a worker, 0 or more; a further one is answered with status 503. 1000 by default.
    public var queue: Int

    /// Whether the latest waiting request is served first; false by default.
    public var servesLatestFirst: Bool

    /// Whether the work for a request ends when its caller has given up.
    ///
    /// False by default: most services work on.
    public var noticesCancellation: Bool

    /// The time that a request and its answer take on the network; none by default.
    public var network: LatencyModel

    /// The share of requests that the network loses, from 0 to 1. 0 by default.
    public var loss: Double

    /// The share of requests that fail with an uncertain failure (status 500), from 0 to 1. 0 by default.
    public var failureShare: Double

    /// The rate limit, in requests a second, above which the service answers with status 429; nil, the default, for
    /// none.
    public var rateLimit: RateLimit?

    /// A token bucket of a service.
    public struct RateLimit: Sendable, Hashable {
        /// Requests a second, above 0.
        public var perSecond: Double
        /// Requests at once, 1 or more.
        public var burst: Int

        /// Creates a rate limit.
        ///
        /// - Parameters:
        ///   - perSecond: Requests a second, above 0.
        ///   - burst: Requests at once, 1 or more.
        public init(perSecond: Double, burst: Int) {
            precondition(perSecond > 0 && perSecond.isFinite && burst >= 1, "a rate must be above 0, a burst 1 or more")
            (self.perSecond, self.burst) = (perSecond, burst)
        }
    }

    /// Creates a model.
    public init(
        serviceTime: LatencyModel, workers: Int? = nil, queue: Int = 1000, servesLatestFirst: Bool = false,
        noticesCancellation: Bool = false, network: LatencyModel = .none, loss: Double = 0, failureShare: Double = 0,
        rateLimit: RateLimit? = nil
    ) {
        precondition(workers ?? 1 >= 1 && queue >= 0, "a service has 1 worker or more, and a queue of 0 or more")
        precondition((0...1).contains(loss) && (0...1).contains(failureShare), "a share must lie in 0...1")
        self.serviceTime = serviceTime
        self.workers = workers
        self.queue = queue
        self.servesLatestFirst = servesLatestFirst
        self.noticesCancellation = noticesCancellation
        self.network = network
        self.loss = loss
        self.failureShare = failureShare
        self.rateLimit = rateLimit
    }

    /// Creates a model from the figures that people know of a service.
    ///
    /// - Parameters:
    ///   - p50: The median of its answers' times; above 0.
    ///   - p99: The time that one of a hundred answers exceeds; not below the median.
    ///   - capacity: How many requests a second it can serve; above 0. It has as many workers as that needs.
    public init(p50: Duration, p99: Duration, capacity: Double) {
        precondition(capacity > 0 && capacity.isFinite, "a capacity must be above 0")
        let time = LatencyModel.logNormal(p50: p50, p99: p99)
        precondition(capacity * (time.mean / .seconds(1)) < 1e9, "a service has fewer than 10⁹ workers")
        self.init(serviceTime: time, workers: max(1, Int((capacity * (time.mean / .seconds(1))).rounded())))
    }

    /// How many requests a second the workers can serve; infinite without a limit of workers.
    public var capacity: Double { workers.map { Double($0) / (serviceTime.mean / .seconds(1)) } ?? .infinity }
}
