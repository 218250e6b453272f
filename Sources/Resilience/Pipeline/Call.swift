/// One call on its way through a pipeline: what a policy may know of it.
public struct Call: Sendable {
    /// Which attempt this is, from 1. Set by the innermost retry.
    public var attempt = 1

    /// When the whole call, as seen from here, must have ended. Set by timeouts on the way in.
    public var deadline = Instant.distantFuture

    @usableFromInline let core: PipelineCore
    @usableFromInline var reading: Instant?

    @usableFromInline init(_ core: PipelineCore) { self.core = core }

    /// The pipeline's name.
    public var name: String { core.name ?? "" }

    /// The time base of the pipeline.
    public var timeBase: any TimeBase { core.timeBase }

    /// The time, read once for each stretch between suspensions and shared by all policies.
    public var now: Instant {
        mutating get {
            if let reading { return reading }
            let now = core.timeBase.now
            reading = now
            return now
        }
    }

    /// Tells observers: the policy's own and the pipeline's. The event is made only if somebody listens.
    public mutating func emit(
        _ event: @autoclosure () -> any PolicyEvent, from policy: String, to observers: Observers? = nil
    ) {
        let own = observers.map { !$0.isEmpty } ?? false
        let outer = !core.observers.isEmpty
        guard own || outer else { return }
        let event = Event(policy: policy, pipeline: core.name, time: now, detail: event())
        if own { observers?.send(event) }
        if outer { core.observers.send(event) }
    }
}
