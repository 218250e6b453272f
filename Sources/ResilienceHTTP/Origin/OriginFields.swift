public import Resilience

/// The request fields that carry a call's priority and its attempt number over HTTP.
///
/// ```swift
/// // Client
/// let fields = OriginFields.standard
/// for (name, value) in fields.values(priority: .low, attempt: 2) {
///     request.headers[name] = value
/// }
/// // Server
/// let origin = fields.origin(atMost: .normal) { request.headers[$0] }
/// try await origin.run { try await handle(request) }
/// ```
///
/// | field | value |
/// |---|---|
/// | `priority` | `u=0` to `u=7`, the most important first (RFC 9218); without it 3 |
/// | `x-envoy-attempt-count` | the number of the attempt, from 1, as Envoy counts |
///
/// An urgency of 3 is ``/Resilience/CallPriority/normal``, 1 is ``/Resilience/CallPriority/high``, and 5 is
/// ``/Resilience/CallPriority/low``: 32 for each step. Browsers also send `priority`: they ask for images later than
/// pages.
public struct OriginFields: Sendable, Hashable {
    /// The name of the field for the priority, in lower case; nil if there is none.
    public let priority: String?
    /// The name of the field for the number of the attempt, in lower case; nil if there is none.
    public let attempt: String?

    /// `priority` and `x-envoy-attempt-count`.
    public static let standard = OriginFields()

    /// Creates fields with other names.
    ///
    /// - Parameters:
    ///   - priority: The name of the field for the priority: of the characters that HTTP allows in a name (RFC 9110
    ///     §5.1). nil for none.
    ///   - attempt: The name of the field for the number of the attempt; nil for none.
    public init(priority: String? = "priority", attempt: String? = "x-envoy-attempt-count") {
        self.priority = Self.valid(priority, "priority")
        self.attempt = Self.valid(attempt, "attempt")
    }

    private static func valid(_ name: String?, _ parameter: String) -> String? {
        guard let name else { return nil }
        let isValid = SettingChecks("OriginFields").allows(
            name.isFieldName, name.debugDescription, parameter, "must be the name of an HTTP field")
        return isValid ? name.lowercased() : nil
    }

    /// Returns the fields for a request: none for a first attempt without a priority, or with urgency 3.
    ///
    /// - Parameters:
    ///   - priority: The call's priority, rounded to the nearest urgency; nil, the default, for none.
    ///   - number: The number of the attempt. 1 by default.
    public func values(priority: CallPriority? = nil, attempt number: Int = 1) -> [(name: String, value: String)] {
        var values: [(name: String, value: String)] = []
        if let name = self.priority, let urgency = priority.map(Self.urgency), urgency != 3 {
            values.append((name, "u=\(urgency)"))
        }
        if let name = attempt, number > 1 { values.append((name, "\(number)")) }
        return values
    }

    /// Returns the priority and the attempt of a request.
    ///
    /// Unreadable values count as missing.
    ///
    /// - Parameters:
    ///   - highest: The highest priority that a request gets, even without one of its own. nil, the default, for any.
    ///   - header: Returns the value of a request field, with any case in the request.
    public func origin(atMost highest: CallPriority? = nil, header: (String) -> String?) -> CallOrigin {
        let asked = priority.flatMap(header).flatMap(Self.priority)
        let number = attempt.flatMap(header).flatMap { value in
            var cursor = FieldCursor(value)
            return cursor.numberToEnd()
        }
        let bounded: CallPriority? = if let highest, highest < asked ?? .normal { highest } else { asked }
        return CallOrigin(priority: bounded, attempt: Int(clamping: number ?? 1))
    }

    /// Reads a value of RFC 9218.
    ///
    /// - Parameter value: The field's value.
    /// - Returns: The urgency, as a priority; nil if it is missing or unreadable.
    public static func priority(_ value: String) -> CallPriority? {
        guard let urgency = StructuredDictionary(value)?.numbers["u"], (0...7).contains(urgency) else { return nil }
        return CallPriority(rawValue: Int8((3 - urgency) * 32))
    }

    private static func urgency(_ priority: CallPriority) -> Int {
        min(7, max(0, 3 - Int((Double(priority.rawValue) / 32).rounded())))
    }
}

extension CallAttempt {
    /// The fields for this attempt, which replace the request's; nil if there is no time left.
    ///
    /// The request keeps its own time if that is shorter, and its own priority and number.
    /// - Parameter header: Returns the value of a field of the request.
    package func fields(
        _ deadlineField: DeadlineField?, _ originFields: OriginFields?, _ options: RunOptions,
        on timeBase: any TimeBase, header: (String) -> String?
    ) -> [(name: String, value: String)]? {
        let origin = originFields?.values(
            priority: options.effectivePriority, attempt: CallOrigin.told(number))
        let fields = origin?.filter { header($0.name) == nil } ?? []
        guard let deadlineField, deadline != .distantFuture,
            let value = deadlineField.value(for: remaining(on: timeBase), over: header(deadlineField.name))
        else { return fields }
        return value == "0" ? nil : fields + [(deadlineField.name, value)]
    }
}
