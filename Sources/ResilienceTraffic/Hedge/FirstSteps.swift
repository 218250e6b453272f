/// Whether the first copy of a call may begin on its caller's thread, which is what makes it cheap.
///
/// A hedge that is due before that copy suspends for the first time begins in a task without the caller's task-local values:
/// the caller stands below the copy on the same stack. Now and then a thread is late for no reason of its own. But if it
/// happens again soon, since the operation blocks its thread, for example, the next calls begin their first copies on another
/// thread. Then one tries again.
struct FirstSteps: Sendable, Hashable {
    static let callsElsewhere = 1_000
    /// Two that are this close show that it is the operation.
    static let closeCalls = 100

    /// How many calls do not try it.
    private var elsewhere = 0
    /// How many calls have tried it since one was late.
    private var sinceLate = closeCalls

    /// A call begins that may have a hedge after a delay.
    mutating func mayBeHere() -> Bool {
        guard elsewhere == 0 else {
            elsewhere -= 1
            return false
        }
        if sinceLate < Self.closeCalls { sinceLate += 1 }
        return true
    }

    /// The first copy of such a call had not suspended when the hedge was due.
    mutating func wasLate() {
        if sinceLate < Self.closeCalls { elsewhere = Self.callsElsewhere }
        sinceLate = 0
    }
}
