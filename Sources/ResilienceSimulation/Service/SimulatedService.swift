import Resilience

/// A service in a simulation: workers, a queue before them, limits, and troubles.
public final class SimulatedService {
    /// The shape of the service.
    public let model: ServiceModel

    private let simulation: Simulation
    private let began: MonotonicInstant
    private let troubles: [Trouble]
    private var limits: [Bucket?]
    private var ownLimit: Bucket?
    private var waiting = Line()

    /// How many requests are worked on.
    public private(set) var busy = 0
    /// How many requests wait for a worker.
    public var queued: Int { waiting.count - left }
    /// How many requests in the line have been cancelled, if the service notices that.
    private var left = 0
    /// How many requests have arrived.
    public private(set) var requests = 0
    /// How many requests were answered with status 429.
    public private(set) var throttledRequests = 0
    /// How many requests were served after their caller had given up.
    public private(set) var wasted = 0

    /// Makes a service.
    ///
    /// - Parameters:
    ///   - model: The shape of the service.
    ///   - troubles: What goes wrong, from now on.
    ///   - simulation: The simulation.
    public init(_ model: ServiceModel, troubles: [Trouble] = [], in simulation: Simulation) {
        for trouble in troubles { trouble.check() }
        (self.model, self.simulation, self.troubles) = (model, simulation, troubles)
        began = simulation.now
        ownLimit = model.rateLimit.map { Bucket($0, at: simulation.now) }
        limits = troubles.map { trouble in
            guard case .rateLimit(let rate, let burst) = trouble.kind else { return nil }
            return Bucket(
                ServiceModel.RateLimit(perSecond: rate, burst: burst), at: simulation.now + trouble.begins)
        }
        for trouble in troubles {
            // Workers that come back take what waits.
            simulation.after(trouble.ends) { [weak self] in self?.startWaiting() }
            guard case .slowStart = trouble.kind else { continue }
            for step in 1..<20 {
                simulation.after(trouble.begins + trouble.length / 20 * step) { [weak self] in self?.startWaiting() }
            }
        }
    }

    /// Answers an attempt, when the service has done the work.
    ///
    /// - Parameters:
    ///   - attempt: The attempt.
    ///   - caller: Where the caller is among all, from 0 to below 1: a ``Trouble/Kind/partition(clients:)`` cuts off
    ///     the first ones.
    public func serve(_ attempt: SimulatedAttempt, from caller: Double = 0) {
        let request = Request(attempt: attempt, caller: caller)
        if isCutOff(request) { return }
        let lost = model.loss > 0 && simulation.generator.unit() < model.loss
        if model.network.isNone { return arrive(request, isLost: lost) }
        // The way back is counted in, so that one event is enough.
        simulation.after(nanoseconds: model.network.nanoseconds(using: simulation.generator)) { [self] in
            arrive(request, isLost: lost)
        }
    }

    private func arrive(_ request: Request, isLost: Bool) {
        if isLost || isCutOff(request) { return }
        requests += 1
        if isDown { return request.attempt.end(.transient) }
        if let wait = throttled() {
            throttledRequests += 1
            return request.attempt.end(.throttled(retryAfter: wait))
        }
        if busy < workers { return start(request) }
        if queued >= model.queue { return request.attempt.end(.transient) }
        waiting.append(request)
        if model.noticesCancellation { request.attempt.onCancel { [self] in left += 1 } }
    }

    private func start(_ request: Request) {
        busy += 1
        let time = serviceTime()
        guard model.noticesCancellation else {
            simulation.after(nanoseconds: time) { [self] in finish(request) }
            return
        }
        let event = simulation.after(nanoseconds: time) { [self] in finish(request) }
        request.attempt.onCancel { [self] in
            simulation.cancel(event)
            busy -= 1
            startWaiting()
        }
    }

    private func finish(_ request: Request) {
        busy -= 1
        if !request.attempt.isRunning { wasted += 1 }
        let fails = failureShare > 0 && simulation.generator.unit() < failureShare
        if isCutOff(request) {
            // Its work is done, whatever becomes of it.
            request.attempt.onCancel {}
        } else {
            request.attempt.end(isDown ? .transient : fails ? .uncertain : .success)
        }
        startWaiting()
    }

