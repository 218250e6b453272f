/// What decides whether a request may be sent twice: its method, and whether it carries an idempotency key.
///
/// ```swift
/// RequestSemantics(method: "POST").isRepeatable                           // false
/// RequestSemantics(method: "POST", hasIdempotencyKey: true).isRepeatable  // true
/// ```
public struct RequestSemantics: Sendable, Hashable {
    /// As it is sent. Methods are case-sensitive (RFC 9110 §9.1): `get` is not `GET`, and is not known to be
    /// repeatable.
    public let method: String

    /// Whether the request carries an `Idempotency-Key`, or what the server takes for one, and carries the same one
    /// each time it is sent.
    public let hasIdempotencyKey: Bool

    public init(method: String, hasIdempotencyKey: Bool = false) {
        self.method = method
        self.hasIdempotencyKey = hasIdempotencyKey
    }

    /// Whether sending it twice has the effect of sending it once: an idempotent method (RFC 9110 §9.2.2), or a key.
    ///
    /// A method not known to be idempotent is taken not to be.
    public var isRepeatable: Bool {
        hasIdempotencyKey || Self.idempotentMethods.contains(method)
    }

    private static let idempotentMethods: Set = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]
}
