public import Resilience

/// A mutation's payload is not what its handler expects.
public struct UndecodablePayload: Error, Hashable, VerdictConvertible, CustomStringConvertible {
    /// The id of the mutation.
    public let id: String
    /// The kind of the mutation.
    public let kind: String
    /// The decoder's message.
    public let reason: String

    /// Creates the error.
    ///
    /// - Parameters:
    ///   - id: The id of the mutation.
    ///   - kind: The kind of the mutation.
    ///   - reason: The decoder's message.
    public init(id: String, kind: String, reason: String) {
        self.id = id
        self.kind = kind
        self.reason = reason
    }

    /// Permanent: the payload does not change.
    public var verdict: Verdict { .permanent }
    public var description: String { "The payload of mutation \"\(id)\" can't be decoded as \"\(kind)\": \(reason)" }
}

/// A batch handler returned too few results, or too many.
///
/// So it is unknown which mutations the other side has.
public struct BatchResultsMismatch: Error, Hashable, VerdictConvertible, CustomStringConvertible {
    /// The kind of the mutations.
    public let kind: String
    /// The number of mutations in the batch.
    public let mutations: Int
    /// The number of results that the handler returned.
    public let results: Int

    /// Creates the error.
    ///
    /// - Parameters:
    ///   - kind: The kind of the mutations.
    ///   - mutations: The number of mutations in the batch.
    ///   - results: The number of results that the handler returned.
    public init(kind: String, mutations: Int, results: Int) {
        self.kind = kind
        self.mutations = mutations
        self.results = results
    }

    /// Uncertain: the other side may have any of the mutations.
    public var verdict: Verdict { .uncertain }
    public var description: String {
        "The handler of \"\(kind)\" returned \(results) results for a batch of \(mutations) mutations."
    }
}

/// A mutation's kind has no handler.
struct NoHandler: Error, VerdictConvertible, CustomStringConvertible {
    let kind: String

    var verdict: Verdict { .permanent }
    var description: String { "No handler for \"\(kind)\"." }
}
