import Resilience
import ResilienceHTTP
import ResilienceTesting
import TestSupport
import Testing

@Suite struct OriginFieldsTests {
    @Test(
        "an urgency is read from a dictionary, whatever its other members",
        arguments: [
            ("u=0", 96), ("u=1", 64), ("u=2", 32), ("u=3", 0), ("u=4", -32), ("u=5", -64), ("u=6", -96), ("u=7", -128),
            ("u=1, i", 64), ("i,u=5", -64), ("i=?0, u=5;x=1;y, z=\"a,b\"", -64), ("u=1, u=5", -64), (" u=5 ", -64),
            ("a=(), u=5", -64), ("a=(x \"y, )\" 2;c;d=1  ?1);u=1, u=5", -64),
        ] as [(String, Int8)])
    func read(value: String, expected: Int8) {
        #expect(OriginFields.priority(value)?.rawValue == expected)
    }

    @Test(
        "a value without an urgency is ignored",
        arguments: [
            "", "u", "u=8", "u=-1", "u=1.0", "u=\"1\"", "U=1", "1", "u=1,", ",u=1", "u=1 i", "u=(1)", "u= 1", "u=1;",
            "u=?1", "u=5, a=(1;b=(2))", "u=5, a=(1", "u=5, a=(1,2)", "u=5, a=((1))", "u=5;a=(1)", "u=5, u=(1)", "high",
            "u=9999999999999999", "u=1, i=", "\0", "u=1, u=x",
        ])
    func garbage(value: String) {
        #expect(OriginFields.priority(value) == nil)
    }

    @Test("each priority is written as the nearest urgency, and normal is not written")
    func written() {
        for value in Int8.min...Int8.max {
            let priority = CallPriority(rawValue: value)
            let written = OriginFields.standard.values(priority: priority).first?.value
            let read = written.flatMap(OriginFields.priority) ?? .normal
            // 96 is the highest priority with an urgency.
            #expect(abs(Int(read.rawValue) - min(96, Int(value))) <= 16, "\(value): \(written ?? "none")")
        }
        #expect(OriginFields.standard.values(priority: .normal).isEmpty && OriginFields.standard.values().isEmpty)
        let both = OriginFields.standard.values(priority: .low, attempt: 2)
        #expect(both.map(\.name) == ["priority", "x-envoy-attempt-count"] && both.map(\.value) == ["u=5", "2"])
        #expect(OriginFields.standard.values(attempt: 1).isEmpty && OriginFields.standard.values(attempt: .min).isEmpty)
    }

    @Test("a client can lower its priority, and can raise it up to its limit")
    func bounded() {
        func origin(_ priority: String, atMost highest: CallPriority?) -> CallPriority? {
            OriginFields.standard.origin(atMost: highest) { $0 == "priority" ? priority : nil }.priority
        }
        #expect(origin("u=0", atMost: .normal) == .normal && origin("u=0", atMost: nil)?.rawValue == 96)
        #expect(origin("u=5", atMost: .normal) == .low && origin("x", atMost: .high) == nil)
        // The limit also applies to a client that names no priority.
        #expect(origin("u=3", atMost: .low) == .low && origin("x", atMost: .low) == .low)
    }

    @Test(
        "an attempt's number is read, and anything else counts as the first attempt",
        arguments: [
            ("1", 1), ("2", 2), (" 007 ", 7), ("0", 1), ("-3", 1), ("", 1), ("2, 3", 1), ("two", 1), ("1.5", 1),
            ("9223372036854775808", Int.max), (String(repeating: "9", count: 1_000), .max), ("٢", 1),
        ])
    func attempts(value: String, expected: Int) {
        #expect(OriginFields.standard.origin { $0 == "x-envoy-attempt-count" ? value : nil }.attempt == expected)
    }

    @Test("fields can have other names or be omitted, and a name that HTTP forbids is an error")
    func names() throws {
        let own = OriginFields(priority: nil, attempt: "X-Attempt")
        #expect(own.values(priority: .low, attempt: 3).map(\.name) == ["x-attempt"])
        #expect(own.origin { $0 == "x-attempt" ? "3" : nil }.attempt == 3)
        let error = #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked { OriginFields(priority: "a b", attempt: "") }
        }
        #expect(
            error?.problems.map(\.description) == [
                "OriginFields: priority is \"a b\", and must be the name of an HTTP field",
                "OriginFields: attempt is \"\", and must be the name of an HTTP field",
            ])
    }

    // MARK: Layers

    /// A service that answers each request with a request to the service behind it.
    private struct Layer: Sendable {
        let pipeline: Pipeline
        let tells: Bool
        let next: @Sendable ([String: String]) async -> (status: Int, fields: [String: String])

        func answer(_ fields: [String: String]) async -> (status: Int, fields: [String: String]) {
            let origin = tells ? OriginFields.standard.origin { fields[$0] } : CallOrigin()
            return await origin.run {
                do {
                    try await pipeline.run { attempt in
                        let told = OriginFields.standard.values(attempt: max(attempt.number, origin.attempt))
                        let request = Dictionary(uniqueKeysWithValues: tells ? told : [])
                        let (status, fields) = await next(request)
                        let verdict = Verdict(httpStatus: status, for: RequestSemantics(method: "GET")) { fields[$0] }
                        if verdict.kind != .success { throw HTTPStatusError(status: status, verdict: verdict) }
                    }
                    return (200, [:])
                } catch {
                    let answer = FailureResponse(upstream: CallFailure(error))
                    let fields = tells ? answer.fields.map { ($0.name.lowercased(), $0.value) } : []
                    return (answer.status, Dictionary(uniqueKeysWithValues: fields))
                }
            }
        }
    }

    @Test(
        "three layers with three retries make 64 requests from one; if they send each other the attempt's number, they make four"
    )
    func layers() async {
        for (tells, most) in [(false, 64), (true, 4)] {
            let count = Journal()
            let clock = ManualClock()
            func layer(before next: @escaping @Sendable ([String: String]) async -> (Int, [String: String])) -> Layer {
                let pipeline = Pipeline(timeBase: clock) { Retry(maxRetries: 3, backoff: .none) }
                return Layer(pipeline: pipeline, tells: tells, next: next)
            }
            let last = layer { _ in
                count.note("asked")
                return (500, [:])
            }
            let middle = layer { await last.answer($0) }
            let first = layer { await middle.answer($0) }
            let answer = await first.answer([:])
            #expect(answer.status == 502 && count.lines.count == most, "\(count.lines.count)")
        }
    }

    @Test("a service whose answer is lost is called again, and calls the service behind it once per further attempt")
    func lost() async {
        let count = Journal()
        let clock = ManualClock()
        let retrying = Pipeline(timeBase: clock) { Retry(maxRetries: 3, backoff: .none) }
        let last = Layer(
            pipeline: retrying, tells: true,
            next: { _ in
                count.note("asked")
                return (500, [:])
            })
        let first = Layer(
            pipeline: retrying, tells: true,
            next: { fields in
                _ = await last.answer(fields)
                // The answer is lost.
                return (502, [:])
            })
        _ = await first.answer([:])
        #expect(count.lines.count == 4 + 3)
    }
}