    private func startWaiting() {
        while busy < workers, let next = model.servesLatestFirst ? waiting.popLast() : waiting.popFirst() {
            if model.noticesCancellation, !next.attempt.isRunning {
                left = max(0, left - 1)  // An attempt that someone else ended is not counted as having left.
                continue
            }
            start(next)
        }
    }

    // MARK: Troubles

    private var elapsed: Duration { began.duration(to: simulation.now) }

    private func isActive(where fits: (Trouble.Kind) -> Bool) -> Bool {
        if troubles.isEmpty { return false }
        let elapsed = elapsed
        return troubles.contains { $0.isActive(at: elapsed) && fits($0.kind) }
    }

    private func forEachActive(_ body: (Int, Trouble, Duration) -> Void) {
        if troubles.isEmpty { return }
        let elapsed = elapsed
        for (index, trouble) in troubles.enumerated() where trouble.isActive(at: elapsed) {
            body(index, trouble, elapsed)
        }
    }

    private var isDown: Bool { isActive { $0 == .outage } }

    private func isCutOff(_ request: Request) -> Bool {
        isActive { if case .partition(let clients) = $0 { request.caller < clients } else { false } }
    }

    private var workers: Int {
        guard let workers = model.workers else { return .max }
        var share = 1.0
        forEachActive { _, trouble, elapsed in
            switch trouble.kind {
            case .capacity(let left): share *= left
            case .slowStart(let first): share *= first + (1 - first) * ((elapsed - trouble.begins) / trouble.length)
            default: break
            }
        }
        return Int(Int64(saturating: (Double(workers) * share).rounded()))
    }

    private var failureShare: Double {
        var passing = 1 - model.failureShare
        forEachActive { _, trouble, _ in if case .errors(let share) = trouble.kind { passing *= 1 - share } }
        return 1 - passing
    }

    /// In nanoseconds.
    private func serviceTime() -> Int64 {
        let time = model.serviceTime.nanoseconds(using: simulation.generator)
        if troubles.isEmpty { return time }
        var factor = 1.0
        forEachActive { _, trouble, _ in
            switch trouble.kind {
            case .brownOut(let slower): factor *= slower
            case .stragglers(let share, let slower): if simulation.generator.unit() < share { factor *= slower }
            default: break
            }
        }
        return factor == 1 ? time : Int64(min(9e18, Double(time) * factor))
    }

    /// The time until a request would be served; nil if no rate limit is reached.
    private func throttled() -> Duration? {
        if let wait = ownLimit?.take(at: simulation.now) { return wait }
        var wait: Duration?
        forEachActive { index, _, _ in
            if wait == nil { wait = limits[index]?.take(at: simulation.now) }
        }
        return wait
    }

    /// A token bucket.
    private struct Bucket {
        let limit: ServiceModel.RateLimit
        var tokens: Double
        var filled: MonotonicInstant

        init(_ limit: ServiceModel.RateLimit, at now: MonotonicInstant) {
            (self.limit, tokens, filled) = (limit, Double(limit.burst), now)
        }

        /// - Returns: nil if a request is served, else the time until the next one would be.
        mutating func take(at now: MonotonicInstant) -> Duration? {
            tokens = min(Double(limit.burst), tokens + limit.perSecond * (filled.duration(to: now) / .seconds(1)))
            filled = now
            guard tokens < 1 else {
                tokens -= 1
                return nil
            }
            return .seconds(min(1e9, (1 - tokens) / limit.perSecond))
        }
    }

    private struct Request {
        let attempt: SimulatedAttempt
        let caller: Double
    }

    /// The waiting requests.
    private struct Line {
        private var requests: [Request?] = []
        private var first = 0

        var count: Int { requests.count - first }

        mutating func append(_ request: Request) { requests.append(request) }

        mutating func popLast() -> Request? { count > 0 ? requests.removeLast() : nil }

        mutating func popFirst() -> Request? {
            guard count > 0 else { return nil }
            let request = requests[first].take()
            first += 1
            if first > 64, first * 2 > requests.count {
                requests.removeFirst(first)
                first = 0
            }
            return request
        }
    }
}
