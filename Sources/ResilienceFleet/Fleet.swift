public import Resilience

/// The processes that share limits, and this process's view of them.
///
/// ```swift
/// let engine = RedisEngine(host: "10.0.0.7", password: password)
/// let fleet = Fleet("shop", engine: engine)
/// let throttle = Throttle("payments", limit: .perSecond(100, burst: 20), in: fleet)
/// let page = try await throttle.run { try await client.pay(order) }
/// ```
///
/// All processes with a fleet of the same name, on the same engine, share each limit of the same name. The state is in
/// the engine; a call does not ask it, since this process holds permits on lease. If the engine is unavailable, each
/// process limits its calls alone: see ``FleetFallback``.
///
/// See <doc:FleetGuide>.
public final class Fleet: Sendable {
    /// The name, and the prefix of every key in the engine: use one for each tenant or environment.
    public let name: String
    /// How long permits are held on lease.
    ///
    /// After this time at most, other processes learn of a hold, and the permits of a dead process are free again.
    public let leaseTime: Duration
    /// How long a call to the engine may take before the engine counts as unavailable.
    public let engineLimit: Duration
    /// The number of processes to assume before the engine's first answer.
    public let expectedMembers: Int
    /// The time base of all measurements in the fleet.
    public let timeBase: any TimeBase
    /// The observers of the engine's failures and recoveries.
    public let observers: PolicyObservers
    /// This process's name in the engine: a random number, so that a restarted process is a new member.
    public let member: String

    private let engine: any ScriptEngine
    /// The pipeline of the calls to the engine: while the engine is unavailable, limits cost nothing, and a slow engine
    /// delays only the calls to it.
    private let guards: Pipeline
    private let patience: AbandoningTimeout
    private let state = Locked(State())

    /// The number of processes that use a limit, by the engine's answer.
    ///
    /// A restarted engine knows only the processes that have asked it. So a smaller number counts only after a while.
    struct KnownMembers: Sendable, Equatable {
        private(set) var count: Int?
        private var keptUntil = MonotonicInstant.distantPast

        mutating func learn(_ told: Int, lease: Duration, at now: MonotonicInstant) {
            if told >= count ?? 0 || keptUntil <= now { (count, keptUntil) = (told, now + lease * 100) }
        }
    }

    private struct State {
        var awaySince: MonotonicInstant?
        var members: Int?
        var links = 0
    }

    /// An event of a fleet.
    public enum Event: PolicyEventDetail, Equatable {
        /// The engine is unavailable: each process limits its calls alone.
        case away(reason: String)
        /// The engine answers again, after this time.
        case back(after: Duration)

        public var kind: String {
            switch self {
            case .away: "engineAway"
            case .back: "engineBack"
            }
        }

        public var severity: PolicyEventSeverity {
            switch self {
            case .away: .warning
            case .back: .notice
            }
        }

        public var fields: EventFields {
            switch self {
            case .away(let reason): ["reason": reason]
            case .back(let length): ["duration": length]
            }
        }

        public var description: String {
            switch self {
            case .away(let reason): "engine away → each process limits its calls alone: \(reason)"
            case .back(let length): "engine back after \(length.text) → limits are shared again"
            }
        }
    }

    /// Joins a fleet.
    ///
    /// The engine is asked when a limit is first used.
    ///
    /// - Parameters:
    ///   - name: The name, 1 to 100 bytes, the prefix of every key in the engine.
    ///   - engine: The engine that keeps the state.
    ///   - leaseTime: How long permits are held on lease, 10 ms to 60 s. With a longer lease, the engine gets fewer
    ///     calls.
    ///   - engineLimit: How long a call to the engine may take before the engine counts as unavailable, above 0 and
    ///     at most half of a lease: leased permits must not end before the answer comes. By default 50 ms, or half of a
    ///     shorter lease.
    ///   - expectedMembers: The number of processes to assume before the engine's first answer, 1 or more.
    ///   - timeBase: The time base; it must be the pipelines'.
    ///   - observers: The observers of the engine's failures and recoveries; nil for none at first.
    public init(
        _ name: String, engine: some ScriptEngine, leaseTime: Duration = .milliseconds(100),
        engineLimit: Duration? = nil, expectedMembers: Int = 1, timeBase: any TimeBase = .system,
        observers: PolicyObservers? = nil
    ) {
        let checks = SettingChecks("Fleet")
        self.name = checks.require(
            (1...100).contains(name.utf8.count), name, "name", "must have 1 to 100 bytes", else: "fleet")
        self.engine = engine
        self.leaseTime = checks.require(
            (.milliseconds(10) ... .seconds(60)).contains(leaseTime), leaseTime, "leaseTime",
            "must lie between 10 ms and 60 s", else: .milliseconds(100))
        let longest = self.leaseTime / 2
        let limit = engineLimit ?? min(.milliseconds(50), longest)
        self.engineLimit = checks.require(
            .zero < limit && limit <= longest, limit, "engineLimit", "must be above 0 and at most half of leaseTime",
            else: longest)
        self.expectedMembers = checks.atLeast(1, expectedMembers, "expectedMembers")
        self.timeBase = timeBase
        self.observers = observers ?? PolicyObservers()
        member = String(UInt64.random(in: .min ... .max), radix: 36)
        patience = AbandoningTimeout("\(name).engine", limit: self.engineLimit, timeBase: timeBase)
        guards = Pipeline("\(name).engine", timeBase: timeBase) {
            CircuitBreaker(
                "\(name).engine", tripping: .consecutiveFailures(3), openFor: .constant(.seconds(1)), timeBase: timeBase
            )
        }
    }

