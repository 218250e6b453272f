public import Resilience

/// How long a ``Hedge`` waits for a copy of a call before it begins the next copy.
public struct HedgeDelay: SettingsGroup, CustomStringConvertible {
    enum Kind: Sendable, Hashable {
        /// In nanoseconds.
        case constant(Int64)
        /// `atLeast` is in nanoseconds.
        case percentile(Double, atLeast: Int64, minimumSamples: Int)
        case never
    }

    let kind: Kind

    /// A constant delay.
    ///
    /// - Parameter delay: The delay; 0 or more. With 0, all copies begin at once.
    public static func constant(_ delay: Duration) -> HedgeDelay {
        HedgeDelay(kind: .constant(delay.saturatedNanoseconds)).valid()
    }

    /// A percentile of the latencies of the latest 1000 successes, which the hedge measures: of 100 calls, about 5 take
    /// longer than percentile 0.95.
    ///
    /// The hedge measures how long the first copy of each call through `runHedged` took, if it succeeded. It does not
    /// measure failures, hedges, or calls whose caller was cancelled. If a hedge wins, the first copy counts with the
    /// time that it has taken so far, at least the delay. Otherwise each winning hedge would lower the percentile.
    ///
    /// With percentile 0.95, the delay is also at most twice the latency at percentile 0.9, four times the latency at
    /// 0.8, and so on. So it is shorter if more calls are slow than the percentile expects.
    /// - Parameters:
    ///   - share: The percentile as a share, 0.01…0.999. 0.95 by default.
    ///   - least: The shortest delay, so that fast calls make no hedges; 0 or more. 1 ms by default.
    ///   - minimumSamples: The number of latencies that must be known before a delay begins a hedge, 1…1000. 100 by
    ///     default.
    public static func percentile(
        _ share: Double = 0.95, atLeast least: Duration = .milliseconds(1), minimumSamples: Int = 100
    ) -> HedgeDelay {
        HedgeDelay(
            kind: .percentile(share, atLeast: least.saturatedNanoseconds, minimumSamples: minimumSamples)
        ).valid()
    }

    /// No hedge begins after a delay, only after a failure.
    public static let never = HedgeDelay(kind: .never)

    public var description: String {
        switch kind {
        case .constant(let delay): Duration.nanoseconds(delay).text
        case .percentile(let share, let least, let samples):
            "p\(Self.percent(share)) of at least \(samples) calls, at least \(Duration.nanoseconds(least).text)"
        case .never: "never"
        }
    }

    /// 95 for 0.95, 99.9 for 0.999.
    private static func percent(_ share: Double) -> String {
        let tenths = Int((share * 1_000).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }

    public static let schema = SettingsSchema(
        "HedgeDelay", standard: never,
        kinds: [
            SettingVariant(
                "constant", standard: Parts(), [SettingField("delaySeconds", \.delay, .atLeast(0), need: .required)]
            ) {
                HedgeDelay(kind: .constant($0.delay.saturatedNanoseconds))
            } values: {
                if case .constant(let delay) = $0.kind { Parts(delay: .nanoseconds(delay)) } else { nil }
            },
            SettingVariant(
                "percentile", standard: Parts(),
                [
                    SettingField("percentile", \.share, .within(0.01, 0.999)),
                    SettingField("atLeastSeconds", \.least, .atLeast(0)),
                    SettingField("minimumSamples", \.samples, .within(1, Double(LatencyWindow.capacity))),
                ]
            ) {
                HedgeDelay(
                    kind: .percentile($0.share, atLeast: $0.least.saturatedNanoseconds, minimumSamples: $0.samples))
            } values: {
                guard case .percentile(let share, let least, let samples) = $0.kind else { return nil }
                return Parts(share: share, least: .nanoseconds(least), samples: samples)
            },
            SettingVariant("never", standard: (), []) {
                never
            } values: {
                $0.kind == .never ? () : nil
            },
        ])

    private struct Parts: Sendable {
        /// The delay, 0 or more. With 0, all copies begin at once.
        var delay = Duration.zero
        /// The percentile of the latest latencies, as a share, 0.01…0.999; by default 0.95.
        var share = 0.95
        /// The shortest delay, so that fast calls make no hedges; 0 or more; by default 1 ms.
        var least = Duration.milliseconds(1)
        /// The number of latencies that must be known before a delay begins a hedge, 1…1000; by default 100.
        var samples = 100
    }
}
