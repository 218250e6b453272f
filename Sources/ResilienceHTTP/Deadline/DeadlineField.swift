public import Resilience

/// A request field that carries a deadline over HTTP: how much longer the client waits for the answer.
///
/// ```swift
/// // Client
/// let field = DeadlineField.standard
/// if let value = field.value(for: .milliseconds(1500)) {
///     request.headers[field.name] = value
/// }
/// // Server
/// let deadline = field.deadline { request.headers[$0] }
/// ```
///
/// The value is the remaining time, not an instant, since the clocks of two machines differ. It does not include the
/// transit to the server, so the server's deadline is later by that time.
///
/// A deadline never becomes later: values are rounded down when written, and an unreadable value counts as missing.
///
/// | field | value |
/// |---|---|
/// | ``standard``: `x-envoy-expected-rq-timeout-ms` | digits, in milliseconds |
/// | ``grpc``: `grpc-timeout` | 1 to 8 digits and a unit, one of `H`, `M`, `S`, `m`, `u`, `n` |
/// | ``init(_:)`` | digits, in milliseconds, in a field that you name |
public struct DeadlineField: Sendable, Hashable, CustomStringConvertible {
    enum Syntax: Hashable {
        case milliseconds
        case grpc
    }

    /// The name of the field, in lower case.
    public let name: String
    let syntax: Syntax

    /// `x-envoy-expected-rq-timeout-ms`: the time that is left, in milliseconds.
    ///
    /// Proxies also write and read this field: Envoy tells the server behind it how long it waits, and accepts such a
    /// time from a caller if its `respect_expected_rq_timeout` is set.
    public static let standard = DeadlineField(name: standardName, syntax: .milliseconds)

    private static let standardName = "x-envoy-expected-rq-timeout-ms"

    /// `grpc-timeout`, as gRPC writes it over HTTP/2: `100m` is 100 milliseconds.
    public static let grpc = DeadlineField(name: "grpc-timeout", syntax: .grpc)

    /// Creates a field whose value is the time that is left in milliseconds, such as Connect's `connect-timeout-ms`.
    ///
    /// - Parameter name: The name of the field: not empty, and of the characters that HTTP allows in a name (RFC 9110
    ///   §5.1).
    public init(_ name: String) {
        let isValid = SettingChecks("DeadlineField").allows(
            name.isFieldName, name.debugDescription, "name",
            "must be the name of an HTTP field")
        self.init(name: isValid ? name.lowercased() : Self.standardName, syntax: .milliseconds)
    }

    private init(name: String, syntax: Syntax) {
        self.name = name
        self.syntax = syntax
    }

    /// Returns the value for a remaining time, rounded down to the field's precision.
    ///
    /// A time of less than a millisecond is `0`: the deadline has passed. Don't send such a request: no caller waits
    /// for its answer, and Envoy takes 0 for no limit.
    /// - Parameter remaining: How long until the deadline; 0 or less if it has passed.
    /// - Returns: nil if there is no deadline; 292 years or more count as none.
    public func value(for remaining: Duration) -> String? {
        guard remaining < .infinite else { return nil }
        // Rounded down to nanoseconds. It can't overflow, since `infinite` is the largest number of nanoseconds.
        let (seconds, attoseconds) = max(.zero, remaining).components
        let nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        return switch syntax {
        case .milliseconds: "\(nanoseconds / 1_000_000)"
        case .grpc: GRPCTimeout.value(nanoseconds: nanoseconds)
        }
    }

    /// Returns the value for a remaining time; nil if there is no deadline, or if the request already names a time that
    /// is not longer. Less than a millisecond is always `0`.
    package func value(for remaining: Duration, over named: String?) -> String? {
        let value = value(for: remaining)
        guard value != "0", let named = named.flatMap(self.remaining) else { return value }
        return named > remaining ? value : nil
    }

    /// Reads a value of the field.
    ///
    /// A number too large for its type becomes the type's maximum. A value with a sign or a fraction, a blank value, a
    /// list, and any other form is ignored. Spaces and tabs around the value do not count.
    /// - Parameter value: The field's value.
    /// - Returns: How long until the deadline, zero or more; nil if the value must be ignored.
    public func remaining(_ value: String) -> Duration? {
        var cursor = FieldCursor(value)
        let nanoseconds =
            switch syntax {
            case .milliseconds: cursor.numberToEnd()?.saturatingMultiplied(by: 1_000_000)
            case .grpc: GRPCTimeout.nanoseconds(cursor)
            }
        return nanoseconds.map { .nanoseconds($0) }
    }

    /// Returns the deadline in a request, for its handler.
    ///
    /// ```swift
    /// let field = DeadlineField.standard
    /// let deadline = field.deadline(atMost: .seconds(30)) { request.headers[$0] }
    /// try await deadline?.run { try await handle(request) }
    /// ```
    /// - Parameters:
    ///   - limit: The longest time that a client may ask for, 0 or more; also the time of a request that names no time.
    ///     nil, the default, for no limit.
    ///   - timeBase: The time base of the deadline.
    ///   - header: Returns the value of a request field, whatever the case of its name in the request; called once,
    ///     with ``name``.
    /// - Returns: nil if the request has no readable time, and there is no limit.
    public func deadline(
        atMost limit: Duration? = nil, on timeBase: any TimeBase = .system, header: (String) -> String?
    ) -> CallDeadline? {
        let asked = header(name).flatMap(remaining)
        guard let time = [asked, limit].compactMap(\.self).min(), time < .infinite else { return nil }
        return CallDeadline(after: time, on: timeBase)
    }

    /// The name of the field.
    public var description: String { name }
}

extension CallDeadline {
    /// Creates the deadline from a request's field.
    ///
    /// - Parameters:
    ///   - value: The field's value; nil if the request has none.
    ///   - field: The field.
    ///   - timeBase: The time base of the deadline.
    /// - Returns: nil if the value is missing or unreadable.
    public init?(
        httpField value: String?, as field: DeadlineField = .standard, on timeBase: any TimeBase = .system
    ) {
        guard let remaining = value.flatMap(field.remaining) else { return nil }
        self.init(after: remaining, on: timeBase)
    }

    /// Returns the value of a request's field for this deadline: the remaining time, rounded down.
    ///
    /// - Parameter field: The field.
    /// - Returns: nil if there is no deadline; `0` if it has passed: see ``DeadlineField/value(for:)``.
    public func httpFieldValue(as field: DeadlineField = .standard) -> String? { field.value(for: remaining) }
}

extension String {
    /// Whether it can be the name of a field (RFC 9110 §5.1).
    var isFieldName: Bool { !isEmpty && utf8.allSatisfy(\.isTokenPart) }
}

extension UInt8 {
    /// Whether the byte may be part of a token (RFC 9110 §5.6.2).
    fileprivate var isTokenPart: Bool { isLetter || isDigit || "!#$%&'*+-.^_`|~".utf8.contains(self) }
}
