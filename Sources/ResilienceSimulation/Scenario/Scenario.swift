public import Resilience

/// A service, its callers, and what goes wrong.
///
/// ```swift
/// let result = try Scenario.outage(for: .seconds(30)).run { timeBase in
///     Pipeline("orders", timeBase: timeBase, isIdempotent: true) {
///         Retry(maxRetries: 2, budget: RetryBudget.ratio(0.1, timeBase: timeBase))
///         CircuitBreaker(timeBase: timeBase)
///         Timeout(limit: .seconds(1))
///     }
/// }
/// #expect(result.amplification < 1.2)
/// ```
public struct Scenario: Sendable, Hashable {
    /// Who makes calls, and when.
    public enum Load: Sendable, Hashable {
        /// Calls come at random, this many a second, whatever becomes of earlier ones: users.
        case open(perSecond: Double)
        /// Each client makes its next call when the last has ended and it has thought: workers, tests of load.
        case closed(thinking: LatencyModel)
    }

    /// The service.
    public var service: ServiceModel
    /// Who makes calls, and when.
    public var load: Load
    /// How many clients there are, each with its own pipeline; 1 or more. 10 by default.
    public var clients: Int
    /// How many zones the service has, each with the whole of its model; 1 or more. 1 by default.
    ///
    /// Each client has a pipeline of the last layer for each zone, and its attempts go to the zones in turn, past those
    /// whose circuit is open. A trouble happens in its ``Trouble/zones``.
    public var zones: Int
    /// What goes wrong.
    public var troubles: [Trouble]
    /// How long the run lasts; above 0.
    public var length: Duration
    /// The length of an interval of the result; above 0. 1 s by default.
    public var interval: Duration
    /// The time that each call has; nil, the default, for no deadline.
    public var deadline: Duration?

    /// Creates a scenario.
    public init(
        service: ServiceModel, load: Load, clients: Int = 10, zones: Int = 1,
        troubles: [Trouble] = [], length: Duration, interval: Duration = .seconds(1), deadline: Duration? = nil
    ) {
        self.service = service
        self.load = load
        self.clients = clients
        self.zones = zones
        self.troubles = troubles
        self.length = length
        self.interval = interval
        self.deadline = deadline
        check()
    }

    /// Traps if a value is out of range.
    private func check() {
        precondition(clients >= 1 && zones >= 1, "a scenario has 1 client and 1 zone or more")
        precondition(length > .zero && interval > .zero, "a scenario and its intervals must be longer than 0")
        if case .open(let rate) = load { precondition(rate > 0 && rate.isFinite, "a load must be above 0") }
        for trouble in troubles {
            trouble.check()
            precondition(trouble.zones.allSatisfy { (0..<zones).contains($0) }, "a trouble is in a zone that exists")
        }
    }

    /// Makes a pipeline, with policies on the time base that it is given.
    public typealias Make = (SimulatedTimeBase) throws -> Pipeline

    /// Runs the scenario.
    ///
    /// - Parameters:
    ///   - seed: The same seed gives the same result, to the last digit.
    ///   - make: Makes a client's pipeline. It is called once for each client; to share a policy, make it at the first
    ///     call and keep it.
    /// - Returns: What callers and the service saw.
    /// - Throws: ``NotSimulated``, or the error of `make`.
    public func run(seed: UInt64 = 0, _ make: Make) throws -> SimulationResult {
        try withoutActuallyEscaping(make) { try run(seed: seed, through: [$0]) }
    }

    /// Runs the scenario with several layers: each client calls a service of its own, which calls the next.
    ///
    /// A caller that gives up does not end the work below it.
    ///
    /// - Parameters:
    ///   - seed: The same seed gives the same result, to the last digit.
    ///   - layers: Make the pipelines of a client and of the services below it, the client's first; one or more.
    /// - Returns: What callers and the service saw.
    /// - Throws: ``NotSimulated``, or the error of a layer.
    public func run(seed: UInt64 = 0, through layers: [Make]) throws -> SimulationResult {
        precondition(!layers.isEmpty, "a run has 1 layer or more")
        check()
        return try ScenarioRun(self, seed: seed, layers).finish()
    }
}

extension Scenario {
    /// The service of the scenarios below: half of its answers come within 20 ms, one of a hundred takes longer than
    /// 100 ms, and it can serve 200 requests a second.
    public static let standardService = ServiceModel(
        p50: .milliseconds(20), p99: .milliseconds(100), capacity: 200)

    /// Returns a scenario of one trouble: 100 calls a second for two minutes from ten clients, and the trouble after 30
    /// seconds.
    ///
    /// - Parameters:
    ///   - trouble: What goes wrong.
    ///   - length: How long. 30 s by default.
    ///   - service: The service.
    public static func trouble(
        _ trouble: Trouble.Kind, for length: Duration = .seconds(30), of service: ServiceModel = standardService
    ) -> Scenario {
        Scenario(
            service: service, load: .open(perSecond: service.capacity.isFinite ? service.capacity / 2 : 100),
            troubles: [Trouble(trouble, at: .seconds(30), for: length)], length: .seconds(90) + length)
    }

    /// Returns a scenario in which the service is down for a time: see ``trouble(_:for:of:)``.
    ///
    /// - Parameter length: How long.
    public static func outage(for length: Duration) -> Scenario { trouble(.outage, for: length) }
}
