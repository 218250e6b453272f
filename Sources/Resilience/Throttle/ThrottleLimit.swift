/// The number of calls that a ``Throttle`` allows, and how it counts them.
///
/// A rate spreads the calls evenly and allows a burst after a pause. A sliding window is exact for any interval, and a
/// fixed window counts as many servers do. Without a limit, a throttle is a gate: it only holds calls.
///
/// ```swift
/// Throttle(limit: .perSecond(10, burst: 20))
/// Throttle(limit: .slidingWindow(100, per: .seconds(60)))
/// ```
public struct ThrottleLimit: SettingsGroup, CustomStringConvertible {
    package enum Kind: Sendable, Hashable {
        case unlimited
        case rate(ThrottleRate, burst: Int)
        case window(Int, per: Duration, Window)
    }

    package enum Window: Sendable, Hashable {
        case sliding
        /// `anchor`: an instant at which a window begins; nil if the first call begins a window.
        case fixed(anchor: MonotonicInstant?)
    }

    package let kind: Kind

    /// The largest cost that can be admitted at once.
    package var most: Int {
        switch kind {
        case .unlimited: .max
        case .rate(_, let burst): burst
        case .window(let calls, _, _): calls
        }
    }

    init(_ kind: Kind) { self.kind = kind }

    private init(_ calls: Int, per period: Duration, _ window: Window) {
        kind = .window(calls, per: period, window)
    }

    /// No limit: the throttle only holds calls.
    ///
    /// With `holdOnThrottled` a 429 holds all calls; ``Throttle/hold(for:)`` always does.
    public static let unlimited = ThrottleLimit(.unlimited)

    /// Calls at an even rate, in a token bucket (GCRA) that allows a burst after a pause.
    ///
    /// - Parameters:
    ///   - calls: The number of calls allowed per period in the long run; 1 or more.
    ///   - period: The time in which they may go; above zero.
    ///   - burst: The number of calls allowed at the same instant after a pause; 1 or more.
    public static func rate(_ calls: Int, per period: Duration, burst: Int = 1) -> ThrottleLimit {
        ThrottleLimit(.rate(ThrottleRate(calls, per: period), burst: burst)).valid()
    }

    /// Calls per second; see ``rate(_:per:burst:)``.
    ///
    /// - Parameters:
    ///   - calls: The number of calls allowed per second in the long run; 1 or more.
    ///   - burst: The number of calls allowed at the same instant after a pause; 1 or more.
    public static func perSecond(_ calls: Int, burst: Int = 1) -> ThrottleLimit {
        rate(calls, per: .seconds(1), burst: burst)
    }

    /// Calls per minute; see ``rate(_:per:burst:)``.
    ///
    /// - Parameters:
    ///   - calls: The number of calls allowed per minute in the long run; 1 or more.
    ///   - burst: The number of calls allowed at the same instant after a pause; 1 or more.
    public static func perMinute(_ calls: Int, burst: Int = 1) -> ThrottleLimit {
        rate(calls, per: .seconds(60), burst: burst)
    }

    /// Calls in **any** interval of this length, wherever it begins.
    ///
    /// One call may exceed it: the probe after a hold, which goes immediately.
    ///
    /// The throttle remembers the instant of each call: 8 bytes per call.
    /// - Parameters:
    ///   - calls: The most calls in any interval; 1 or more.
    ///   - period: The interval's length; above zero.
    public static func slidingWindow(_ calls: Int, per period: Duration) -> ThrottleLimit {
        ThrottleLimit(calls, per: period, .sliding).valid()
    }

    /// Calls in each of successive windows, for a server that counts calls in such windows.
    ///
    /// A window begins with the first call after the last window ended, as it does on servers that count from a
    /// client's first call. If the server's windows begin at other instants, up to twice as many calls may fall into
    /// one of its windows. Then pass an instant at which a window of the server begins, from its headers, or use
    /// ``slidingWindow(_:per:)``, which keeps the limit in every window.
    /// - Parameters:
    ///   - calls: The most calls in each window; 1 or more.
    ///   - period: The length of a window; above zero.
    ///   - anchor: An instant at which a window begins, on the throttle's time base; past or future.
    public static func fixedWindow(_ calls: Int, per period: Duration, from anchor: MonotonicInstant? = nil)
        -> ThrottleLimit
    {
        ThrottleLimit(calls, per: period, .fixed(anchor: anchor)).valid()
    }

    public var description: String {
        switch kind {
        case .unlimited: "no rate of its own"
        case .rate(let rate, let burst): "\(rate), burst \(burst)"
        case .window(let calls, let period, .sliding): "\(calls) in any \(period.text)"
        case .window(let calls, let period, .fixed): "\(calls) in each \(period.text)"
        }
    }

    /// Omits the anchor of a fixed window: that instant has no meaning in another process.
    public static let schema = SettingsSchema(
        "ThrottleLimit", standard: unlimited,
        kinds: [
            SettingVariant("unlimited", standard: (), []) {
                unlimited
            } values: {
                $0.kind == .unlimited ? () : nil
            },
            SettingVariant("rate", standard: Parts(), Parts.fields + [SettingField("burst", \.burst, .atLeast(1))]) {
                ThrottleLimit(.rate(ThrottleRate(valid: $0.calls, per: $0.period), burst: $0.burst))
            } values: {
                guard case .rate(let rate, let burst) = $0.kind else { return nil }
                return Parts(calls: rate.calls, period: rate.period, burst: burst)
            },
            window("slidingWindow") { $0 == .sliding },
            window("fixedWindow") { $0 == .fixed(anchor: nil) },
            window("") { $0 != .sliding && $0 != .fixed(anchor: nil) },
        ])

    private struct Parts: Sendable {
        /// How many calls may go in each period; 1 or more, required.
        var calls = 1
        /// The length of a period; above 0 s, required.
        var period = Duration.seconds(1)
        /// How many calls may go at the same instant after a pause; 1 or more, 1 by default.
        var burst = 1
        var window = Window.sliding

        static let fields: [SettingField<Parts>] = [
            SettingField("calls", \.calls, .atLeast(1), need: .required),
            SettingField("periodSeconds", \.period, .above(0), need: .required),
        ]
    }

    private static func window(
        _ name: String, isOwn: @escaping @Sendable (Window) -> Bool
    ) -> SettingVariant<ThrottleLimit> {
        SettingVariant(
            name, standard: Parts(window: name == "slidingWindow" ? .sliding : .fixed(anchor: nil)), Parts.fields
        ) {
            ThrottleLimit($0.calls, per: $0.period, $0.window)
        } values: {
            guard case .window(let calls, let period, let window) = $0.kind, isOwn(window) else { return nil }
            return Parts(calls: calls, period: period, window: window)
        }
    }
}
