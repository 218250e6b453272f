/// A short description of a failure for logs: the error's type and code, the status of an answer, and the host, if
/// known.
///
/// Each part is short and on one line: at most 100 Unicode scalars, and ``description`` at most 200. Characters that
/// control a terminal, or end a line, are replaced. The detail has no place for a body, the value of a field, the query
/// of a URL, or credentials: an error that describes itself must leave them out.
public struct FailureDetail: Sendable, Hashable, CustomStringConvertible {
    /// The type of the error, such as "URLError"; for an answer a name such as "HTTPClientResponse".
    public let type: String
    /// The error's code within its type, such as "-1004" or "ECONNREFUSED"; nil if unknown.
    public let code: String?
    /// The HTTP status; nil if there is none.
    public let status: Int?
    /// The host that was called, with its port if known: "prices.example:8080".
    ///
    /// nil if unknown.
    public let host: String?
    /// The name of the policy that made the error; nil if none did.
    public let policy: String?

    /// Creates a description.
    ///
    /// - Parameters:
    ///   - type: The type of the error.
    ///   - code: The error's code within its type. nil, the default, if unknown.
    ///   - status: The HTTP status. nil, the default, if there is none.
    ///   - host: The host that was called, with its port. nil, the default, if unknown.
    ///   - policy: The name of the policy that made the error. nil, the default, if none did.
    public init(
        _ type: String, code: String? = nil, status: Int? = nil, host: String? = nil, policy: String? = nil
    ) {
        self.type = type.bounded(to: Self.longestPart)
        self.code = code?.bounded(to: Self.longestPart)
        self.status = status
        self.host = host?.bounded(to: Self.longestPart)
        self.policy = policy?.bounded(to: Self.longestPart)
    }

    /// Creates the description of any error.
    ///
    /// An error that is ``FailureDescribing`` describes itself. The description of any other error has its type and, if
    /// it is an enum, the name of the case, or else its integer raw value. It never has the error's text, which may
    /// contain anything.
    /// - Parameter error: The error.
    public init(of error: any Error) {
        if let error = error as? any FailureDescribing {
            self = error.failureDetail
        } else {
            self.init("\(Swift.type(of: error))", code: Self.code(of: error))
        }
    }

    /// Creates the description of a result that means failure; nil unless the result, or a part of a tuple, is
    /// ``FailureDescribing``.
    package init?(ofResult result: Any) {
        let result = (result as? any HeldResult)?.held ?? result
        if let result = result as? any FailureDescribing {
            self = result.failureDetail
            return
        }
        let mirror = Mirror(reflecting: result)
        guard mirror.displayStyle == .tuple else { return nil }
        for case let part as any FailureDescribing in mirror.children.map(\.value) {
            self = part.failureDetail
            return
        }
        return nil
    }

    private static func code(of error: any Error) -> String? {
        let mirror = Mirror(reflecting: error)
        if mirror.displayStyle == .enum {
            if let name = mirror.children.first?.label { return name }
            let hasText =
                error is any CustomStringConvertible || error is any CustomDebugStringConvertible
                || error is any TextOutputStreamable
            if !hasText { return "\(error)" }
        }
        guard let value = (error as? any RawRepresentable)?.rawValue as? any BinaryInteger else { return nil }
        return "\(value)"
    }

    /// This detail with a host, unless it has one.
    package func at(_ host: String?) -> FailureDetail {
        self.host == nil ? FailureDetail(type, code: code, status: status, host: host, policy: policy) : self
    }

    /// `HTTP 503 at prices.example:8080`; `NIOConnectionError ECONNREFUSED at 127.0.0.1:8083`; `BulkheadFull full
    /// (bulkhead)`.
    public var description: String {
        let what = status.map { "HTTP \($0)" } ?? ([type, code].compactMap { $0 }).joined(separator: " ")
        return "\(what)\(policy.map { " (\($0))" } ?? "")\(host.map { " at \($0)" } ?? "")".bounded(to: 200)
    }

    private static var longestPart: Int { 100 }
}

/// An error that describes itself, or a result that may mean failure and then describes the failure.
///
/// Logs and spans contain the description of a conforming type:
///
/// ```swift
/// extension StoreError: FailureDescribing {
///     var failureDetail: FailureDetail {
///         FailureDetail("StoreError", code: "\(number)")
///     }
/// }
/// ```
///
/// The description is made only if the call has an observer.
public protocol FailureDescribing {
    /// The failure, without a body, the value of a field, a query or credentials: logs keep it.
    var failureDetail: FailureDetail { get }
}

/// Holds a result, so that code can pass it on without knowing its type.
protocol HeldResult {
    var held: Any { get }
}

extension String {
    /// The text on one line, cut after a number of Unicode scalars.
    fileprivate func bounded(to limit: Int) -> String {
        if utf8.count <= limit, unicodeScalars.allSatisfy(\.isHarmless) { return self }
        var text = String.UnicodeScalarView()
        for (index, scalar) in unicodeScalars.prefix(limit + 1).enumerated() {
            text.append(index == limit ? "…" : scalar.isHarmless ? scalar : "_")
        }
        return String(text)
    }
}

extension Unicode.Scalar {
    /// Whether the scalar is harmless in a log: it does not control a terminal, end a line or change the text's
    /// direction.
    package var isHarmless: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: false
        default: true
        }
    }
}
