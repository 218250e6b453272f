import Resilience
import ResilienceHTTP
import ResilienceTesting
import Testing

@Suite struct DeadlineFieldTests {
    // MARK: Reading

    @Test(
        "a number of milliseconds is read, with or without spaces around it",
        arguments: [
            ("0", .zero), ("1500", .milliseconds(1500)), ("007", .milliseconds(7)), (" 5\t", .milliseconds(5)),
        ] as [(String, Duration)])
    func milliseconds(value: String, expected: Duration) {
        #expect(DeadlineField.standard.remaining(value) == expected)
    }

    @Test(
        "a number too large for its type sets no deadline",
        arguments: ["9223372036855", "9223372036854775808", String(repeating: "9", count: 1000)])
    func huge(value: String) {
        #expect(DeadlineField.standard.remaining(value) == .nanoseconds(Int64.max))
        #expect(DeadlineField.standard.deadline { _ in value } == nil)
        #expect(CallDeadline(httpField: value)?.instant == .distantFuture)
    }

    @Test(
        "a value that is not a number of milliseconds is ignored",
        arguments: [
            "", " ", "-5", "+5", "1.5", "1e3", "0x10", "5ms", "100m", "100, 50", "100 50", "soon", "\0", "5\n", "٥",
            "∞",
        ])
    func garbage(value: String) {
        #expect(DeadlineField.standard.remaining(value) == nil)
        #expect(CallDeadline(httpField: value) == nil)
        #expect(DeadlineField.standard.deadline { _ in value } == nil)
    }

    @Test(
        "gRPC's form is read",
        arguments: [
            ("100m", .milliseconds(100)), ("1n", .nanoseconds(1)), ("250u", .microseconds(250)), ("30S", .seconds(30)),
            ("2M", .seconds(120)), ("1H", .seconds(3600)), ("99999999H", .nanoseconds(Int64.max)), ("0S", .zero),
            ("00000001S", .seconds(1)),
        ] as [(String, Duration)])
    func grpc(value: String, expected: Duration) {
        #expect(DeadlineField.grpc.remaining(value) == expected)
    }

    @Test(
        "a value outside gRPC's form is ignored",
        arguments: [
            "", "100", "m", "123456789n", "000000001S", "1s", "1h", "1SS", "-1S", "1.5S", "1 S", "1S, 2S", "1S\0",
        ])
    func noGRPC(value: String) {
        #expect(DeadlineField.grpc.remaining(value) == nil)
    }

    // MARK: Writing

    @Test(
        "a time is written rounded down",
        arguments: [
            (.milliseconds(1500), "1500", "1500000u"), (.nanoseconds(1_999_999), "1", "1999999n"),
            (.nanoseconds(999_999), "0", "999999n"), (.zero, "0", "0n"), (.seconds(-5), "0", "0n"),
            (Duration(secondsComponent: 0, attosecondsComponent: 1_999_999_999), "0", "1n"),
            (.seconds(100), "100000", "100000m"), (.nanoseconds(100_000_001), "100", "100000u"),
            (.nanoseconds(Int64.max - 1), "9223372036854", "2562047H"),
        ] as [(Duration, String, String)])
    func writing(time: Duration, milliseconds: String, grpc: String) {
        #expect(DeadlineField.standard.value(for: time) == milliseconds)
        #expect(DeadlineField.grpc.value(for: time) == grpc)
    }

    @Test("a missing deadline is not written", arguments: [.nanoseconds(Int64.max), .seconds(Int64.max)] as [Duration])
    func none(time: Duration) {
        #expect(DeadlineField.standard.value(for: time) == nil)
        #expect(DeadlineField.grpc.value(for: time) == nil)
        #expect(CallDeadline(at: .distantFuture).httpFieldValue() == nil)
    }

    // MARK: Deadlines

    @Test("sending a deadline over the wire never makes it later")
    func overTheWire() throws {
        let (client, server) = (ManualClock(), ManualClock(startingAt: MonotonicInstant(nanoseconds: 5)))
        let deadline = CallDeadline(after: .nanoseconds(1_500_999_999), on: client)
        client.advance(by: .milliseconds(250))
        let value = try #require(deadline.httpFieldValue())
        #expect(value == "1250")
        let arrived = try #require(CallDeadline(httpField: value, on: server))
        #expect(arrived.remaining == .milliseconds(1250))
        client.advance(by: .seconds(5))
        #expect(deadline.httpFieldValue() == "0")
        #expect(CallDeadline(httpField: nil) == nil)
    }

    @Test("a server's limit holds for clients that ask for more, and for clients that ask for nothing")
    func limit() {
        let clock = ManualClock()
        func remaining(_ value: String?, _ limit: Duration?) -> Duration? {
            DeadlineField.standard.deadline(atMost: limit, on: clock) { name in
                #expect(name == "x-envoy-expected-rq-timeout-ms")
                return value
            }?.remaining
        }
        #expect(remaining("5000", .seconds(2)) == .seconds(2))
        #expect(remaining("500", .seconds(2)) == .milliseconds(500))
        #expect(remaining(nil, .seconds(2)) == .seconds(2))
        #expect(remaining("soon", .seconds(2)) == .seconds(2))
        #expect(remaining("0", .seconds(2)) == .zero)
        #expect(remaining(nil, nil) == nil)
        #expect(remaining("99999999999999999999", .seconds(2)) == .seconds(2))
    }

    @Test("the name is in lower case, and must be a valid field name")
    func names() {
        #expect(DeadlineField("Connect-Timeout-Ms").name == "connect-timeout-ms")
        #expect("\(DeadlineField.grpc)" == "grpc-timeout")
        for name in ["", "a b", "a:", "a\r\nb", "ä", "a\0"] {
            #expect(throws: InvalidSettings.self, "\(name)") { try PolicySettings.checked { DeadlineField(name) } }
        }
    }
}
