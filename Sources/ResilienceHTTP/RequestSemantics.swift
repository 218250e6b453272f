public import Resilience

/// Whether a request may be sent twice, by its method and its idempotency key.
///
/// ```swift
/// // false
/// RequestSemantics(method: "POST").isRepeatable
/// // true
/// RequestSemantics(method: "POST", hasIdempotencyKey: true).isRepeatable
/// ```
public struct RequestSemantics: Sendable, Hashable {
    /// The method as it is sent.
    ///
    /// Methods are case-sensitive (RFC 9110 §9.1): `get` is not `GET`, and is not known to be repeatable.
    public let method: String

    /// Whether the request carries an `Idempotency-Key`, or the server's equivalent, and carries the same key each time
    /// it is sent.
    public let hasIdempotencyKey: Bool

    /// Creates the semantics of a request.
    ///
    /// - Parameters:
    ///   - method: The method as it is sent; case-sensitive.
    ///   - hasIdempotencyKey: Whether the request carries the same idempotency key each time it is sent. False by
    ///     default.
    public init(method: String, hasIdempotencyKey: Bool = false) {
        self.method = method
        self.hasIdempotencyKey = hasIdempotencyKey
    }

    /// Whether sending the request twice has the effect of sending it once: its method is idempotent (RFC 9110 §9.2.2),
    /// or it carries a key.
    ///
    /// A method that is not known to be idempotent counts as not idempotent.
    public var isRepeatable: Bool {
        hasIdempotencyKey || Self.idempotentMethods.contains(method)
    }

    /// An unknown request: it counts as not repeatable.
    package static let unknown = RequestSemantics(method: "")

    private static let idempotentMethods: Set = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]
}

extension RunOptions {
    /// Creates options for a call that sends a request.
    ///
    /// After a failure that may have had an effect, the call is repeated only if the request is
    /// ``RequestSemantics/isRepeatable``.
    ///
    /// ```swift
    /// let get = RequestSemantics(method: "GET")
    /// let response = try await pipeline.run(
    ///     options: RunOptions(for: get), judging: { $0.verdict(for: get) }
    /// ) {
    ///     try await client.get(url)
    /// }
    /// ```
    ///
    /// So an error of the call is judged like its result, regardless of the pipeline. But in a pipeline with
    /// `isIdempotent: false`, a request that is not repeatable is never repeated. This package's clients do not need
    /// these options: they know their requests.
    /// - Parameter request: The request.
    public init(for request: RequestSemantics) {
        self.init()
        repetition = request.isRepeatable ? .harmless : .effectful
    }
}
