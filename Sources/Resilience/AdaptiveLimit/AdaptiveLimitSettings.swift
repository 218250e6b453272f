/// An ``AdaptiveLimit`` as it stands in a file: all but the limit that it begins with.
///
/// What is left out has the default of the function of its kind.
struct AdaptiveLimitSettings: Codable {
    /// nil for a fixed limit. In a file it begins with the default, or the bound that is nearest to it.
    let limit: AdaptiveLimit?

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case kind, lowest, highest, tolerance, leastQueue, mostQueue, increase, decrease, verdicts
        case window = "windowSeconds"
        case slowAfter = "slowAfterSeconds"
    }

    private enum KindName: String, CaseIterable, Encodable {
        case gradient, vegas, aimd, fixed
    }

    init(limit: AdaptiveLimit?) { self.limit = limit }

    init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "AdaptiveLimit", by: CodingKeys.self) { reader in
            let kind: KindName = try reader.require(reader.choice(.kind), .kind)
            if kind == .fixed { return AdaptiveLimitSettings(limit: nil) }
            let standard = AdaptiveLimit.gradient()
            let checks = SettingChecks("AdaptiveLimit")
            let bounds = 1...AdaptiveLimit.highest
            let lowest = checks.within(bounds, reader.value(.lowest) ?? standard.range.lowerBound, "lowest")
            let highest = checks.within(bounds, reader.value(.highest) ?? standard.range.upperBound, "highest")
            let range = reader.range(lowest, highest, .highest) ?? standard.range
            let window = reader.duration(.window) ?? .nanoseconds(standard.window)
            let slowAfter = reader.duration(.slowAfter)
            let verdicts = reader.value(.verdicts) ?? standard.overload
            switch kind {
            case .fixed: return AdaptiveLimitSettings(limit: nil)
            case .gradient:
                return AdaptiveLimitSettings(
                    limit: .gradient(
                        in: range, tolerance: reader.value(.tolerance) ?? 0.1, window: window,
                        slowAfter: slowAfter, on: verdicts))
            case .vegas:
                let least = checks.within(0.01...0.9, reader.value(.leastQueue) ?? 0.03, "leastQueue")
                let most = checks.within(0.01...0.9, reader.value(.mostQueue) ?? 0.08, "mostQueue")
                let queue = reader.range(least, most, .mostQueue)
                return AdaptiveLimitSettings(
                    limit: .vegas(
                        in: range, queue: queue ?? 0.03...0.08, window: window, slowAfter: slowAfter,
                        on: verdicts))
            case .aimd:
                return AdaptiveLimitSettings(
                    limit: .aimd(
                        in: range, increase: reader.value(.increase) ?? 1,
                        decrease: reader.value(.decrease) ?? 0.9, window: window, slowAfter: slowAfter, on: verdicts))
            }
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        guard let limit else { return try container.encode(KindName.fixed, forKey: .kind) }
        switch limit.algorithm {
        case let gradient as GradientLimit:
            try container.encode(KindName.gradient, forKey: .kind)
            try container.encode(gradient.tolerance, forKey: .tolerance)
        case let vegas as VegasLimit:
            try container.encode(KindName.vegas, forKey: .kind)
            try container.encode(vegas.queue.lowerBound, forKey: .leastQueue)
            try container.encode(vegas.queue.upperBound, forKey: .mostQueue)
        case let aimd as AIMDLimit:
            try container.encode(KindName.aimd, forKey: .kind)
            try container.encode(aimd.increase, forKey: .increase)
            try container.encode(aimd.decrease, forKey: .decrease)
        default:
            throw EncodingError.invalidValue(
                limit, .init(codingPath: encoder.codingPath, debugDescription: "A limit of a custom algorithm is code.")
            )
        }
        try container.encode(limit.range.lowerBound, forKey: .lowest)
        try container.encode(limit.range.upperBound, forKey: .highest)
        try container.encode(Duration.nanoseconds(limit.window), forKey: .window)
        if limit.slowAfter < .max { try container.encode(Duration.nanoseconds(limit.slowAfter), forKey: .slowAfter) }
        try container.encode(limit.overload, forKey: .verdicts)
    }
}

extension AdaptiveLimit {
    /// The same limit, but for what it begins with.
    /// - Parameter initial: Within the range.
    func beginning(with initial: Int) -> AdaptiveLimit {
        AdaptiveLimit(
            initial: initial, range: range, algorithm: algorithm, window: window, slowAfter: slowAfter,
            overload: overload)
    }
}

extension SettingsReader {
    /// A range of two settings; nil, which is noted, if its ends are in the wrong order.
    mutating func range<Bound: Comparable>(_ lower: Bound, _ upper: Bound, _ key: Key) -> ClosedRange<Bound>? {
        if lower <= upper { return lower...upper }
        note(key, "\(upper)", "must be \(lower) or more, as the lower bound is")
        return nil
    }
}
