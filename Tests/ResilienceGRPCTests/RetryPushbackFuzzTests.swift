#if GRPC
    import GRPCCore
    import Resilience
    import ResilienceTesting
    import Testing

    @testable import ResilienceGRPC

    /// Compares the reader of `grpc-retry-pushback-ms` with a second, different reader, for values that a server may
    /// send.
    @Suite struct RetryPushbackFuzzTests {
        @Test("a random pushback is read by the rules of gRPC's design")
        func read() {
            var random = RandomPushbacks(seed: 15)
            var (waits, stops) = (0, 0)
            for _ in 0..<20_000 {
                let text = random.text()
                let expected = Self.milliseconds(text).map { RetryPushback.after(milliseconds: $0) } ?? .stop
                let read = RetryPushback(text: text)
                #expect(read == expected, "\(text.debugDescription)")
                let wait = Self.milliseconds(text).map { Duration.milliseconds($0) }
                #expect(read.wait == wait, "\(text.debugDescription)")
                if expected == .stop { stops += 1 } else { waits += 1 }
            }
            #expect(waits > 1_000 && stops > 1_000, "\(waits), \(stops)")
        }

        @Test("the first pushback is read from random metadata")
        func metadata() {
            var random = RandomPushbacks(seed: 16)
            for count in 0..<2_000 {
                let texts = (0..<count % 4).map { _ in random.text() }
                var metadata: Metadata = ["other": "7"]
                for text in texts { metadata.addString(text, forKey: "grpc-retry-pushback-ms") }
                #expect(RetryPushback(metadata) == texts.first.map { RetryPushback(text: $0) }, "\(texts)")
            }
        }

        @Test(
            "a random wait reads back from its text as the same pushback, never shorter than the wait, up to the longest"
        )
        func written() {
            var random = SeededGenerator(seed: 17)
            let longest = Duration.milliseconds(Int64(Int32.max))
            for _ in 0..<5_000 {
                let wait = Duration.nanoseconds(
                    Int64.random(in: .min ... .max, using: &random) >> Int64.random(in: 0...62, using: &random))
                let pushback = RetryPushback(wait)
                #expect(RetryPushback(text: pushback.text) == pushback, "\(wait)")
                let read = pushback.wait ?? .zero
                #expect(read >= min(wait, longest) && read <= longest, "\(wait)")
                let bound = max(Duration.zero, wait) + Duration.milliseconds(1)
                #expect(read < bound, "\(wait)")
            }
        }

        /// A number in ASCII digits, rounded up to whole milliseconds of 31 bits; otherwise nil, which asks not to
        /// repeat. Leading zeros, and surrounding spaces and tabs, change nothing.
        private static func milliseconds(_ text: String) -> Int32? {
            var bytes = Array(text.utf8)[...]
            while let byte = bytes.first, " \t".utf8.contains(byte) { bytes.removeFirst() }
            while let byte = bytes.last, " \t".utf8.contains(byte) { bytes.removeLast() }
            let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy("0123456789".utf8.contains) })
            else {
                return nil
            }
            // A number with too many digits exceeds 31 bits.
            let whole = Int64(String(decoding: parts[0], as: UTF8.self)) ?? .max
            let isFraction = parts.count == 2 && parts[1].contains { $0 != UInt8(ascii: "0") }
            return Int32(exactly: whole.saturatingAdding(isFraction ? 1 : 0))
        }
    }

    /// Random values of the field, from a seed.
    private struct RandomPushbacks {
        private var generator: SeededGenerator

        init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

        private mutating func pick<Value>(_ values: [Value]) -> Value {
            values[Int.random(in: 0..<values.count, using: &generator)]
        }

        /// A number in or out of range, perhaps with leading zeros or a change; or any bytes.
        mutating func text() -> String {
            var bytes: [UInt8]
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: bytes = Array("\(Int32.random(in: 0 ... .max, using: &generator))".utf8)
            case 1: bytes = Array("\(Int64(Int32.max) + Int64.random(in: -3...3, using: &generator))".utf8)
            case 2: bytes = Array("\(Int64.random(in: .min ... .max, using: &generator))".utf8)
            case 3:
                let count = Int.random(in: 0...14, using: &generator)
                bytes = (0..<count).map { _ in UInt8.random(in: 0x30...0x39, using: &generator) }
            default:
                let count = Int.random(in: 0...12, using: &generator)
                bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            }
            if pick([true, false, false]) {
                let count = Int.random(in: 1...12, using: &generator)
                bytes += [0x2e] + (0..<count).map { _ in UInt8.random(in: 0x30...0x39, using: &generator) }
            }
            let zeros = pick([0, 0, 0, 1, 20])
            bytes.insert(contentsOf: [UInt8](repeating: 0x30, count: zeros), at: 0)
            if pick([true, false, false]) {
                let index = Int.random(in: 0...bytes.count, using: &generator)
                let sign = pick(["-", "+", " ", ".", "e", "\t", "\0", "\u{663}", "\u{301}", "_"])
                bytes.insert(contentsOf: sign.utf8, at: index)
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
#endif
