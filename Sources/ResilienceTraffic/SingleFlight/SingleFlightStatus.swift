public import Resilience

/// The state of a ``SingleFlight`` at one moment.
public struct SingleFlightStatus: PolicyStatusDetail {
    /// The number of flights with waiting calls.
    ///
    /// A key may have two flights, if the earlier flight can no longer be joined.
    public let flights: Int
    /// The number of calls that wait for them.
    public let waiting: Int
    /// The number of operations that still run without a waiting call.
    ///
    /// If it keeps growing, they ignore their cancellation.
    public let abandoned: Int

    /// Creates a status, for tests and previews.
    ///
    /// - Parameters:
    ///   - flights: The number of flights with waiting calls.
    ///   - waiting: The number of calls that wait for them.
    ///   - abandoned: The number of operations that still run without a waiting call.
    public init(flights: Int, waiting: Int, abandoned: Int) {
        self.flights = flights
        self.waiting = waiting
        self.abandoned = abandoned
    }

    /// Always true: a single flight rejects no call.
    public var isAllowed: Bool { true }

    public static var kind: String { "singleFlight" }

    public func readings(at now: MonotonicInstant) -> [StatusReading] {
        [
            StatusReading("flights", "Loads and flights that somebody waits for.", title: "flights", flights),
            StatusReading("flights_waiting", "Calls that wait for a load or flight.", title: "waiting", waiting),
            StatusReading(
                "flights_abandoned", "Loads and flights that still run, but that no call awaits.",
                title: abandoned > 0 ? "abandoned" : nil, abandoned),
        ]
    }
}
