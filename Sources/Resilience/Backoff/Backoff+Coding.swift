/// `{"kind": "exponential", "baseSeconds": 0.05, "factor": 2, "capSeconds": 20, "jitter": "full"}`; `linear`;
/// `{"kind": "constant", "baseSeconds": 1}`; `{"kind": "sequence", "sequenceSeconds": [1, 5, 30], "atEnd": "stop"}`.
///
/// What is left out has the default of the function of this name. A custom backoff can't be encoded.
extension Backoff: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case kind, factor, atEnd, jitter, jitterShare
        case base = "baseSeconds"
        case cap = "capSeconds"
        case sequence = "sequenceSeconds"
    }

    private enum Kind: String, CaseIterable, Encodable {
        case constant, linear, exponential, sequence
    }

    fileprivate enum JitterKind: String, CaseIterable, Encodable {
        case none, full, equal, decorrelated, proportional
    }

    public init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "Backoff", by: CodingKeys.self) { reader in
            let kind: Kind = try reader.require(reader.choice(.kind), .kind)
            let jitter = Self.jitter(&reader)
            switch kind {
            case .constant:
                let delay = reader.require(reader.duration(.base), .base, else: .zero)
                return .constant(delay, jitter: jitter ?? Backoff.none.jitter)
            case .linear:
                let step = reader.require(reader.duration(.base), .base, else: .zero)
                let standard = Backoff.linear(.zero)
                return .linear(
                    step, cap: reader.duration(.cap) ?? .nanoseconds(standard.cap), jitter: jitter ?? standard.jitter)
            case .exponential:
                let standard = Backoff.exponential()
                guard case .exponential(let factor) = standard.growth else { return standard }
                return .exponential(
                    from: reader.duration(.base) ?? .nanoseconds(standard.base),
                    factor: reader.value(.factor) ?? factor,
                    cap: reader.duration(.cap) ?? .nanoseconds(standard.cap), jitter: jitter ?? standard.jitter)
            case .sequence:
                let delays = reader.require(reader.durations(.sequence), .sequence, else: [.zero])
                let end: SequenceEnd? = reader.choice(.atEnd)
                return .sequence(delays, atEnd: end ?? .repeatLast, jitter: jitter ?? Backoff.none.jitter)
            }
        }
    }

    private static func jitter(_ reader: inout SettingsReader<CodingKeys>) -> Jitter? {
        let kind: JitterKind? = reader.choice(.jitter)
        return switch kind {
        case .some(.none): Jitter.none
        case .full: .full
        case .equal: .equal
        case .decorrelated: .decorrelated
        case .proportional: .proportional(reader.require(reader.value(.jitterShare), .jitterShare, else: 0))
        case nil: nil
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        func encode(_ kind: Kind, base: Int64? = nil, cap: Int64? = nil) throws {
            try container.encode(kind, forKey: .kind)
            try container.encodeIfPresent(base.map { Duration.nanoseconds($0) }, forKey: .base)
            try container.encodeIfPresent(cap.map { Duration.nanoseconds($0) }, forKey: .cap)
        }
        switch growth {
        case .constant:
            try encode(.constant, base: base)
        case .linear:
            try encode(.linear, base: base, cap: cap)
        case .exponential(let factor):
            try encode(.exponential, base: base, cap: cap)
            try container.encode(factor, forKey: .factor)
        case .sequence(let delays, let end):
            try encode(.sequence)
            try container.encode(delays.map { Duration.nanoseconds($0).writtenSeconds }, forKey: .sequence)
            try container.encode(end, forKey: .atEnd)
        case .custom:
            throw EncodingError.invalidValue(
                self, .init(codingPath: encoder.codingPath, debugDescription: "A custom backoff is code."))
        }
        try container.encode(jitter.kind, forKey: .jitter)
        if case .proportional(let share) = jitter { try container.encode(share, forKey: .jitterShare) }
    }
}

extension Backoff.Jitter {
    fileprivate var kind: Backoff.JitterKind {
        switch self {
        case .none: .none
        case .full: .full
        case .equal: .equal
        case .decorrelated: .decorrelated
        case .proportional: .proportional
        }
    }
}
