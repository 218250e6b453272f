import Foundation
import Resilience
import ResilienceSimulation
import TestSupport
import Testing

@Suite(.heavy) struct RecordedTrafficTests {
    private func temporary() -> URL {
        FileManager.default.temporaryDirectory.appending(path: "recording-\(UUID().uuidString).jsonl")
    }

    /// A run of a scenario, recorded.
    private func record(_ make: @escaping (SimulatedTimeBase) -> Pipeline) throws -> (Data, SimulationResult) {
        let url = temporary()
        defer { try? FileManager.default.removeItem(at: url) }
        let recorder = try TrafficRecorder(to: url)
        let result = try Scenario.trouble(.errors(share: 0.6), for: .seconds(20)).run(seed: 3) { timeBase in
            let pipeline = make(timeBase)
            pipeline.observers.add(recorder)
            return pipeline
        }
        recorder.flush()
        return (try Data(contentsOf: url), result)
    }

    private func orders(_ timeBase: SimulatedTimeBase, retries: Int) -> Pipeline {
        Pipeline("orders", timeBase: timeBase, isIdempotent: true) { Retry(maxRetries: retries) }
    }

    @Test("a recording that is played back to the same settings has the same calls, and nearly the same success")
    func same() throws {
        let (data, result) = try record { orders($0, retries: 0) }
        let traffic = try RecordedTraffic(reading: data)
        // What had not ended is not recorded.
        #expect(traffic.calls.count == result.calls && (0..<20).contains(result.attempts - traffic.attempts.count))
        #expect(traffic.calls.first.map { $0.begins == .zero } == true)
        let played = try traffic.run { orders($0, retries: 0) }
        #expect(played.calls == result.calls)
        #expect(abs(played.success - result.success) < 0.001)
        #expect(played == (try traffic.run { orders($0, retries: 0) }))
    }

    @Test("other settings would have done better, and a recording says so")
    func better() throws {
        let (data, result) = try record { orders($0, retries: 0) }
        let played = try RecordedTraffic(reading: data, of: "orders").run { orders($0, retries: 3) }
        #expect(result.success < 0.93)
        #expect(played.success > 0.97)
        #expect(played.requests > result.requests)
    }

    @Test("a cancelled attempt is not answered when it is played back")
    func cancelled() throws {
        let text = """
            {"kind":"attempt","pipeline":"a","at":0,"took":0.5,"outcome":"cancelled"}
            {"kind":"call","pipeline":"a","at":0,"took":0.5,"outcome":"uncertain"}

            """
        let played = try RecordedTraffic(reading: Data(text.utf8)).run { timeBase in
            Pipeline(timeBase: timeBase) { Timeout(limit: .seconds(2)) }
        }
        #expect(played.outcomes == [.uncertain: 1])
    }

    @Test(
        "a file that is not a recording is an error that names the line",
        arguments: [
            ("", 0, "no calls"), ("x\n", 1, "line 1"), ("{}\n", 1, "line 1"),
            (line(outcome: "fine") + "\n", 1, "line 1"), (line(at: "1e300") + "\n", 1, "line 1"),
            (line(took: "-1") + "\n", 1, "line 1"), (line() + "\n{}\n" + line() + "\n", 2, "line 2"),
            (line(kind: "attempt") + "\n", 0, "no calls, but of a"),
        ])
    func unreadable(text: String, number: Int, problem: String) {
        #expect { try RecordedTraffic(reading: Data(text.utf8)) } throws: { error in
            (error as? RecordedTraffic.Unreadable)?.line == number && "\(error)".contains(problem)
        }
    }

    @Test("a last line that was cut off is left out, and other pipelines' lines are")
    func cutOff() throws {
        let text = Self.line() + "\n" + Self.line(pipeline: "b") + "\n" + Self.line().dropLast(9)
        let traffic = try RecordedTraffic(reading: Data(text.utf8))
        #expect(traffic.calls.count == 2)
        #expect(try RecordedTraffic(reading: Data(text.utf8), of: "b").calls.count == 1)
        #expect { try RecordedTraffic(reading: Data(text.utf8), of: "c") } throws: {
            "\($0)" == "the recording has no calls of c, but of a, b"
        }
    }

    private static func line(
        kind: String = "call", pipeline: String = "a", at: String = "1", took: String = "0.1",
        outcome: String = "success"
    ) -> String {
        #"{"kind":"\#(kind)","pipeline":"\#(pipeline)","at":\#(at),"took":\#(took),"outcome":"\#(outcome)"}"#
    }
}
