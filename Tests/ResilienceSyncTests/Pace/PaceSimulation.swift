import Resilience
import ResilienceSimulation
import Testing

@testable import ResilienceSync

/// Queues' paces, each with a part of a backlog, and one server.
struct PaceSimulation {
    struct Figures {
        var requests = 0
        var throttled = 0
        var time = Duration.zero
    }

    /// How the server's answers tell its quota.
    struct Quotas {
        let told: @Sendable (ServerQuota) -> ServerQuota
        /// Whether the pace is told which request a quota belongs to.
        var isAttributed = true
        /// One in this many answers has a quota.
        var tellsOneIn = 1
    }

    var server: any LimitedServer
    var retryAfter = RetryAfter.wholeSeconds
    /// Milliseconds.
    var latency = Int64(20)...80
    var maxInFlight = 8
    var senders = 1
    var quotas: Quotas?

    func run(_ mutations: Int, seed: UInt64, isPaced: Bool = true) -> Figures {
        let run = Run(self, mutations, seed: seed, isPaced: isPaced)
        for index in 0..<senders { run.send(index) }
        run.simulation.run(until: .distantFuture)
        if run.left > 0 { Issue.record("\(run.left) mutations are left after \(run.figures.requests) requests") }
        return run.figures
    }

    private struct Sender {
        var pace: SendPace
        var left: Int
        var inFlight = 0
        var wake: Simulation.Event?
        private var throttles = 0

        init(maxInFlight: Int, left: Int) {
            pace = SendPace(maxInFlight: maxInFlight)
            self.left = left
        }

        mutating func acknowledged(sentAt: MonotonicInstant, at now: MonotonicInstant) {
            (left, throttles) = (left - 1, 0)
            pace.acknowledged(sentAt: sentAt, at: now)
        }

        /// Like the queue's machine: later 429s of requests in flight with the first are ignored, and a useless named
        /// wait is not trusted again.
        mutating func throttled(sentAt: MonotonicInstant, named: Duration?, at now: MonotonicInstant) {
            var backoff: Duration?
            if pace.pausedUntil(at: now) == nil {
                if named == nil || throttles > 0 { backoff = .seconds(min(60, 1 << min(throttles, 10))) }
                throttles += 1
            }
            _ = pace.throttled(sentAt: sentAt, retryAfter: named, backoff: backoff, at: now)
        }
    }

    private struct Request {
        let number: Int
        let sender: Int
        let sentAt: MonotonicInstant
        let latency: Duration
    }

    private final class Run {
        let simulation: Simulation
        var left: Int
        var figures = Figures()
        private var server: any LimitedServer
        private var senders: [Sender]
        private let settings: PaceSimulation
        private let isPaced: Bool
        private let mostRequests: Int
        private let began: MonotonicInstant
        private var generator: SplitMix64

        init(_ settings: PaceSimulation, _ mutations: Int, seed: UInt64, isPaced: Bool) {
            simulation = Simulation(seed: seed)
            (self.settings, self.isPaced) = (settings, isPaced)
            (server, generator, began) = (settings.server, simulation.generator, simulation.now)
            let share = mutations / settings.senders
            left = share * settings.senders
            mostRequests = 20 * left
            senders = (0..<settings.senders).map { _ in Sender(maxInFlight: settings.maxInFlight, left: share) }
        }

        /// The server's time, which begins at zero.
        private var now: MonotonicInstant { MonotonicInstant(nanoseconds: 0) + began.duration(to: simulation.now) }

        func send(_ index: Int) {
            if let wake = senders[index].wake.take() { simulation.cancel(wake) }
            while senders[index].inFlight < senders[index].left, mayGo(index), figures.requests < mostRequests {
                senders[index].pace.sent(at: now, beside: senders[index].inFlight)
                senders[index].inFlight += 1
                figures.requests += 1
                let request = Request(
                    number: figures.requests, sender: index, sentAt: now,
                    latency: .milliseconds(Int64.random(in: settings.latency, using: &generator)))
                // A server that is busy with each request takes nearly all of the latency: the way to it is short.
                let way = server is ConcurrencyServer ? .milliseconds(1) : request.latency / 2
                simulation.after(way) { [self] in arrive(request, after: way) }
            }
        }

        private func mayGo(_ index: Int) -> Bool {
            guard isPaced else { return senders[index].inFlight < settings.maxInFlight }
            switch senders[index].pace.answer(at: now, inFlight: senders[index].inFlight) {
            case .now: return true
            case .afterAnEnd:
                #expect(senders[index].inFlight > 0)
                return false
            case .notBefore(let instant):
                #expect(instant > now)
                senders[index].wake = simulation.after(now.duration(to: instant)) { [self] in send(index) }
                return false
            }
        }

        private func arrive(_ request: Request, after way: Duration) {
            let isAdmitted = server.admits(at: now)
            let wait = isAdmitted ? nil : now.duration(to: server.nextAdmission(from: now))
            let quota = (server as? any QuotingServer)?.quota(at: now)
            // A 429 needs no work.
            simulation.after(isAdmitted ? request.latency - way : way) { [self] in
                if isAdmitted { server.answered(at: now) }
                end(request, wait, quota)
            }
        }

        /// - Parameter wait: The time until the next admission, for a request that was not admitted.
        private func end(_ request: Request, _ wait: Duration?, _ quota: ServerQuota?) {
            let index = request.sender
            senders[index].inFlight -= 1
            if let quotas = settings.quotas, let quota {
                if request.number.isMultiple(of: quotas.tellsOneIn) {
                    senders[index].pace.note(
                        quotas.told(quota), from: quotas.isAttributed ? request.number : nil, of: figures.requests,
                        at: now)
                } else {
                    senders[index].pace.endedUntold(at: now)
                }
            }
            if let wait {
                figures.throttled += 1
                senders[index].throttled(
                    sentAt: request.sentAt, named: settings.retryAfter.named(for: wait), at: now)
            } else {
                senders[index].acknowledged(sentAt: request.sentAt, at: now)
                left -= 1
                figures.time = began.duration(to: simulation.now)
            }
            // When all that ends now has ended.
            if let wake = senders[index].wake { simulation.cancel(wake) }
            senders[index].wake = simulation.after(.zero) { [self] in send(index) }
        }
    }
}
