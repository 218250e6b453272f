extension PolicySlot {
    /// The slot as a ``Retry`` reads and writes it.
    @inline(__always) var retry: RetrySlot {
        get { RetrySlot(self) }
        set { self = newValue.slot }
    }
}

/// A retry's part of a call's slot.
///
/// - First word, from its low end: 2 bits for the last withdrawal, 40 for the round (from 1), 22 for the number of
///   rejected rounds.
/// - Second word: the last delay; or, during a wait, the ``Notes`` that hold it.
/// - Third word: when the first attempt began, if `maxElapsed` is set.
struct RetrySlot {
    private(set) var slot: PolicySlot

    @inline(__always) init(_ slot: PolicySlot) { self.slot = slot }

    private static let round: UInt64 = 1 << 2
    private static let rejection: UInt64 = 1 << 42

    @inline(__always) static func beginRound(_ slot: inout PolicySlot) { slot.first &+= round }

    /// Whether this is the first round, with no withdrawal and no rejection.
    @inline(__always) static func isFirstRound(_ slot: PolicySlot) -> Bool { slot.first == round }

    var rounds: Int { Int(slot.first % Self.rejection / Self.round) }

    func attempt(_ options: RunOptions) -> Int { options.firstAttempt.saturatingAdding(rounds - 1) }

    var rejections: Int { Int(slot.first / Self.rejection) }

    mutating func noteRejection() {
        let (sum, overflow) = slot.first.addingReportingOverflow(Self.rejection)
        if !overflow { slot.first = sum }
    }

    var withdrawal: Withdrawal {
        get { Withdrawal(rawValue: UInt8(slot.first & 3)) ?? .none }
        set { slot.first = slot.first & ~3 | UInt64(newValue.rawValue) }
    }

    var began: MonotonicInstant {
        get { MonotonicInstant(word: slot.third) }
        set { slot.third = newValue.word }
    }

    /// The last delay of a call without notes, in nanoseconds.
    var previousDelay: Int64 {
        get { Int64(bitPattern: slot.second) }
        set { slot.second = UInt64(bitPattern: newValue) }
    }

    /// The state that does not fit into the slot: made for a failing call, if its errors are needed.
    ///
    /// The slot holds a reference to it only while the call waits for another round. The reference is released at the
    /// exit that follows, or when the round is abandoned; one of the two always comes.
    final class Notes {
        var history = RetryHistory()
        var previousDelay: Int64 = 0
    }

    mutating func keep(_ notes: Notes) {
        slot.second = UInt64(UInt(bitPattern: Unmanaged.passRetained(notes).toOpaque()))
    }

    mutating func takeNotes() -> Notes? {
        defer { slot.second = 0 }
        return UnsafeRawPointer(bitPattern: UInt(slot.second)).map { Unmanaged.fromOpaque($0).takeRetainedValue() }
    }
}
