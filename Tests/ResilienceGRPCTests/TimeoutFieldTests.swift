#if GRPC
    import GRPCCore
    import Resilience
    @testable import ResilienceGRPC
    import ResilienceTesting
    import Testing

    @Suite struct TimeoutFieldTests {
        @Test(
            "a timeout of each unit is read",
            arguments: [
                ("1H", .seconds(3600)), ("2M", .seconds(120)), ("3S", .seconds(3)), ("4m", .milliseconds(4)),
                ("5u", .microseconds(5)), ("6n", .nanoseconds(6)), ("0n", .zero), ("00000001S", .seconds(1)),
                ("99999999S", .seconds(99_999_999)),
            ] as [(String, Duration)])
        func read(_ text: String, _ duration: Duration) { #expect(TimeoutField.duration(text) == duration) }

        @Test("a timeout longer than 292 years is ignored, and does not trap")
        func huge() {
            #expect(TimeoutField.duration("99999999H") == .infinite)
            #expect(CallDeadline(after: .infinite).instant == .distantFuture)
        }

        @Test(
            "an unreadable timeout is ignored",
            arguments: [
                "", "S", "1", "1s", "1h", "-1S", "+1S", " 1S", "1 S", "1S ", "1.5S", "123456789S", "0x1S", "٣S", "1SS",
                "1S\u{0}", "1S\u{301}", "é", "S1",
            ])
        func bad(_ text: String) { #expect(TimeoutField.duration(text) == nil) }

        @Test(
            "a timeout is written with at most seven digits, rounded up",
            arguments: [
                (.nanoseconds(1), "1n"), (.zero, "0n"), (.seconds(-5), "0n"), (.nanoseconds(9_999_999), "9999999n"),
                (.nanoseconds(10_000_000), "10000u"), (.nanoseconds(10_000_001), "10001u"), (.seconds(9), "9000000u"),
                (.seconds(30), "30000m"), (.seconds(10_000), "10000S"), (.seconds(Int64.max), "2562048H"),
            ] as [(Duration, String)])
        func written(_ duration: Duration, _ text: String) { #expect(TimeoutField.text(duration) == text) }

        @Test(
            "a written timeout reads back as the same time or a little more, and random bytes do not trap")
        func fuzz() {
            var random = SeededGenerator(seed: 14)
            let alphabet = Array("0123456789HMSmun-+. ".utf8)
            for _ in 0..<20_000 {
                let duration = Duration.nanoseconds(
                    Int64.random(in: 0...Int64.max, using: &random) >> Int64.random(in: 0...62, using: &random))
                let read = TimeoutField.duration(TimeoutField.text(duration))
                #expect(read.map { $0 >= duration } == true)
                let length = Int.random(in: 0...12, using: &random)
                let isAnything = Bool.random(using: &random)
                let bytes = (0..<length).map { _ in
                    isAnything
                        ? UInt8.random(in: .min ... .max, using: &random) : alphabet.randomElement(using: &random) ?? 0
                }
                let text = String(decoding: bytes, as: UTF8.self)
                if let duration = TimeoutField.duration(text) {
                    #expect(duration >= .zero && text.utf8.count <= 9)
                }
            }
        }
    }
#endif
