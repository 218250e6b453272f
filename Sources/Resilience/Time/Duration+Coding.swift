// A status writes its durations as seconds. The compiler's code for `Codable` uses these overloads, because they fit
// better than the standard library's.

extension KeyedEncodingContainer {
    package mutating func encode(_ duration: Duration, forKey key: Key) throws {
        try encode(duration.writtenSeconds, forKey: key)
    }

    package mutating func encodeIfPresent(_ duration: Duration?, forKey key: Key) throws {
        try encodeIfPresent(duration?.writtenSeconds, forKey: key)
    }
}

extension KeyedDecodingContainer {
    package func decode(_: Duration.Type, forKey key: Key) throws -> Duration {
        try duration(decode(Double.self, forKey: key), key)
    }

    package func decodeIfPresent(_: Duration.Type, forKey key: Key) throws -> Duration? {
        try decodeIfPresent(Double.self, forKey: key).map { try duration($0, key) }
    }

    /// Rounds to the nearest nanosecond, and saturates at ±292 years.
    private func duration(_ seconds: Double, _ key: Key) throws -> Duration {
        guard !seconds.isNaN else {
            throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "not a number of seconds")
        }
        return Duration(readSeconds: seconds)
    }
}

extension Duration {
    /// - Parameter seconds: The number of seconds. NaN counts as 0; check for it before.
    package init(readSeconds seconds: Double) { self = .nanoseconds(Int64(saturating: seconds * 1e9)) }

    /// Computed from whole nanoseconds, so that only the division rounds: 2363 s are written as 2363, not
    /// 2363.0000000000005. A fraction of a nanosecond is rounded up, as in ``saturatedNanoseconds``, so that no
    /// positive duration is written as zero.
    package var writtenSeconds: Double {
        let (nanoseconds, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return Double(nanoseconds + (rest > 0 ? 1 : 0)) / 1e9
    }
}

/// The keys of a status that writes an unlimited number or an instant that never comes as null: not every reader has
/// 64-bit integers, and people would take the largest integer for a real number.
package protocol UnlimitedCodingKey: CodingKey {}

extension KeyedEncodingContainer where Key: UnlimitedCodingKey {
    package mutating func encode(_ number: Int, forKey key: Key) throws {
        if number == .max { try encodeNil(forKey: key) } else { try encode(Int64(number), forKey: key) }
    }

    package mutating func encodeIfPresent(_ instant: MonotonicInstant?, forKey key: Key) throws {
        guard let instant else { return }
        if instant == .distantFuture { try encodeNil(forKey: key) } else { try encode(instant, forKey: key) }
    }
}

extension KeyedDecodingContainer where Key: UnlimitedCodingKey {
    package func decode(_: Int.Type, forKey key: Key) throws -> Int {
        try decodeIfPresent(Int64.self, forKey: key).map { Int($0) } ?? .max
    }

    package func decodeIfPresent(_: MonotonicInstant.Type, forKey key: Key) throws -> MonotonicInstant? {
        guard contains(key) else { return nil }
        return try decodeNil(forKey: key) ? .distantFuture : decode(MonotonicInstant.self, forKey: key)
    }
}
