import Foundation
import ResilienceSimulation
import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

/// A service of ten endpoints in simulated time. The first is bad for the whole simulation.
private struct Simulated: CustomStringConvertible {
    struct Case: Sendable {
        let choice: EndpointChoice
        /// The share of the bad endpoint's calls that fail.
        let failures: Double
        let ejection: OutlierEjection?
        var retries = 0
        /// How long the bad endpoint's failures take. Its successes, and the calls of other endpoints, take 20…60 ms.
        var failureTime: Duration = .milliseconds(40)
    }

    let calls: Int
    let failed: Int
    let ejections: Int

    var share: Double { Double(failed) / Double(calls) }

    var description: String {
        String(format: "%.3f %% of %d calls failed, %d ejections", share * 100, calls, ejections)
    }

    /// Sends 250 calls per second for ten minutes.
    init(_ scenario: Case, seed: UInt64) {
        let simulation = Simulation(seed: seed)
        var generator = simulation.generator
        var machine = EndpointPoolStateMachine(
            EndpointPoolStateMachine.Settings(
                choosing: scenario.choice, ejecting: scenario.ejection, slowStart: SlowStart(), panicThreshold: 0.5,
                failing: [.transient]),
            at: simulation.now)
        _ = machine.update(to: (0..<10).map { _ in (nil, 1) }, at: simulation.now, using: &generator)
        let bad = machine.members[0].id
        var (calls, failed, ejections) = (0, 0, 0)

        func begin(_ tried: TriedEndpoints, _ attempt: Int) {
            var tried = tried
            guard let pick = machine.choose(&tried, at: simulation.now, using: &generator).pick else { return }
            let fails = Double.random(in: 0..<1, using: &generator) < (pick.id == bad ? scenario.failures : 0.001)
            let time =
                pick.id == bad && fails
                ? scenario.failureTime : .milliseconds(Int.random(in: 20...60, using: &generator))
            simulation.after(time) {
                guard fails else { return machine.succeeded(pick) }
                let changes = machine.failed(pick, at: simulation.now, using: &generator)
                ejections += changes.count { if case .ejected = $0 { true } else { false } }
                if attempt <= scenario.retries { begin(tried, attempt + 1) } else { failed += 1 }
            }
        }

        simulation.every(.milliseconds(4)) {
            calls += 1
            begin(TriedEndpoints(), 1)
        }
        simulation.run(for: .seconds(600))
        (self.calls, self.failed, self.ejections) = (calls, failed, ejections)
    }
}

@Suite(.heavy) struct EndpointPoolSimulationTests {
    @Test(
        "with one bad endpoint of ten, ejection lowers the share of failed calls", arguments: EndpointChoice.allCases)
    func oneOfTen(choice: EndpointChoice) {
        let standard = OutlierEjection()
        func run(
            _ name: String, _ failures: Double, _ ejection: OutlierEjection?, retries: Int = 0,
            time: Duration = .milliseconds(40)
        ) -> Simulated {
            let simulated = Simulated(
                Simulated.Case(
                    choice: choice, failures: failures, ejection: ejection, retries: retries, failureTime: time),
                seed: 1)
            print("\(choice), \(name): \(simulated)")
            return simulated
        }
        // It fails always.
        let dead = run("dead, without ejection", 1, nil)
        let deadEjected = run("dead, with ejection", 1, standard)
        #expect((0.095...0.11).contains(dead.share))
        #expect(deadEjected.share < 0.002 && deadEjected.share * 50 < dead.share)
        // It fails at once, so it is always the least loaded.
        let quick = run("dead at once, without ejection", 1, nil, time: .milliseconds(1))
        let quickEjected = run("dead at once, with ejection", 1, standard, time: .milliseconds(1))
        #expect(choice == .roundRobin || quick.share > 0.14)
        #expect(quickEjected.share < 0.002)
        // It fails now and then: only comparison finds it.
        let ill = run("half of its calls fail, without ejection", 0.5, nil)
        let illEjected = run("half of its calls fail, with ejection", 0.5, standard)
        #expect((0.045...0.06).contains(ill.share))
        #expect(illEjected.share < 0.008)
        // With one retry, on another endpoint.
        let retried = run("dead, one retry, without ejection", 1, nil, retries: 1)
        let retriedEjected = run("dead, one retry, with ejection", 1, standard, retries: 1)
        #expect(retried.share < 0.001 && retriedEjected.share < 0.0001)
    }

    /// 24 calls per second to six endpoints, for an hour.
    /// - Returns: The share of failed calls, and the average number of ejected endpoints.
    private func hour(failing shares: [Double], ejecting ejection: OutlierEjection?) -> (
        failed: Double, ejected: Double
    ) {
        var generator = SeededGenerator(seed: 9)
        var now = MonotonicInstant(nanoseconds: 0)
        var machine = EndpointPoolStateMachine(
            EndpointPoolStateMachine.Settings(
                choosing: .leastLoaded, ejecting: ejection, slowStart: SlowStart(), panicThreshold: 0.5,
                failing: [.transient]),
            at: now)
        _ = machine.update(to: shares.map { _ in (nil, 1) }, at: now, using: &generator)
        var (failed, ejected, count) = (0, 0, 0)
        for number in 0..<86_400 {
            now = MonotonicInstant(nanoseconds: Int64(number) * 1_000_000_000 / 24)
            var tried = TriedEndpoints()
            guard let pick = machine.choose(&tried, at: now, using: &generator).pick else { continue }
            count += 1
            ejected += machine.members.count { $0.ejectedUntil != nil }
            if Double.random(in: 0..<1, using: &generator) < shares[pick.place] {
                failed += 1
                _ = machine.failed(pick, at: now, using: &generator)
            } else {
                machine.succeeded(pick)
            }
        }
        return (Double(failed) / Double(count), Double(ejected) / Double(count))
    }

    @Test(
        "with x % of one endpoint's calls failing for hours, ejection by deviation never increases failures (P59)",
        arguments: [0.01, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6])
    func lastingTrouble(share: Double) {
        let rule = OutlierEjection(
            deviation: OutlierEjection.Deviation(minimumCalls: 20), interval: .seconds(10), maxEjected: 0.34)
        let one = [share] + Array(repeating: 0, count: 5)
        let (without, with) = (hour(failing: one, ejecting: nil), hour(failing: one, ejecting: rule))
        print(
            "\(share * 100) % of one of six: \(without.failed) without ejection, \(with.failed) with, \(with.ejected) ejected"
        )
        #expect(with.failed <= without.failed * 1.1 + 0.0005)
        // All endpoints are alike: chance decides the ejections, and at most two endpoints are out.
        let all = hour(failing: Array(repeating: share, count: 6), ejecting: rule)
        print("\(share * 100) % of all: \(all.failed), \(all.ejected) ejected")
        #expect(abs(all.failed - share) < 0.02 && all.ejected <= 2)
    }
}
