/// The settings of a ``Bulkhead`` as a value, which can be read from a file or a server.
///
/// ```swift
/// let json = Data(#"{"limit": 16, "queue": 64, "maxWaitSeconds": 2}"#.utf8)
/// let configuration = try JSONDecoder().decode(
///     BulkheadConfiguration.self, from: json)
/// let bulkhead = Bulkhead("search", configuration: configuration)
/// ```
///
/// Its settings are always valid. What is left out has the default of ``Bulkhead``; `limit` has none, unless there is an
/// `adaptiveLimit`, which begins with it. Codable: durations are numbers of seconds, whose names end with `Seconds`;
/// `order` is a name; and a limit that adapts is one of
///
/// ```
/// {"kind": "gradient", "lowest": 1, "highest": 200, "tolerance": 0.1}
/// {"kind": "vegas", "leastQueue": 0.03, "mostQueue": 0.08}
/// {"kind": "aimd", "increase": 1, "decrease": 0.9}
/// ```
///
/// each with `windowSeconds`, `slowAfterSeconds` and `verdicts`, too; or `{"kind": "fixed"}`, which is the same as none.
/// A limit with an algorithm of your own can't be encoded.
///
/// See <doc:BulkheadGuide> for what the settings do, and <doc:ConfigurationGuide> for files.
public struct BulkheadConfiguration: Sendable, Hashable {
    /// How many calls may run at the same time. With an ``adaptiveLimit``, as long as nothing is known.
    public let limit: Int
    /// How the bulkhead finds its limit by itself; nil if the limit is fixed.
    public let adaptiveLimit: AdaptiveLimit?
    /// How many calls may wait.
    public let queue: Int
    /// Which waiting call is next.
    public let order: Bulkhead.Order
    /// The longest wait in the queue; nil for no limit.
    public let maxWait: Duration?
    /// Whether to reject a call at once if it would probably wait for too long.
    public let predictsWait: Bool
    /// How waiting calls are rejected under overload; nil if they are not.
    public let shedding: LoadShedding?

    /// Creates a configuration. For each optional parameter, nil, the default, is the default of ``Bulkhead``.
    /// - Parameters:
    ///   - limit: How many calls may run at the same time; 1 or more.
    ///   - queue: How many calls may wait; 0 or more.
    ///   - order: Which waiting call is next, and which is rejected when the queue is full.
    ///   - maxWait: The longest wait in the queue; 0 or more.
    ///   - predictsWait: Whether to reject a call at once if it would probably wait beyond its deadline or `maxWait`.
    ///   - shedding: How waiting calls are rejected under overload.
    /// - Throws: ``InvalidSettings``, with everything that is invalid.
    public init(
        limit: Int, queue: Int? = nil, order: Bulkhead.Order? = nil, maxWait: Duration? = nil,
        predictsWait: Bool? = nil, shedding: @autoclosure () -> LoadShedding? = nil
    ) throws(InvalidSettings) {
        let bulkhead = try PolicySettings.valid {
            let standard = Bulkhead(limit: 1)
            return Bulkhead(
                limit: limit, queue: queue ?? standard.status.queueLimit, order: order ?? standard.order,
                maxWait: maxWait, predictsWait: predictsWait ?? standard.predictsWait, shedding: shedding())
        }
        self.init(bulkhead, maxWait)
    }

    /// Creates a configuration of a bulkhead that finds its limit by itself. For each optional parameter, nil, the default,
    /// is the default of ``Bulkhead``.
    /// - Parameters:
    ///   - adaptiveLimit: How the bulkhead finds its limit.
    ///   - queue: How many calls may wait; 0 or more.
    ///   - order: Which waiting call is next, and which is rejected when the queue is full.
    ///   - maxWait: The longest wait in the queue; 0 or more.
    ///   - predictsWait: Whether to reject a call at once if it would probably wait beyond its deadline or `maxWait`.
    ///   - shedding: How waiting calls are rejected under overload.
    /// - Throws: ``InvalidSettings``, with everything that is invalid. Settings of a limit that is made in the call are
    ///   among it.
    public init(
        adaptiveLimit: @autoclosure () -> AdaptiveLimit, queue: Int? = nil, order: Bulkhead.Order? = nil,
        maxWait: Duration? = nil, predictsWait: Bool? = nil, shedding: @autoclosure () -> LoadShedding? = nil
    ) throws(InvalidSettings) {
        let bulkhead = try PolicySettings.valid {
            let standard = Bulkhead(limit: 1)
            return Bulkhead(
                adaptiveLimit: adaptiveLimit(), queue: queue ?? standard.status.queueLimit,
                order: order ?? standard.order, maxWait: maxWait, predictsWait: predictsWait ?? standard.predictsWait,
                shedding: shedding())
        }
        self.init(bulkhead, maxWait)
    }

