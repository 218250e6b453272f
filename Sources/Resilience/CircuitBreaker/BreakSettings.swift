/// A break as what a file has of it.
indirect enum BreakSettings: Sendable, Hashable {
    case constant(ConstantBreak)
    case growing(GrowingBreak)
    case retryAfter(otherwise: BreakSettings, cap: Duration)
    case jittered(BreakSettings, share: Double)
    /// A break of another module, and its description.
    case foreign(String)

    init(_ length: any BreakDuration) {
        switch length {
        case let length as ConstantBreak: self = .constant(ConstantBreak(length: length.length.inNanoseconds))
        case let length as GrowingBreak:
            self = .growing(
                GrowingBreak(base: length.base.inNanoseconds, growth: length.growth, cap: length.cap.inNanoseconds))
        case let length as RetryAfterBreak:
            self = .retryAfter(otherwise: BreakSettings(length.otherwise), cap: length.cap.inNanoseconds)
        case let length as JitteredBreak:
            self = .jittered(BreakSettings(length.length), share: length.share)
        default: self = .foreign(length.description)
        }
    }

    var duration: any BreakDuration {
        switch self {
        case .constant(let length): length
        case .growing(let length): length
        case .retryAfter(let otherwise, let cap): RetryAfterBreak(otherwise: otherwise.duration, cap: cap)
        case .jittered(let plain, let share): JitteredBreak(length: plain.duration, share: share)
        // No policy is made with it: it is invalid.
        case .foreign: ConstantBreak(length: .seconds(60))
        }
    }
}

extension BreakSettings: SettingsGroup {
    private struct Parts: Sendable {
        /// How long the circuit stays open.
        var length = Duration.zero
        /// How long it stays open the first time.
        var base = Duration.seconds(30)
        /// How many times as long it stays open at most.
        var maxMultiplier = 10
        /// How long it stays open at most.
        var cap = Duration.seconds(300)
        /// The break that chance changes, or the one that holds if the other side names no wait.
        var inner = BreakSettings.constant(ConstantBreak(length: .zero))
        /// Up to which share of itself the break is made longer or shorter, by chance.
        var share = 0.2
        var foreign = ""
    }

    static let schema = SettingsSchema(
        "BreakDuration", standard: constant(ConstantBreak(length: .seconds(60))),
        kinds: [
            SettingVariant(
                "constant", standard: Parts(), [SettingField("lengthSeconds", \.length, .atLeast(0), need: .required)]
            ) {
                constant(ConstantBreak(length: $0.length))
            } values: {
                if case .constant(let own) = $0 { Parts(length: own.length) } else { nil }
            },
            SettingVariant(
                "exponential", standard: Parts(),
                [
                    SettingField("baseSeconds", \.base, .atLeast(0)),
                    SettingField("maxMultiplier", \.maxMultiplier, .atLeast(1)),
                    SettingField("capSeconds", \.cap, .atLeast(0)),
                ]
            ) {
                growing(
                    GrowingBreak(base: $0.base, growth: .exponential(maxMultiplier: $0.maxMultiplier), cap: $0.cap))
            } values: {
                guard case .growing(let own) = $0, case .exponential(let most) = own.growth else { return nil }
                return Parts(base: own.base, maxMultiplier: most, cap: own.cap)
            },
            SettingVariant(
                "linear", standard: Parts(),
                [
                    SettingField("baseSeconds", \.base, .atLeast(0)), SettingField("capSeconds", \.cap, .atLeast(0)),
                ]
            ) {
                growing(GrowingBreak(base: $0.base, growth: .linear, cap: $0.cap))
            } values: {
                guard case .growing(let own) = $0, own.growth == .linear else { return nil }
                return Parts(base: own.base, cap: own.cap)
            },
            SettingVariant(
                "retryAfter",
                standard: Parts(
                    cap: .seconds(3600),
                    inner: growing(
                        GrowingBreak(
                            base: .seconds(30), growth: .exponential(maxMultiplier: 10), cap: .seconds(300)))),
                [SettingField("otherwise", \.inner), SettingField("capSeconds", \.cap, .atLeast(0))]
            ) {
                retryAfter(otherwise: $0.inner, cap: $0.cap)
            } values: {
                if case .retryAfter(let otherwise, let cap) = $0 { Parts(cap: cap, inner: otherwise) } else { nil }
            },
            SettingVariant(
                "jittered", standard: Parts(),
                [
                    SettingField("break", \.inner, need: .required),
                    SettingField("jitterShare", \.share, .within(0, 1)),
                ]
            ) {
                jittered($0.inner, share: $0.share)
            } values: {
                if case .jittered(let plain, let share) = $0 { Parts(inner: plain, share: share) } else { nil }
            },
            .code(standard: Parts(), []) { _ in
                foreign("")
            } finish: {
                $1.note($0.foreign, "must be a break of this package")
            } values: {
                if case .foreign(let text) = $0 { Parts(foreign: text) } else { nil }
            },
        ])
}
