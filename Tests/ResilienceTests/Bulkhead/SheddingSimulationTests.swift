import Foundation
import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// A simulated server with several workers behind a bulkhead, whose clients give up silently.
private struct SheddingServer {
    let workers = 10
    let serviceTime = 0.010
    let patience = 0.250
    /// The rate at which calls arrive, relative to the workers' capacity.
    let load: Double
    let priorities: [CallPriority]
    var machine: BulkheadStateMachine
    private var generator: SeededGenerator
    /// When clients sent the running and waiting calls, by ticket.
    private var sent: [UInt64: Double] = [:]
    /// The running calls: when they end, when they were sent, and their priority.
    private var running: [(end: Double, sent: Double, priority: CallPriority)] = []

    /// Answers that clients still waited for, relative to the workers' capacity, by priority.
    private(set) var goodput: [CallPriority: Double] = [:]
    /// The average wait of calls that were shed or displaced.
    private(set) var lateness = 0.0

    init(
        load: Double, order: Bulkhead.Order = .firstInFirstOut, shedding: LoadShedding?,
        priorities: [CallPriority] = [.normal], seed: UInt64 = 1
    ) {
        self.load = load
        self.priorities = priorities
        machine = BulkheadStateMachine(limit: workers, queueLimit: 1_000, order: order, shedding: shedding)
        generator = SeededGenerator(seed: seed)
    }

    private mutating func exponential(_ mean: Double) -> Double {
        -log(1 - Double.random(in: 0..<1, using: &generator)) * mean
    }

    mutating func run(for seconds: Double) {
        var arrival = 0.0
        var (shed, waited) = (0, 0.0)
        while arrival < seconds {
            let done = running.indices.min { running[$0].end < running[$1].end }
            let now: Double
            if let done, running[done].end < arrival {
                let call = running.remove(at: done)
                now = call.end
                if now - call.sent <= patience { goodput[call.priority, default: 0] += 1 }
                if let next = machine.leave(at: Int64(now * 1e9)), let sent = sent.removeValue(forKey: next) {
                    begin(at: now, sent: sent, BulkheadStateMachine.PriorityLine.priority(of: next))
                }
            } else {
                now = arrival
                let priority = priorities.randomElement(using: &generator) ?? .normal
                switch machine.arrive(priority: priority, at: Int64(now * 1e9)) {
                case .enter: begin(at: now, sent: now, priority)
                case .queue(let ticket, _): sent[ticket] = now
                case .reject, .tooLate: break
                }
                arrival += exponential(serviceTime / Double(workers) / load)
            }
            _ = machine.takeShed()
            for ticket in machine.removed.keys {
                _ = machine.learnsOfRemoval(ticket)
                shed += 1
                waited += now - (sent.removeValue(forKey: ticket) ?? now)
            }
        }
        lateness = shed == 0 ? 0 : waited / Double(shed)
        for priority in goodput.keys { goodput[priority, default: 0] /= seconds * Double(workers) / serviceTime }
    }

    private mutating func begin(at now: Double, sent: Double, _ priority: CallPriority) {
        running.append((now + exponential(serviceTime), sent, priority))
    }

    var total: Double { goodput.values.reduce(0, +) }
}

@Suite(.heavy) struct SheddingSimulationTests {
    @Test(
        "under overload a plain queue answers few calls in time; with shedding, nearly all capacity is used",
        arguments: [2.0, 10])
    func goodput(load: Double) {
        var plain = SheddingServer(load: load, shedding: nil)
        var shedding = SheddingServer(load: load, shedding: LoadShedding())
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
            var server = SheddingServer(load: load, shedding: settings)
            server.run(for: 20)
            #expect(abs(server.total / load - 1) < 0.03, "\(server.total)")
        }
    }

    @Test("at a load of nearly the workers' capacity, shedding loses few answers")
    func edge() {
        var plain = SheddingServer(load: 0.98, shedding: nil)
        var shedding = SheddingServer(load: 0.98, shedding: LoadShedding())
        plain.run(for: 60)
        shedding.run(for: 60)
        print("load 0.98: plain \(plain.total), shedding \(shedding.total)")
        #expect(shedding.total > 0.9)
    }

    @Test("an overload ends once the queue is empty")
    func recovers() {
        var server = SheddingServer(load: 10, shedding: LoadShedding())
        server.run(for: 2)
        #expect(server.machine.isShedding)
        while server.machine.leave(at: 3_000_000_000) != nil {}
        #expect(!server.machine.isShedding && server.machine.queued == 0)
    }

    @Test("under overload each priority gets its share", arguments: [3.0, 10])
    func priorities(load: Double) {
        var server = SheddingServer(
            load: load, order: .byPriority, shedding: LoadShedding(), priorities: [.low, .normal, .high])
        server.run(for: 20)
        let shares = [CallPriority.high, .normal, .low].map { server.goodput[$0] ?? 0 }
        print("load \(load): high, normal, low answered in time: \(shares)")
        #expect(shares[0] > 0.7 && shares[1] > 0.08 && shares[2] > 0.01, "\(shares)")
        #expect(server.total > 0.95)
    }
}
