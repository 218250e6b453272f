/// Whether the first copy of a call may begin on its caller's thread, which makes it cheap.
///
/// While it keeps that thread, the caller can begin no hedge. Now and then a thread is late for other reasons. But if
/// that happens twice within 100 calls, the operation blocks its thread, and the next 10 000 calls begin elsewhere.
struct FirstSteps: Sendable, Hashable {
    static let closeCalls = 100
    static let callsElsewhere = 10_000

    private var elsewhere = 0
    /// How many calls may begin until one that was late is forgotten.
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
