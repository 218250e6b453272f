/// The settings of a ``Throttle`` as a value, which can be read from a file or a server.
///
/// ```swift
/// let json = """
///     {"limit": {"kind": "rate", "calls": 10, "periodSeconds": 1}}
///     """
/// let configuration = try JSONDecoder().decode(
///     ThrottleConfiguration.self, from: Data(json.utf8))
/// let throttle = Throttle("search", configuration: configuration)
/// ```
///
/// Its settings are always valid. What is left out has the default of ``Throttle``; `limit` has none. Codable:
/// durations are numbers of seconds, whose names end with `Seconds`.
///
/// See <doc:ThrottleGuide> for what the settings do, and <doc:ConfigurationGuide> for files.
public struct ThrottleConfiguration: Sendable, Hashable {
    /// How many calls may go in which time.
    public let limit: ThrottleLimit
    /// How long a call may wait for its turn.
    public let maxWait: Duration
    /// How many calls may wait at the same time.
    public let queue: Int
    /// Whether a 429 holds all calls.
    public let holdOnThrottled: Bool
    /// How long the nth hold in a row is, if the other side names no wait.
    public let holdBackoff: Backoff
    /// The longest hold.
    public let maxHold: Duration
    /// When the first call probes during a hold whose wait the other side has named; 0 for never.
    public let earlyProbe: Duration
    /// How long after a hold calls are let in slowly.
    public let ramp: Duration

    /// Creates a configuration. For each optional parameter, nil is the default of ``Throttle``.
    /// - Parameters:
    ///   - limit: How many calls may go in which time.
    ///   - maxWait: How long a call may wait for its turn; 0 or more.
    ///   - queue: How many calls may wait at the same time; 0 or more.
    ///   - holdOnThrottled: Whether a ``Verdict/throttled(retryAfter:)`` holds all calls for the wait that it names.
    ///   - holdBackoff: How long the nth hold in a row is, if the other side names no wait; not `custom`.
    ///   - maxHold: The longest hold, even if the other side asks for a longer one; 0 or more.
    ///   - earlyProbe: When the first call probes during a hold whose wait the other side has named; 0 or more.
    ///   - ramp: How long after a hold calls are let in slowly; 0 or more.
    /// - Throws: ``InvalidSettings``, with everything that is invalid. Settings of a limit or a backoff that is made in
    ///   the call are among it.
    public init(
        limit: @autoclosure () -> ThrottleLimit, maxWait: Duration? = nil, queue: Int? = nil,
        holdOnThrottled: Bool? = nil,
        holdBackoff: @autoclosure () -> Backoff = .exponential(from: .seconds(1), cap: .seconds(60), jitter: .none),
        maxHold: Duration? = nil, earlyProbe: Duration? = nil, ramp: Duration? = nil
    ) throws(InvalidSettings) {
        // With the hold, which is checked then even if it is not wanted.
        let (throttle, holds) = try PolicySettings.valid {
            let limit = limit()
            let standard = Throttle(limit: .unlimited, holdOnThrottled: true)
            let own = Throttle(
                limit: limit, maxWait: maxWait ?? standard.settings.maxWait,
                queue: queue ?? standard.settings.queue, holdOnThrottled: true,
                holdBackoff: holdBackoff(),
                maxHold: maxHold ?? standard.settings.maxHold,
                earlyProbe: earlyProbe ?? standard.settings.earlyProbe, ramp: ramp ?? standard.ramp)
            return (own, holdOnThrottled ?? (Throttle(limit: .unlimited).settings.holdBackoff != nil))
        }
        self.limit = throttle.limit
        self.maxWait = throttle.settings.maxWait.inNanoseconds
        self.queue = throttle.settings.queue
        self.holdOnThrottled = holds
        self.holdBackoff = throttle.settings.holdBackoff ?? .none
        self.maxHold = throttle.settings.maxHold.inNanoseconds
        self.earlyProbe = throttle.settings.earlyProbe.inNanoseconds
        self.ramp = throttle.ramp
    }
}