    /// Whether the last call to the engine failed.
    public var isAway: Bool { state.withLock { $0.awaySince != nil } }

    /// The number of processes that use this process's limits, by the engine's last answer; nil if there was none.
    public var members: Int? { state.withLock { $0.members } }

    /// A name in the engine for one policy of this process: two policies of the same name are two members.
    func makeMember() -> String {
        let number = state.withLock { state in
            state.links += 1
            return state.links
        }
        return "\(member)-\(number)"
    }

    /// The number of processes to divide a limit by.
    /// - Parameter known: The engine's last answer for this limit.
    func divisor(known: Int?) -> Int { max(known ?? members ?? 1, expectedMembers) }

    /// The longest time that a call waits to learn whether there are permits: for a call to the engine that is already
    /// in flight, and for a call of its own.
    var timeToKnow: Duration { engineLimit * 2 + .milliseconds(10) }

    /// The key of a piece of state: its kind with the version of its form, and its name. A long name is cut, and made
    /// unique by a hash.
    func key(_ kind: String, _ name: String) -> String {
        guard name.utf8.count > 200 else { return "\(self.name):\(kind):\(name)" }
        let start = String(decoding: name.utf8.prefix(150), as: UTF8.self)
        return "\(self.name):\(kind):\(start)#\(name.hash(0))\(name.hash(1))"
    }

    /// Runs a script, unless the engine has just been unavailable.
    /// - Parameter read: Reads the answer; nil if it is invalid.
    func run<R>(
        _ script: EngineScript, key: String, arguments: [String], reading read: ([Int64]) -> R?
    ) async throws -> R {
        do {
            let answer = try await guards.run { [patience, engine] in
                let words = try await patience.run {
                    try await engine.run(script, keys: [key], arguments: arguments)
                }
                guard let answer = read(words) else { throw UnreadableAnswer(script: script.name) }
                return answer
            }
            noteBack()
            return answer
        } catch {
            noteAway(error)
            throw error
        }
    }

    /// Tells the engine that a policy of this process is gone. If this fails, the policy's permits end with their
    /// lease.
    func leave(_ script: EngineScript, key: String, arguments: [String]) {
        guard !isAway else { return }
        Task { [patience, engine] in
            _ = try? await patience.run { try await engine.run(script, keys: [key], arguments: arguments) }
        }
    }

    private func noteAway(_ error: any Error) {
        let now = timeBase.now
        let isNew = state.withLock { state in
            defer { state.awaySince = state.awaySince ?? now }
            return state.awaySince == nil
        }
        if isNew { observers.send(event(.away(reason: "\(error)"), at: now)) }
    }

    private func noteBack() {
        let now = timeBase.now
        if let since = state.withLock({ $0.awaySince.take() }) {
            observers.send(event(.back(after: since.duration(to: now)), at: now))
        }
    }

    private func event(_ event: Event, at now: MonotonicInstant) -> PolicyEvent {
        PolicyEvent(policy: name, pipeline: nil, time: now, detail: event)
    }

    func note(members: Int) { state.withLock { $0.members = members } }
}

extension String {
    /// FNV-1a, from one of two bases.
    fileprivate func hash(_ base: UInt64) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325 ^ base
        for byte in utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        return String(hash, radix: 36)
    }
}
