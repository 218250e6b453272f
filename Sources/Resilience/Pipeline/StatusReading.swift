/// A number in a status: a gauge of metrics, and a figure on the live page.
public struct StatusReading: Sendable, Hashable {
    /// The unit of the number.
    public enum Unit: String, Sendable, Hashable, Codable, CaseIterable {
        /// A number of things.
        case count
        /// A length of time in seconds.
        case seconds
        /// A number of bytes.
        case bytes
        /// A rate per second.
        case perSecond
        /// A share, 0 to 1.
        case share
        /// The seconds until something happens.
        case until
        /// The seconds since something has happened.
        case since
    }

    /// The name, in lower case with underscores, such as "circuit_failures"; the name of a number of seconds ends in
    /// `_seconds`.
    ///
    /// Metrics put `resilience_` before it, and omit a name that they already use, such as "calls_total".
    public let name: String
    /// The help text: one line.
    public let help: String
    /// The title for people; nil for a reading that only metrics show.
    public let title: String?
    /// The unit of the number.
    public let unit: Unit
    /// The number; nil if it is unknown or unlimited: then the reading is left out.
    public let value: Double?
    /// The largest possible number; nil without a limit.
    public let limit: Int?
    /// The value of a label `state`, which tells several readings of one name apart; nil for none.
    public let state: String?

    /// Creates a reading.
    ///
    /// - Parameters:
    ///   - name: The name, in lower case with underscores.
    ///   - help: The help text: one line.
    ///   - title: The title for people; nil, the default, for a reading that only metrics show.
    ///   - unit: The unit. Seconds of a `Duration` by default, and otherwise a count.
    ///   - value: An `Int`, a `Double`, a `Duration` or a `Bool`. With nil, `Int.max` or a number that is not finite,
    ///     the reading is left out.
    ///   - limit: The largest possible number; nil, the default, and `Int.max` for no limit.
    ///   - state: The value of a label `state`.
    public init<Value: StatusNumber>(
        _ name: String, _ help: String, title: String? = nil, unit: Unit? = nil, _ value: Value?, of limit: Int? = nil,
        state: String? = nil
    ) {
        self.name = name
        self.help = help
        self.title = title
        self.unit = unit ?? (Value.self == Duration.self ? .seconds : .count)
        self.value = value?.statusNumber.flatMap { $0.isFinite ? $0 : nil }
        self.limit = limit == .max ? nil : limit
        self.state = state
    }
}

/// A type that can be the number of a reading: `Int`, `Double`, `Duration` in seconds, and `Bool` as 1 or 0.
public protocol StatusNumber {
    /// The number; nil for none.
    var statusNumber: Double? { get }
}

extension Int: StatusNumber {
    public var statusNumber: Double? { self == .max ? nil : Double(self) }
}

extension Double: StatusNumber {
    public var statusNumber: Double? { self }
}

extension Duration: StatusNumber {
    public var statusNumber: Double? { writtenSeconds }
}

extension Bool: StatusNumber {
    public var statusNumber: Double? { self ? 1 : 0 }
}
