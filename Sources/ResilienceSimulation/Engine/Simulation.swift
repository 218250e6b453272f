public import Resilience

/// A discrete-event simulation, in which pipelines run as they are.
///
/// Policies never suspend, so the objects that guard calls in production guard simulated calls too: without tasks, in
/// simulated time, and with the same result for the same seed.
///
/// ```swift
/// let simulation = Simulation(seed: 1)
/// let orders = try SimulatedPipeline(in: simulation) { timeBase in
///     Pipeline("orders", timeBase: timeBase, isIdempotent: true) {
///         Retry(maxRetries: 2)
///         CircuitBreaker(timeBase: timeBase)
///     }
/// }
/// simulation.every(.milliseconds(10)) {
///     orders.call { attempt in
///         simulation.after(.milliseconds(20)) { attempt.end(.success) }
///     }
/// }
/// simulation.run(for: .seconds(600))
/// ```
///
/// A simulation belongs to one thread. At one instant, alarms of policies come before events, and otherwise what was
/// scheduled first.
public final class Simulation {
    /// The clock: give it to the policies and pipelines of the simulation.
    public let timeBase: SimulatedTimeBase

    /// The source of all randomness: of the simulation, and of the policies that are made and used in it.
    public let generator: SplitMix64

    /// No access runs other code, so checks would find nothing.
    @exclusivity(unchecked) private var events = TimeQueue<Action>()

    /// See ``AlarmAction``.
    private struct Action {
        let run: () -> Void
    }
    private var isRunning = false
    /// How many completions of calls are running inside of one another.
    private var depth = 0
    /// Empty: memory for the calls that go on.
    private var woken: [SimulatedTimeBase.Woken] = []

    /// Creates a simulation that begins an hour after zero.
    ///
    /// - Parameter seed: The same seed gives the same run.
    public init(seed: UInt64 = 0) {
        timeBase = SimulatedTimeBase(at: MonotonicInstant(nanoseconds: 3_600_000_000_000))
        generator = SplitMix64(seed: seed)
    }

    /// The simulated time.
    public var now: MonotonicInstant { timeBase.now }

    /// An event that has not happened yet.
    public struct Event {
        let alarm: TimeBaseAlarm
    }

    /// Runs an action at an instant; now, if it has passed.
    ///
    /// - Parameters:
    ///   - instant: The instant.
    ///   - action: The action.
    /// - Returns: The event, for ``cancel(_:)``.
    @discardableResult
    public func at(_ instant: MonotonicInstant, _ action: @escaping () -> Void) -> Event {
        Event(alarm: events.insert(at: max(instant, now), Action(run: action)))
    }

    /// Runs an action after a time.
    ///
    /// - Parameters:
    ///   - duration: The time from now; 0 or less for now, after all that is due.
    ///   - action: The action.
    /// - Returns: The event, for ``cancel(_:)``.
    @discardableResult
    public func after(_ duration: Duration, _ action: @escaping () -> Void) -> Event {
        at(now + duration, action)
    }

    @discardableResult
    func after(nanoseconds: Int64, _ action: @escaping () -> Void) -> Event {
        at(MonotonicInstant(nanoseconds: now.nanoseconds.saturatingAdding(nanoseconds)), action)
    }

    /// Cancels an event; does nothing if it has happened.
    ///
    /// - Parameter event: The event.
    public func cancel(_ event: Event) { events.remove(event.alarm) }

    /// Runs an action again and again, first after one interval, for as long as the simulation runs.
    ///
    /// - Parameters:
    ///   - interval: The time between two runs of the action; above 0.
    ///   - action: The action.
    public func every(_ interval: Duration, _ action: @escaping () -> Void) {
        precondition(interval > .zero, "an interval must be above 0")
        after(interval) { [unowned self] in
            action()
            every(interval, action)
        }
    }

    /// Runs the simulation for a time.
    ///
    /// - Parameter duration: The simulated time.
    public func run(for duration: Duration) { run(until: now + duration) }

    /// Runs the simulation until an instant, with all that is due at it.
    ///
    /// What is scheduled later stays: run on, or ``clear()`` the simulation before you let go of it.
    ///
    /// - Parameter end: The instant. With ``/Resilience/MonotonicInstant/distantFuture``, it runs until nothing is
    ///   scheduled, and the time does not move beyond the last event.
    public func run(until end: MonotonicInstant) {
        prepare { while step(until: end) {} }
        if end != .distantFuture, end > now { timeBase.move(to: end) }
    }

    /// Runs code with the simulation's randomness, for policies that are made outside of ``run(until:)``.
    ///
    /// - Parameter body: The code.
    /// - Returns: Its result.
    /// - Throws: Its error.
    public func prepare<R>(_ body: () throws -> R) rethrows -> R {
        if isRunning { return try body() }
        isRunning = true
        defer { isRunning = false }
        return try SplitMix64.withShared(generator, body)
    }

    /// Runs a call's completion, which may make the next call: if many are inside of one another, as an event.
    func complete(_ completion: @escaping (SimulatedEnd) -> Void, with end: SimulatedEnd) {
        guard depth < 50 else {
            at(now) { completion(end) }
            return
        }
        depth += 1
        defer { depth -= 1 }
        completion(end)
    }

    /// Forgets all that is scheduled, and all calls that have not ended: they never do.
    ///
    /// What is scheduled holds the simulation. So call this when you let go of one in which something was still to
    /// happen.
    public func clear() {
        // What it lets go of may use the simulation, which is in order by then.
        _ = events.removeAll()
        var calls: [SimulatedTimeBase.Woken] = []
        timeBase.takeWoken(into: &calls)
    }

    private func step(until end: MonotonicInstant) -> Bool {
        if timeBase.someoneWoke {
            var calls: [SimulatedTimeBase.Woken] = []
            swap(&calls, &woken)
            timeBase.takeWoken(into: &calls)
            for waiting in calls { waiting.call.goOn(after: waiting.wake) }
            calls.removeAll(keepingCapacity: true)
            swap(&calls, &woken)
            return true
        }
        let (alarm, event) = (timeBase.earliest, events.earliest ?? .distantFuture)
        let next = min(alarm, event)
        guard next <= end, next != .distantFuture else { return false }
        if next > now { timeBase.move(to: next) }
        if alarm <= event {
            timeBase.fireEarliest()
        } else if let action = events.popDue(at: next) {
            action.run()
        }
        return true
    }
}
