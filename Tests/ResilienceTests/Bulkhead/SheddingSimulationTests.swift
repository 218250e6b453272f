import Foundation
import ResilienceSimulation
import TestSupport
import Testing

@testable import Resilience

/// A server with several workers behind a bulkhead, whose clients give up silently.
private final class SheddingServer {
    let workers = 10
    let serviceTime = 0.010
    let patience = Duration.milliseconds(250)
    /// The rate at which calls arrive, relative to the workers' capacity.
    let load: Double
    let priorities: [CallPriority]
    var machine: BulkheadStateMachine
    private let simulation: Simulation
    private var generator: SplitMix64
    /// When clients sent the waiting calls, by ticket.
    private var sent: [UInt64: MonotonicInstant] = [:]
    private var (shed, waited) = (0, Duration.zero)

    /// Answers that clients still waited for, relative to the workers' capacity, by priority.
    private(set) var goodput: [CallPriority: Double] = [:]

    init(
        load: Double, order: Bulkhead.Order = .firstInFirstOut, shedding: LoadShedding?,
        priorities: [CallPriority] = [.normal], seed: UInt64 = 1
    ) {
        self.load = load
        self.priorities = priorities
        machine = BulkheadStateMachine(limit: workers, queueLimit: 1_000, order: order, shedding: shedding)
        simulation = Simulation(seed: seed)
        generator = simulation.generator
    }

    /// In nanoseconds.
    var now: Int64 { simulation.now.nanoseconds }
    var total: Double { goodput.values.reduce(0, +) }
    /// The average wait of calls that were shed or displaced, in seconds.
    var lateness: Double { waited / .seconds(1) / Double(max(1, shed)) }

    func run(for seconds: Double) {
        arrive()
        simulation.run(for: .seconds(seconds))
        for priority in goodput.keys { goodput[priority, default: 0] /= seconds * Double(workers) / serviceTime }
    }

    private func after(mean: Double, _ action: @escaping () -> Void) {
        simulation.after(.seconds(-log(1 - Double.random(in: 0..<1, using: &generator)) * mean), action)
    }

    private func arrive() {
        let priority = priorities.randomElement(using: &generator) ?? .normal
        switch machine.arrive(priority: priority, at: now) {
        case .enter: begin(sent: simulation.now, priority)
        case .queue(let ticket, _): sent[ticket] = simulation.now
        case .reject, .tooLate: break
        }
        countShed()
        after(mean: serviceTime / Double(workers) / load) { [unowned self] in arrive() }
    }

    private func begin(sent: MonotonicInstant, _ priority: CallPriority) {
        after(mean: serviceTime) { [unowned self] in
            if sent.duration(to: simulation.now) <= patience { goodput[priority, default: 0] += 1 }
            if let next = machine.leave(at: now), let sent = self.sent.removeValue(forKey: next) {
                begin(sent: sent, BulkheadStateMachine.PriorityLine.priority(of: next))
            }
            countShed()
        }
    }

    private func countShed() {
        _ = machine.takeShed()
        for ticket in machine.removed.keys {
            _ = machine.learnsOfRemoval(ticket)
            shed += 1
            if let sent = sent.removeValue(forKey: ticket) { waited += sent.duration(to: simulation.now) }
        }
    }
}

@Suite(.heavy) struct SheddingSimulationTests {
    @Test(
        "under overload a plain queue answers few calls in time; with shedding, nearly all capacity is used",
        arguments: [2.0, 10])
    func goodput(load: Double) {
        let plain = SheddingServer(load: load, shedding: nil)
        let shedding = SheddingServer(load: load, shedding: LoadShedding())
        plain.run(for: 10)
        shedding.run(for: 10)
        print(
            """
            load \(load): answered in time, of what the workers can do: plain \(plain.total), shedding \(shedding.total); \
            those shed had waited \(shedding.lateness) s
            """)
        #expect(plain.total < 0.1)
        #expect(shedding.total > 0.95)
        #expect(shedding.lateness < 0.05)
    }

    @Test("without overload, with or without shedding, almost all calls are answered in time", arguments: [0.5, 0.8])
    func calm(load: Double) {
        for settings in [nil, LoadShedding()] {
            let server = SheddingServer(load: load, shedding: settings)
            server.run(for: 20)
            #expect(abs(server.total / load - 1) < 0.03, "\(server.total)")
        }
    }

    @Test("at a load of nearly the workers' capacity, shedding loses few answers")
    func edge() {
        let plain = SheddingServer(load: 0.98, shedding: nil)
        let shedding = SheddingServer(load: 0.98, shedding: LoadShedding())
        plain.run(for: 60)
        shedding.run(for: 60)
        print("load 0.98: plain \(plain.total), shedding \(shedding.total)")
        #expect(shedding.total > 0.9)
    }

    @Test("an overload ends once the queue is empty")
    func recovers() {
        let server = SheddingServer(load: 10, shedding: LoadShedding())
        server.run(for: 2)
        #expect(server.machine.isShedding)
        while server.machine.leave(at: server.now + 1_000_000_000) != nil {}
        #expect(!server.machine.isShedding && server.machine.queued == 0)
    }

    @Test("under overload each priority gets its share", arguments: [3.0, 10])
    func priorities(load: Double) {
        let server = SheddingServer(
            load: load, order: .byPriority, shedding: LoadShedding(), priorities: [.low, .normal, .high])
        server.run(for: 20)
        let shares = [CallPriority.high, .normal, .low].map { server.goodput[$0] ?? 0 }
        print("load \(load): high, normal, low answered in time: \(shares)")
        #expect(shares[0] > 0.7 && shares[1] > 0.08 && shares[2] > 0.01, "\(shares)")
        #expect(server.total > 0.95)
    }
}
