import Resilience
import ResilienceSimulation
import TestSupport
import Testing

/// The code of Docs/TestingSettings.md, and of the module's page.
@Suite(.heavy) struct TestingSettingsExamples {
    func orders(_ timeBase: any TimeBase = .system) -> Pipeline {
        Pipeline("orders", timeBase: timeBase, isIdempotent: true) {
            Retry(maxRetries: 2, budget: .ratio(0.1, timeBase: timeBase))
            CircuitBreaker(timeBase: timeBase)
            Bulkhead(limit: 50, timeBase: timeBase)
            Timeout(limit: .seconds(1))
        }
    }

    @Test("the page's budget of attempts holds in an outage of 30 s")
    func outage() throws {
        let result = try Scenario.outage(for: .seconds(30)).run { orders($0) }
        // What the service gets for each call, on the whole and in the worst second.
        #expect(result.amplification < 1.2)
        #expect(result.peakAmplification < 1.5)
        // Calls succeed again when the circuit's break of 60 s is over.
        #expect(try #require(result.timeToRecover) <= .seconds(70))
    }

    @Test("the page's service survives a brown-out and a surge")
    func service() throws {
        let service = ServiceModel(p50: .milliseconds(20), p99: .milliseconds(400), capacity: 200)
        let scenario = Scenario(
            service: service, load: .open(perSecond: 100), clients: 20,
            troubles: [
                Trouble(.brownOut(slower: 2), at: .seconds(30), for: .seconds(20)),
                Trouble(.surge(2), at: .seconds(40), for: .seconds(20)),
            ],
            length: .seconds(120))
        let result = try scenario.run(seed: 7) { orders($0) }
        #expect(result.amplification < 1.1)
        #expect(result.peakLoad < 2)
    }

    @Test("a call in a simulation of one's own ends with the attempt's verdict")
    func own() throws {
        let simulation = Simulation(seed: 1)
        let calls = try SimulatedPipeline(in: simulation) { orders($0) }
        var verdicts: [Verdict] = []
        calls.call { attempt in
            simulation.after(.milliseconds(30)) { attempt.end(.transient) }
        } completion: { end in
            verdicts.append(end.verdict)
        }
        simulation.run(for: .seconds(5))
        #expect(verdicts == [.transient])
    }
}