extension ThrottleConfiguration: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case limit, queue, holdOnThrottled, holdBackoff
        case maxWait = "maxWaitSeconds"
        case maxHold = "maxHoldSeconds"
        case earlyProbe = "earlyProbeSeconds"
        case ramp = "rampSeconds"
    }

    public init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "Throttle", by: CodingKeys.self) { reader in
            let limit = reader.require(reader.value(.limit), .limit, else: ThrottleLimit.unlimited)
            let standard = Throttle(limit: .unlimited, holdOnThrottled: true).settings.holdBackoff ?? .none
            let holdBackoff = reader.value(.holdBackoff) ?? standard
            return try ThrottleConfiguration(
                limit: limit, maxWait: reader.duration(.maxWait), queue: reader.value(.queue),
                holdOnThrottled: reader.value(.holdOnThrottled), holdBackoff: holdBackoff,
                maxHold: reader.duration(.maxHold), earlyProbe: reader.duration(.earlyProbe),
                ramp: reader.duration(.ramp))
        }
    }
}

/// `{"kind": "rate", "calls": 10, "periodSeconds": 1, "burst": 20}`; `slidingWindow` or `fixedWindow` with `calls` and
/// `periodSeconds`; `{"kind": "unlimited"}`. A fixed window that begins at a given instant can't be encoded.
extension ThrottleLimit: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case kind, calls, burst
        case period = "periodSeconds"
    }

    private enum KindName: String, CaseIterable, Encodable {
        case unlimited, rate, slidingWindow, fixedWindow
    }

    public init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "Throttle", by: CodingKeys.self) { reader in
            let kind: KindName = try reader.require(reader.choice(.kind), .kind)
            if kind == .unlimited { return .unlimited }
            let calls = reader.require(reader.value(.calls), .calls, else: 1)
            let period = reader.require(reader.duration(.period), .period, else: .seconds(1))
            switch kind {
            case .unlimited: return .unlimited
            case .rate:
                return reader.value(.burst).map { .rate(calls, per: period, burst: $0) }
                    ?? .rate(calls, per: period)
            case .slidingWindow: return .slidingWindow(calls, per: period)
            case .fixedWindow: return .fixedWindow(calls, per: period)
            }
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        func encode(_ kind: KindName, _ calls: Int, _ period: Duration) throws {
            try container.encode(kind, forKey: .kind)
            try container.encode(calls, forKey: .calls)
            try container.encode(period, forKey: .period)
        }
        switch kind {
        case .unlimited:
            try container.encode(KindName.unlimited, forKey: .kind)
        case .rate(let rate, let burst):
            try encode(.rate, rate.calls, rate.period)
            try container.encode(burst, forKey: .burst)
        case .window(let calls, let period, .sliding):
            try encode(.slidingWindow, calls, period)
        case .window(let calls, let period, .fixed(nil)):
            try encode(.fixedWindow, calls, period)
        case .window(_, _, .fixed):
            throw EncodingError.invalidValue(
                self,
                .init(
                    codingPath: encoder.codingPath,
                    debugDescription: "An instant at which a window begins has no meaning in another process."))
        }
    }
}

extension Throttle {
    /// Creates a throttle with the settings of a configuration; see
    /// ``init(_:limit:maxWait:queue:holdOnThrottled:holdBackoff:maxHold:earlyProbe:ramp:timeBase:observers:)``.
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - configuration: The settings.
    ///   - timeBase: The time base that it measures with; it must be that of the pipeline.
    ///   - observers: The observers that are told what this throttle does; nil for none at first.
    public convenience init(
        _ name: String = "throttle", configuration: ThrottleConfiguration, timeBase: any TimeBase = .system,
        observers: PolicyObservers? = nil
    ) {
        self.init(
            name, limit: configuration.limit, maxWait: configuration.maxWait, queue: configuration.queue,
            holdOnThrottled: configuration.holdOnThrottled, holdBackoff: configuration.holdBackoff,
            maxHold: configuration.maxHold, earlyProbe: configuration.earlyProbe, ramp: configuration.ramp,
            timeBase: timeBase, observers: observers)
    }

    fileprivate var limit: ThrottleLimit { state.withLock { $0.limit } }
    fileprivate var ramp: Duration { .nanoseconds(state.withLock { $0.machine.ramp }) }
}
