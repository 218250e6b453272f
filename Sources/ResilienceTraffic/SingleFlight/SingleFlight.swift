public import Resilience

/// Runs an operation once for all concurrent calls with the same key, and gives each of them its result.
///
/// ```swift
/// let profiles = SingleFlight<User.ID, Profile>("profiles")
///
/// let profile = try await profiles.run(for: id) {
///     try await pipeline.run { try await client.profile(of: id) }
/// }
/// ```
///
/// The first call for a key begins a *flight*: it runs its operation in a task of its own. A call for the same key
/// joins the flight, and its own operation does not run. When the operation ends, all waiting calls get its result, and
/// the next call begins a new flight. Nothing is kept.
///
/// - A flight belongs to no call. A call that is cancelled, or whose deadline comes, leaves immediately, and the others
///   keep waiting. When the last call leaves, the operation is cancelled.
/// - The operation has the task-local values of the call that began the flight, but no ``/Resilience/CallDeadline``:
///   later calls may have more time. It has the highest priority of its calls so far, where the system can raise it
///   (Linux, macOS 26).
/// - The operation may outlive its calls, so it is `@Sendable`, runs outside the caller's actor, and its result is
///   `Sendable`. For the same reason this is not a policy of a pipeline: put it around a pipeline, as above.
///
/// The key must contain everything that the result depends on: the user, the language, the rights. It must equal
/// itself, as `Double.nan` does not, and its `==` and `hash(into:)` must not use the single flight.
///
/// See <doc:SingleFlightGuide>.
public final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: StatusReporting, CustomStringConvertible {
    /// The name in events.
    public let name: String
    /// How long a flight accepts calls after it begins; nil for the whole flight.
    public let joinWindow: Duration?
    /// Whether a call takes the error of a flight that began before the call.
    public let sharesErrors: Bool
    /// The observers of flights.
    public let observers: PolicyObservers
    @usableFromInline let timeBase: any TimeBase
    @usableFromInline let state: Locked<SingleFlightStateMachine<Key, Flight>>

    /// Creates a single flight.
    ///
    /// - Parameters:
    ///   - name: The name in events.
    ///   - joinWindow: How long a flight accepts calls after it begins; above 0. A later call begins a new flight. nil,
    ///     the default, for the whole flight.
    ///   - sharesErrors: Whether a call takes the error of a flight that began before the call. If not, the call asks
    ///     once more and takes that result. True by default.
    ///   - timeBase: The time base of deadlines and of the window.
    ///   - observers: The observers of flights; nil for none at first.
    public init(
        _ name: String = "singleFlight", joinWindow: Duration? = nil, sharesErrors: Bool = true,
        timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        self.name = name
        self.joinWindow = joinWindow.map { SettingChecks("SingleFlight").aboveZero($0, "joinWindow") }
        self.sharesErrors = sharesErrors
        self.timeBase = timeBase
        self.observers = observers ?? PolicyObservers()
        state = Locked(SingleFlightStateMachine(joinWindow: self.joinWindow))
    }

    /// Returns the result of the key's flight, which may begin with this call.
    ///
    /// A call that the flight's own operation makes does not join the flight, since the operation would wait for
    /// itself. Such a call begins a flight that no other call joins.
    /// - Parameters:
    ///   - key: The key.
    ///   - deadline: When this call must have ended; by default the ``/Resilience/CallDeadline`` that travels with the
    ///     task. The earlier of the two counts.
    ///   - operation: The work if no flight can be joined. It is cancelled, or never begins, once no call waits for it.
    /// - Returns: The result of the flight's operation.
    /// - Throws: The error of the flight's operation; `CancellationError` if the caller is cancelled;
    ///   ``/Resilience/TimedOut`` if the deadline comes; ``/Resilience/DeadlinePassed`` if it has passed before.
    @inlinable public nonisolated(nonsending) func run(
        for key: Key, deadline: MonotonicInstant = .distantFuture,
        _ operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let deadline = CallDeadline.earlier(deadline, on: timeBase)
        let began = timeBase.now
        try Task.checkCancellation()
        guard began < deadline || deadline == .distantFuture else { throw DeadlinePassed() }
        func timedOut(_ error: (any Error)?) -> TimedOut {
            TimedOut(policy: "deadline", limit: began.duration(to: deadline), underlying: error)
        }
        let (isFirst, first) = try await ask(key, at: began, until: deadline, operation)
        guard let first else { throw timedOut(nil) }
        guard case .failure(let error) = first, !isFirst else { return try first.get() }
        // If this call was not cancelled, the call that began the flight may have been cancelled.
        if sharesErrors, !(error is CancellationError), !(error is CancelledWhileWaiting) { throw error }
        try Task.checkCancellation()
        let now = timeBase.now
        guard now < deadline || deadline == .distantFuture,
            let second = try await ask(key, at: now, until: deadline, operation).result
        else { throw timedOut(error) }
        return try second.get()
    }

    /// Lets the next call for a key begin a new flight, for example after a write that the present flight may not have
    /// seen.
    ///
    /// Calls that wait for the present flight still get its result.
    ///
    /// - Parameter key: The key.
    public func forget(_ key: Key) { state.withLock { $0.forget(key) } }

    /// Lets the next call for each key begin a new flight: see ``forget(_:)``.
    public func forgetAll() { state.withLock { $0.forgetAll() } }

    public var presentTime: MonotonicInstant { timeBase.now }

    /// The number of flights, and of calls that wait for them.
    public var status: SingleFlightStatus { state.withLock { $0.status } }

    public var description: String {
        let window = joinWindow.map { " for up to \($0.text)" } ?? ""
        return "\(name): joins calls for the same key\(window)\(sharesErrors ? "" : ", errors not shared")"
    }

    /// Joins a flight, or begins one, and waits for its end.
    /// - Returns: Whether the flight began with this call, and its result; nil if the deadline came first.
    /// - Throws: `CancellationError` if the caller is cancelled.
    @inlinable nonisolated(nonsending) func ask(
        _ key: Key, at now: MonotonicInstant, until deadline: MonotonicInstant,
        _ operation: @escaping @Sendable () async throws -> Value
    ) async throws -> (isFirst: Bool, result: Result<Value, any Error>?) {
        let (priority, waiter) = (Task.currentPriority, PolicyWaiter())
        let joined = state.withLock {
            $0.join(
                key, at: now, ifAllowed: { !$0.isCurrent },
                make: { Flight(priority: priority, first: waiter) })
        }
        let (number, flight) = (joined.number, joined.payload)
        if observers.want(.trace) { tell(joined.isFirst ? .began : .joined(waiting: joined.waiting), at: now) }
        if joined.isFirst {
            // Not even the operation's first step runs on the caller's thread, because the step may block. The
            // operation also does not run on an executor that the caller's task prefers: the flight may outlive the
            // executor.
            if let executor = timeBase.taskExecutor {
                flight.keep(
                    Task(executorPreference: executor, priority: priority) { @concurrent [self] in
                        await fly(number, flight, operation)
                    })
            } else {
                // With a preference for nil, every call and return of the task would look up the preference, under a
                // lock.
                flight.keep(Task(priority: priority) { @concurrent [self] in await fly(number, flight, operation) })
            }
        } else {
            flight.add(waiter)
        }
        switch await flight.wait(by: waiter, until: deadline, on: timeBase) {
        // Only this single flight's `fly` ends its flights.
        case .landed(let landing): return (joined.isFirst, landing.map { ($0 as! FlightValue<Value>).value })
        case .expired:
            leave(number, flight)
            return (joined.isFirst, nil)
        case .cancelled:
            leave(number, flight)
            throw CancellationError()
        }
    }

    @inlinable nonisolated(nonsending) func fly(
        _ number: Int, _ flight: Flight, _ operation: @Sendable () async throws -> Value
    ) async {
        guard state.withLock({ $0.mayBegin(number) }) else { return }
        var landing: Flight.Landing?
        await flight.run {
            do {
                landing = .success(FlightValue(try await operation()))
            } catch {
                landing = .failure(error)
            }
        }
        let now = timeBase.now
        // This precedes the callers' results, so that no caller joins the flight again.
        switch state.withLock({ $0.ended(number, at: now) }) {
        case .awaited: flight.land(landing!)
        case .late(let delay): tell(.endedLate(by: delay), at: now)
        }
    }

    @usableFromInline func leave(_ number: Int, _ flight: Flight) {
        let now = timeBase.now
        // The result of `left` is released outside of the lock, since a key's deinit may be user code.
        guard let abandoned = state.withLock({ $0.left(number, at: now) }) else { return }
        tell(.abandoned(after: max(.zero, abandoned.began.duration(to: now))), at: now)
        flight.cancel(on: timeBase.taskExecutor)
    }

    @usableFromInline func tell(_ event: SingleFlightEvent, at time: MonotonicInstant) {
        observers.send(event, from: name, at: time)
    }
}
