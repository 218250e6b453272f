/// A break of this package, as what ``CircuitBreakerConfiguration`` reads and writes.
indirect enum BreakSettings: Sendable, Hashable {
    case constant(ConstantBreak)
    case growing(GrowingBreak)
    case retryAfter(otherwise: BreakSettings, cap: Duration)
    case jittered(BreakSettings, share: Double)

    /// - Returns: nil if it is a break of another module.
    init?(_ length: any BreakDuration) {
        switch length {
        case let length as ConstantBreak: self = .constant(ConstantBreak(length: length.length.inNanoseconds))
        case let length as GrowingBreak:
            self = .growing(
                GrowingBreak(base: length.base.inNanoseconds, growth: length.growth, cap: length.cap.inNanoseconds))
        case let length as RetryAfterBreak:
            guard let otherwise = BreakSettings(length.otherwise) else { return nil }
            self = .retryAfter(otherwise: otherwise, cap: length.cap.inNanoseconds)
        case let length as JitteredBreak:
            guard let plain = BreakSettings(length.length) else { return nil }
            self = .jittered(plain, share: length.share)
        default: return nil
        }
    }

    var duration: any BreakDuration {
        switch self {
        case .constant(let length): length
        case .growing(let length): length
        case .retryAfter(let otherwise, let cap): RetryAfterBreak(otherwise: otherwise.duration, cap: cap)
        case .jittered(let plain, let share): JitteredBreak(length: plain.duration, share: share)
        }
    }
}

extension BreakSettings: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case kind, maxMultiplier, otherwise, jitterShare
        case length = "lengthSeconds"
        case base = "baseSeconds"
        case cap = "capSeconds"
        case plain = "break"
    }

    private enum Kind: String, CaseIterable, Encodable {
        case constant, exponential, linear, retryAfter, jittered
    }

    init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "BreakDuration", by: CodingKeys.self) { reader in
            let kind: Kind = try reader.require(reader.choice(.kind), .kind)
            switch kind {
            case .constant:
                return .constant(.constant(reader.require(reader.duration(.length), .length, else: .zero)))
            case .exponential:
                let standard = GrowingBreak.exponential()
                guard case .exponential(let maxMultiplier) = standard.growth else { return .growing(standard) }
                return .growing(
                    .exponential(
                        from: reader.duration(.base) ?? standard.base,
                        maxMultiplier: reader.value(.maxMultiplier) ?? maxMultiplier,
                        cap: reader.duration(.cap) ?? standard.cap))
            case .linear:
                let standard = GrowingBreak.linear()
                return .growing(
                    .linear(
                        from: reader.duration(.base) ?? standard.base,
                        cap: reader.duration(.cap) ?? standard.cap))
            case .retryAfter:
                let standard = RetryAfterBreak.retryAfter()
                let otherwise: any BreakDuration =
                    reader.value(.otherwise, as: BreakSettings.self)?.duration ?? standard.otherwise
                let cap = reader.duration(.cap) ?? standard.cap
                func made(_ otherwise: some BreakDuration) -> RetryAfterBreak {
                    .retryAfter(otherwise: otherwise, cap: cap)
                }
                // Never nil: what is in it is of this package.
                return BreakSettings(made(otherwise))!
            case .jittered:
                let plain = reader.require(reader.value(.plain), .plain, else: BreakSettings.constant(.standard))
                let share: Double? = reader.value(.jitterShare)
                func made(_ plain: some BreakDuration) -> JitteredBreak {
                    share.map { plain.jittered(by: $0) } ?? plain.jittered()
                }
                return .jittered(plain, share: made(plain.duration).share)
            }
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .constant(let length):
            try container.encode(Kind.constant, forKey: .kind)
            try container.encode(length.length, forKey: .length)
        case .growing(let length):
            switch length.growth {
            case .linear:
                try container.encode(Kind.linear, forKey: .kind)
            case .exponential(let maxMultiplier):
                try container.encode(Kind.exponential, forKey: .kind)
                try container.encode(maxMultiplier, forKey: .maxMultiplier)
            }
            try container.encode(length.base, forKey: .base)
            try container.encode(length.cap, forKey: .cap)
        case .retryAfter(let otherwise, let cap):
            try container.encode(Kind.retryAfter, forKey: .kind)
            try container.encode(otherwise, forKey: .otherwise)
            try container.encode(cap, forKey: .cap)
        case .jittered(let plain, let share):
            try container.encode(Kind.jittered, forKey: .kind)
            try container.encode(plain, forKey: .plain)
            try container.encode(share, forKey: .jitterShare)
        }
    }
}