    private init(_ bulkhead: Bulkhead, _ maxWait: Duration?) {
        limit = bulkhead.status.limit
        adaptiveLimit = bulkhead.adaptiveLimit
        queue = bulkhead.status.queueLimit
        order = bulkhead.order
        self.maxWait = maxWait?.inNanoseconds
        predictsWait = bulkhead.predictsWait
        shedding = bulkhead.shedding
    }
}

extension BulkheadConfiguration: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case limit, adaptiveLimit, queue, order, predictsWait, shedding
        case maxWait = "maxWaitSeconds"
    }

    public init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "Bulkhead", by: CodingKeys.self) { reader in
            let limit: Int? = reader.value(.limit)
            let adaptive = reader.value(.adaptiveLimit, as: AdaptiveLimitSettings.self)
            let (queue, order): (Int?, Bulkhead.Order?) = (reader.value(.queue), reader.choice(.order))
            let (maxWait, predictsWait): (Duration?, Bool?) = (reader.duration(.maxWait), reader.value(.predictsWait))
            let shedding: LoadShedding? = reader.value(.shedding)
            if let adaptive = adaptive?.limit {
                if let limit, !adaptive.range.contains(limit) {
                    let (lowest, highest) = (adaptive.range.lowerBound, adaptive.range.upperBound)
                    reader.note(.limit, "\(limit)", "must lie in \(lowest)...\(highest), as adaptiveLimit says")
                    return try BulkheadConfiguration(limit: 1)
                }
                return try BulkheadConfiguration(
                    adaptiveLimit: adaptive.beginning(with: limit ?? adaptive.initial), queue: queue, order: order,
                    maxWait: maxWait, predictsWait: predictsWait, shedding: shedding)
            }
            let isFixed = adaptive != nil || !reader.isUnreadable(.adaptiveLimit)
            return try BulkheadConfiguration(
                limit: isFixed ? reader.require(limit, .limit, else: 1) : limit ?? 1, queue: queue, order: order,
                maxWait: maxWait, predictsWait: predictsWait, shedding: shedding)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(limit, forKey: .limit)
        if let adaptiveLimit {
            try container.encode(AdaptiveLimitSettings(limit: adaptiveLimit), forKey: .adaptiveLimit)
        }
        try container.encode(queue, forKey: .queue)
        try container.encode(order, forKey: .order)
        try container.encodeIfPresent(maxWait, forKey: .maxWait)
        try container.encode(predictsWait, forKey: .predictsWait)
        try container.encodeIfPresent(shedding, forKey: .shedding)
    }
}

extension Bulkhead {
    /// Creates a bulkhead with the settings of a configuration, and all permits free; see
    /// ``init(_:limit:queue:order:maxWait:predictsWait:shedding:timeBase:observers:)``.
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - configuration: The settings.
    ///   - timeBase: The time base for waits and service times; it must be that of the pipeline.
    ///   - observers: The observers that are told what this bulkhead does; nil for none at first.
    public convenience init(
        _ name: String = "bulkhead", configuration: BulkheadConfiguration, timeBase: any TimeBase = .system,
        observers: PolicyObservers? = nil
    ) {
        if let adaptiveLimit = configuration.adaptiveLimit {
            self.init(
                name, adaptiveLimit: adaptiveLimit, queue: configuration.queue, order: configuration.order,
                maxWait: configuration.maxWait, predictsWait: configuration.predictsWait,
                shedding: configuration.shedding, timeBase: timeBase, observers: observers)
        } else {
            self.init(
                name, limit: configuration.limit, queue: configuration.queue, order: configuration.order,
                maxWait: configuration.maxWait, predictsWait: configuration.predictsWait,
                shedding: configuration.shedding, timeBase: timeBase, observers: observers)
        }
    }
}
