public import Resilience

/// A pipeline whose calls are simulated.
///
/// All policies work as they do in production. A pipeline can be simulated unless it has an around policy that needs a
/// task: ``NotSimulated`` tells which.
public struct SimulatedPipeline {
    /// The pipeline.
    public let pipeline: Pipeline
    /// The simulation.
    public let simulation: Simulation
    private let pool = SimulatedCall.Pool()

    /// Makes a pipeline for a simulation.
    ///
    /// - Parameters:
    ///   - simulation: The simulation.
    ///   - make: Makes the pipeline, with policies on the time base that it is given.
    /// - Throws: ``NotSimulated``, or the error of `make`.
    public init(in simulation: Simulation, _ make: (SimulatedTimeBase) throws -> Pipeline) throws {
        let pipeline = try simulation.prepare { try make(simulation.timeBase) }
        guard pipeline.timeBase === simulation.timeBase else {
            throw NotSimulated(pipeline: pipeline.name, problem: .timeBase)
        }
        if let element = SteppedCall.unsteppable(pipeline) {
            throw NotSimulated(pipeline: pipeline.name, problem: .needsTask(policy: element.name))
        }
        (self.pipeline, self.simulation) = (pipeline, simulation)
    }

    /// Makes a call.
    ///
    /// A `Hedge` of the pipeline makes copies, as in `runHedged`.
    ///
    /// - Parameters:
    ///   - options: Options of this call. A deadline is an instant of the simulation.
    ///   - operation: Begins an attempt. It must call ``SimulatedAttempt/end(_:)`` or ``SimulatedAttempt/fail(_:)``,
    ///     now or in a later event. If it has done neither at the attempt's deadline, the attempt is cancelled.
    ///   - completion: Called once, when the call has ended.
    public func call(
        options: RunOptions = RunOptions(), operation: @escaping (SimulatedAttempt) -> Void,
        completion: @escaping (SimulatedEnd) -> Void = { _ in }
    ) {
        simulation.prepare { pool.call(self, options, operation, completion).begin() }
    }
}

/// Why a pipeline can't be simulated.
public struct NotSimulated: Error, Hashable, CustomStringConvertible {
    enum Problem: Hashable {
        case timeBase
        case needsTask(policy: String)
    }

    /// The pipeline's name.
    public let pipeline: String
    let problem: Problem

    public var description: String {
        switch problem {
        case .timeBase:
            "\(pipeline): the pipeline is not on the simulation's clock; make it and its policies with the time base that the closure is given"
        case .needsTask(let policy): "\(pipeline): \"\(policy)\" needs a task, which a simulation does not have"
        }
    }
}

/// An attempt of a simulated call.
public struct SimulatedAttempt {
    /// The attempt's number, and its deadline.
    public let attempt: CallAttempt
    let call: SimulatedCall
    let number: Int

    /// Whether it has neither ended nor been cancelled.
    public var isRunning: Bool { call.isRunning(number) }

    /// Ends the attempt with a result that has this verdict.
    ///
    /// Does nothing if the attempt has ended.
    ///
    /// - Parameter verdict: What the result means: a response with status 503 is ``/Resilience/Verdict/transient``.
    public func end(_ verdict: Verdict) { call.returned(verdict, number) }

    /// Ends the attempt with an error.
    ///
    /// Does nothing if the attempt has ended.
    ///
    /// - Parameter error: The error.
    public func fail(_ error: any Error) { call.threw(error, number) }

    /// Runs an action if the attempt is cancelled.
    ///
    /// - Parameter action: The action. A second one replaces the first.
    public func onCancel(_ action: @escaping () -> Void) { call.onCancel(action, number) }
}

/// How a simulated call ended.
public struct SimulatedEnd {
    /// What its result or error means.
    public let verdict: Verdict
    /// nil if the operation's last result was returned, even if it means failure.
    public let error: (any Error)?
    /// How often the operation began.
    public let attempts: Int
    /// The time from the call's begin to its end.
    public let latency: Duration
}
