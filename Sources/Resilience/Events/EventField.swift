/// The details of an event by name, for a log line's metadata and a span's attributes.
///
/// ```swift
/// ["failures": count, "failure_limit": limit, "break": length]
/// ```
///
/// Names are in lower case, with underscores. A field whose value is nil is left out.
public struct EventFields: Sendable, Hashable, Sequence, ExpressibleByDictionaryLiteral {
    /// One detail.
    public struct Field: Sendable, Hashable {
        /// The name.
        public let name: String
        /// The value.
        public let value: EventFieldValue
    }

    private var fields: [Field]

    /// Creates fields from names and values, in order.
    ///
    /// - Parameter elements: The names and values. A nil value is left out.
    public init(dictionaryLiteral elements: (String, (any EventFieldConvertible)?)...) {
        fields = elements.compactMap { name, value in value.map { Field(name: name, value: $0.eventFieldValue) } }
    }

    /// Returns the fields of both, in order.
    ///
    /// - Parameters:
    ///   - lhs: The first fields.
    ///   - rhs: The fields that follow.
    public static func + (lhs: EventFields, rhs: EventFields) -> EventFields {
        var sum = lhs
        sum.fields += rhs.fields
        return sum
    }

    public func makeIterator() -> IndexingIterator<[Field]> { fields.makeIterator() }
}

/// The value of a detail of an event.
public enum EventFieldValue: Sendable, Hashable {
    /// A text.
    ///
    /// In logs and spans it stands on one line.
    case text(String)
    /// A whole number.
    case integer(Int)
    /// Written in milliseconds, under a name that ends in `_ms`.
    case duration(Duration)
}

/// A type that can be the value of an event's field: `String`, `Int` and `Duration`.
public protocol EventFieldConvertible: Sendable {
    /// The value.
    var eventFieldValue: EventFieldValue { get }
}

extension String: EventFieldConvertible {
    public var eventFieldValue: EventFieldValue { .text(self) }
}

extension Int: EventFieldConvertible {
    public var eventFieldValue: EventFieldValue { .integer(self) }
}

extension Duration: EventFieldConvertible {
    public var eventFieldValue: EventFieldValue { .duration(self) }
}

extension Verdict {
    /// The details of a verdict: its kind, and the wait that the other side asked for.
    public var fields: EventFields { ["verdict": "\(kind)", "retry_after": retryAfter] }
}

extension FailureDetail {
    /// The details of a failure: as one text, and in parts.
    public var fields: EventFields {
        [
            "failure": description, "error_type": type, "error_code": code, "host": host, "failed_by": policy,
            "status": status,
        ]
    }
}

extension PolicyEvent {
    /// The details of the event and of its failure.
    public var fields: EventFields { failure.map { detail.fields + $0.fields } ?? detail.fields }
}
