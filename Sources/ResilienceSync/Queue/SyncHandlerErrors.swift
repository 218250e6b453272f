public import Resilience

/// A mutation's payload is not what its handler expects.
public struct UndecodablePayload: Error, Hashable, VerdictConvertible, CustomStringConvertible {
    public let id: String
    public let kind: String
    public let reason: String

    public init(id: String, kind: String, reason: String) {
        self.id = id
        self.kind = kind
        self.reason = reason
    }

    public var verdict: Verdict { .permanent }
    public var description: String { "The payload of mutation \"\(id)\" is no \"\(kind)\": \(reason)" }
}

/// A handler of batches gave too few results, or too many; so nobody knows which mutations the other side has.
public struct BatchResultsMismatch: Error, Hashable, VerdictConvertible, CustomStringConvertible {
    public let kind: String
    public let mutations: Int
    public let results: Int

    public init(kind: String, mutations: Int, results: Int) {
        self.kind = kind
        self.mutations = mutations
        self.results = results
    }

    public var verdict: Verdict { .uncertain }
    public var description: String {
        "The handler of \"\(kind)\" gave \(results) results for a batch of \(mutations) mutations."
    }
}

/// A mutation's kind has no handler.
struct NoHandler: Error, VerdictConvertible, CustomStringConvertible {
    let kind: String

    var verdict: Verdict { .permanent }
    var description: String { "No handler for \"\(kind)\"." }
}
