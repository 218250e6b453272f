/// Counts how the attempts and calls of one pipeline end: for metrics.
///
/// No event is made for it.
public protocol CallMeter: Sendable {
    /// Counts the end of an attempt or of a call.
    ///
    /// May be called concurrently, and must not block.
    ///
    /// - Parameter end: The end: the event that other observers receive.
    func count(_ end: some PolicyEventDetail)
}

/// An observer with a meter for the calls of each pipeline that is made with it.
///
/// Its meters count the ends of attempts and calls, and it receives neither these events nor those of every call
/// (`trace`). It receives all other events. An observer that is added to a pipeline later has no meter there, and
/// receives all events.
public protocol MeteringObserver: PolicyObserver {
    /// Returns the meter for a pipeline's calls.
    ///
    /// Called when the pipeline is made.
    ///
    /// - Parameter pipeline: The pipeline's name.
    func meter(of pipeline: String) -> any CallMeter
}
