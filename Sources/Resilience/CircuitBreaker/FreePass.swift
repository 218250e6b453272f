import Synchronization

/// Lets a call enter, and report a success, without asking the circuit.
///
/// It is a copy of the circuit's last answer, written under the breaker's lock. It also counts successes that may be
/// batched, and the calls that may be batched when they begin. The circuit gets these counts before any other input, so
/// nothing arrives out of order.
struct FreePass: ~Copyable, Sendable {
    /// The generation in which calls are admitted, with the three bits of `Mark` around it; 0 if calls have to ask.
    private let admission = Atomic<UInt64>(0)
    /// The count since the circuit's last input; see ``CircuitTally``.
    private let tally = Atomic<UInt64>(0)
    /// In nanoseconds: the instant from which calls that begin may be counted.
    private let tallyBegins = Atomic<Int64>(.max)
    /// In nanoseconds: the instant before which calls that begin, and successes, may be counted.
    private let tallyEnds = Atomic<Int64>(.min)

    private enum Mark {
        /// A success changes nothing.
        static let unmoved: UInt64 = 1
        /// Successes may be counted at any time.
        static let timeless: UInt64 = 2
        /// Only calls within a stretch of time enter without asking, and each is counted.
        static let watched: UInt64 = 1 << 63
    }

    /// The generation for a call that enters without being counted; 0 if the call has to ask, or to be counted.
    var generation: UInt64 {
        let word = admission.load(ordering: .acquiring)
        return word < Mark.watched ? word >> 2 : 0
    }

    /// A call that entered with `generation`, without asking, has succeeded.
    /// - Returns: false if the circuit has to be told.
    @inline(__always) func succeeded(_ generation: UInt64, _ call: inout PolicyCall) -> Bool {
        let word = admission.load(ordering: .acquiring)
        guard word >> 2 == generation else { return false }
        if word & Mark.unmoved != 0 { return true }
        guard word & Mark.timeless != 0 || call.now.nanoseconds < tallyEnds.load(ordering: .relaxed) else {
            return false
        }
        return count(generation)
    }

    private static let most: UInt64 = 1 << 20

    @inline(__always) private func count(_ generation: UInt64) -> Bool {
        var word = tally.load(ordering: .relaxed)
        while word >> 32 == generation & 0xFFFF_FFFF, word & 0xFFFF_FFFF < Self.most {
            let (isDone, found) = tally.weakCompareExchange(
                expected: word, desired: word + 1, successOrdering: .releasing, failureOrdering: .relaxed)
            if isDone { return true }
            word = found
        }
        return false
    }

    // MARK: Calls that are watched

    /// A call begins at a circuit that watches calls.
    /// - Returns: The call's generation if the call has been counted; 0 if the call has to ask.
    func began(_ call: inout PolicyCall) -> UInt64 {
        countWatched(CircuitTally.oneBegun) { admission in
            admission >= Mark.watched && isInStretch(call.now) ? (admission & ~Mark.watched) >> 2 : 0
        }
    }

    /// A call that began at `began`, with no ticket, has succeeded.
    /// - Returns: false if the circuit has to be told.
    func succeeded(_ generation: UInt64, began: MonotonicInstant, _ call: inout PolicyCall) -> Bool {
        countWatched(CircuitTally.oneSucceeded) { admission in
            admission == Mark.watched | generation << 2 && isInStretch(began) && isInStretch(call.now) ? generation : 0
        } != 0
    }

    /// - Parameter check: Returns the generation from the admission word; 0 if the call must not be counted.
    @inline(__always) private func countWatched(_ one: UInt64, _ check: (UInt64) -> UInt64) -> UInt64 {
        while true {
            // The tally is loaded first. If a field that is checked below was written after that, the tally was also
            // written after that. It never returns to an earlier value, so the exchange fails. So all checked fields
            // belong to the tally that counts the call.
            let word = tally.load(ordering: .acquiring)
            let generation = check(admission.load(ordering: .acquiring))
            guard generation != 0, CircuitTally.hasRoom(for: one, word) else { return 0 }
            let isDone = tally.weakCompareExchange(
                expected: word, desired: word + one, successOrdering: .acquiringAndReleasing,
                failureOrdering: .relaxed
            ).exchanged
            if isDone { return generation }
        }
    }

    @inline(__always) private func isInStretch(_ instant: MonotonicInstant) -> Bool {
        tallyBegins.load(ordering: .acquiring) <= instant.nanoseconds
            && instant.nanoseconds < tallyEnds.load(ordering: .acquiring)
    }

    // MARK: Under the lock

    /// Returns the tally, and seals it: until ``update(_:)``, all other calls have to take the lock. Otherwise a call
    /// could be counted in between, and be lost.
    ///
    /// Call it under the lock, before any input of the circuit.
    func takeTally() -> CircuitTally { CircuitTally(tally.exchange(CircuitTally.sealed, ordering: .acquiring)) }

    /// The tally, without taking it. Call it under the lock.
    var presentTally: CircuitTally { CircuitTally(tally.load(ordering: .acquiring)) }

    /// Sets what calls may do from now on. Call it under the lock, after any input of the circuit.
    func update(_ circuit: borrowing Circuit) {
        let (generation, needs) = (circuit.generation, circuit.needs)
        var word = generation << 2
        if needs.contains(.calls), let stretch = circuit.tallyStretch {
            // See `countWatched`: these fields must not be visible before the tally is sealed, and the new tally comes
            // last.
            tallyBegins.store(stretch.lowerBound.nanoseconds, ordering: .releasing)
            tallyEnds.store(stretch.upperBound.nanoseconds, ordering: .releasing)
            admission.store(word | Mark.watched, ordering: .releasing)
            tally.store(CircuitTally.ofCalls(number: circuit.tallies), ordering: .releasing)
            return
        }
        tally.store(generation << 32, ordering: .relaxed)
        guard !needs.contains(.admissions) else { return admission.store(0, ordering: .releasing) }
        if !needs.contains(.successes) {
            word |= Mark.unmoved
        } else {
            let end = circuit.tallyEnds
            if end == .distantFuture { word |= Mark.timeless }
            tallyEnds.store(end.nanoseconds, ordering: .relaxed)
        }
        admission.store(word, ordering: .releasing)
    }
}

/// The calls counted without the lock.
///
/// It is kept in one word. For successes alone: the low half of the generation, and the number of successes. For
/// watched calls: the tally's number, a mark, and 15 bits each for the numbers of begun and of succeeded calls.
struct CircuitTally: Equatable {
    /// The number of calls begun; nil if calls are not watched.
    var began: Int?
    var succeeded: Int

    static let oneBegun: UInt64 = 1 << 16
    static let oneSucceeded: UInt64 = 1
    /// A full tally, whether of successes or of watched calls.
    static let sealed = UInt64.max
    private static let most: UInt64 = 0x7FFF
    private static let markOfCalls: UInt64 = 1 << 31

    static func ofCalls(number: UInt32) -> UInt64 { UInt64(number) << 32 | markOfCalls }

    /// - Parameter one: ``oneBegun`` or ``oneSucceeded``.
    static func hasRoom(for one: UInt64, _ word: UInt64) -> Bool { word & (one * most) != one * most }

    init(began: Int? = nil, succeeded: Int) { (self.began, self.succeeded) = (began, succeeded) }

    init(_ word: UInt64) {
        if word & Self.markOfCalls == 0 {
            self.init(succeeded: Int(word & 0xFFFF_FFFF))
        } else {
            self.init(began: Int(word >> 16 & Self.most), succeeded: Int(word & Self.most))
        }
    }
}
