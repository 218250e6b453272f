/// The settings of a ``Bulkhead`` as a value, which can be read from a file or a server.
///
/// ```swift
/// let json = Data(#"{"limit": 16, "queue": 64, "maxWaitSeconds": 2}"#.utf8)
/// let configuration = try JSONDecoder().decode(
///     BulkheadConfiguration.self, from: json)
/// let bulkhead = Bulkhead("search", configuration: configuration)
/// ```
///
/// Its settings are always valid. What is left out has the default of ``Bulkhead``; `limit` has none. Codable:
/// durations are numbers of seconds, whose names end with `Seconds`; `order` is a name.
///
/// See <doc:BulkheadGuide> for what the settings do, and <doc:ConfigurationGuide> for files.
public struct BulkheadConfiguration: Sendable, Hashable {
    /// How many calls may run at the same time.
    public let limit: Int
    /// How many calls may wait.
    public let queue: Int
    /// Which waiting call is next.
    public let order: Bulkhead.Order
    /// The longest wait in the queue; nil for no limit.
    public let maxWait: Duration?
    /// Whether to reject a call at once if it would probably wait for too long.
    public let predictsWait: Bool

    /// Creates a configuration. For each optional parameter, nil, the default, is the default of ``Bulkhead``.
    /// - Parameters:
    ///   - limit: How many calls may run at the same time; 1 or more.
    ///   - queue: How many calls may wait; 0 or more.
    ///   - order: Which waiting call is next, and which is rejected when the queue is full.
    ///   - maxWait: The longest wait in the queue; 0 or more.
    ///   - predictsWait: Whether to reject a call at once if it would probably wait beyond its deadline or `maxWait`.
    /// - Throws: ``InvalidSettings``, with everything that is invalid.
    public init(
        limit: Int, queue: Int? = nil, order: Bulkhead.Order? = nil, maxWait: Duration? = nil, predictsWait: Bool? = nil
    ) throws(InvalidSettings) {
        let bulkhead = try PolicySettings.valid {
            let standard = Bulkhead(limit: 1)
            return Bulkhead(
                limit: limit, queue: queue ?? standard.status.queueLimit, order: order ?? standard.order,
                maxWait: maxWait, predictsWait: predictsWait ?? standard.predictsWait)
        }
        self.limit = bulkhead.status.limit
        self.queue = bulkhead.status.queueLimit
        self.order = bulkhead.order
        self.maxWait = maxWait?.inNanoseconds
        self.predictsWait = bulkhead.predictsWait
    }
}

extension BulkheadConfiguration: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case limit, queue, order, predictsWait
        case maxWait = "maxWaitSeconds"
    }

    public init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "Bulkhead", by: CodingKeys.self) { reader in
            try BulkheadConfiguration(
                limit: reader.require(reader.value(.limit), .limit, else: 1), queue: reader.value(.queue),
                order: reader.choice(.order), maxWait: reader.duration(.maxWait),
                predictsWait: reader.value(.predictsWait))
        }
    }
}

extension Bulkhead {
    /// Creates a bulkhead with the settings of a configuration, and all permits free; see
    /// ``init(_:limit:queue:order:maxWait:predictsWait:timeBase:observers:)``.
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - configuration: The settings.
    ///   - timeBase: The time base for waits and service times; it must be that of the pipeline.
    ///   - observers: The observers that are told what this bulkhead does; nil for none at first.
    public convenience init(
        _ name: String = "bulkhead", configuration: BulkheadConfiguration, timeBase: any TimeBase = .system,
        observers: PolicyObservers? = nil
    ) {
        self.init(
            name, limit: configuration.limit, queue: configuration.queue, order: configuration.order,
            maxWait: configuration.maxWait, predictsWait: configuration.predictsWait, timeBase: timeBase,
            observers: observers)
    }
}
