/// Counts how the attempts and calls of one pipeline end: for metrics. No event is made for it.
public protocol CallMeter: Sendable {
    /// Counts the end of an attempt or of a call. May be called concurrently, and must not block.
    /// - Parameter end: The end, as the event tells it that other observers receive.
    func count(_ end: some PolicyEventDetail)
}

/// An observer with a meter for the calls of each pipeline that is made with it.
///
/// In place of the ends of attempts and calls, and of what happens in every call (`trace`), its meters are told. The pipelines'
/// other events it receives as any observer does, and all of them if it is added to a pipeline later.
public protocol MeteringObserver: PolicyObserver {
    /// Returns what counts the calls of a pipeline. Called when the pipeline is made.
    /// - Parameter pipeline: The pipeline's name.
    func meter(of pipeline: String) -> any CallMeter
}
