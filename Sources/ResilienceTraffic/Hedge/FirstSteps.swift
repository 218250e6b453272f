/// Whether the first copy of a call may begin on its caller's thread, which is cheap.
///
/// While the copy keeps that thread, the caller can't begin a hedge. A thread is sometimes late for other reasons. But
/// if two of 100 calls are late, the operation probably blocks its thread, and the next 10 000 calls begin on another
/// thread.
struct FirstSteps: Sendable, Hashable {
    static let closeCalls = 100
    static let callsElsewhere = 10_000

    private var elsewhere = 0
    /// The number of calls until a late call is forgotten.
    private var suspicion = 0

    /// A call begins that may have a hedge after a delay.
    mutating func mayBeHere() -> Bool {
        guard elsewhere == 0 else {
            elsewhere -= 1
            return false
        }
        suspicion = max(0, suspicion - 1)
        return true
    }

    /// The first copy of such a call kept the thread beyond the delay.
    mutating func wasLate() {
        if suspicion > 0 { elsewhere = Self.callsElsewhere }
        suspicion = Self.closeCalls
    }
}
