public import Resilience

/// Decides which flight a call joins, and whether calls still wait for it.
///
/// ```
/// joinable ── its key is forgotten, or the window is over ─▶ no longer joinable
///     both ── its operation ends ─▶ gone: its waiting calls have the result
///     both ── its last waiting call leaves ─▶ abandoned ── its operation ends ─▶ gone
/// ```
@usableFromInline struct SingleFlightStateMachine<Key: Hashable & Sendable, Payload: Sendable>: Sendable {
    /// A flight with waiting calls.
    @usableFromInline struct Flight: Sendable {
        @usableFromInline let key: Key
        @usableFromInline let payload: Payload
        @usableFromInline let began: MonotonicInstant
        @usableFromInline var waiting = 1

        @inlinable init(key: Key, payload: Payload, began: MonotonicInstant) {
            (self.key, self.payload, self.began) = (key, payload, began)
        }
    }

    @usableFromInline struct Joined: Sendable {
        @usableFromInline let number: Int
        @usableFromInline let payload: Payload
        /// Whether the flight begins with this call.
        @usableFromInline let isFirst: Bool
        /// The number of calls that wait for it now, including this one.
        @usableFromInline let waiting: Int

        @inlinable init(number: Int, payload: Payload, isFirst: Bool, waiting: Int) {
            (self.number, self.payload, self.isFirst, self.waiting) = (number, payload, isFirst, waiting)
        }
    }

    @usableFromInline enum End: Sendable {
        /// A call waits for the result.
        case awaited(Flight)
        /// The last waiting call left this long ago.
        case late(by: Duration)
    }

    /// How long a flight accepts calls after it begins; nil for the whole flight.
    @usableFromInline let joinWindow: Duration?
    /// The flights with waiting calls, by number.
    @usableFromInline var flights: [Int: Flight] = [:]
    /// Each key's flight that accepts calls. The key is the flight's own, so that no key is released here: its deinit
    /// may be user code.
    @usableFromInline var joinable: [Key: Int] = [:]
    /// When the flights that still run without a waiting call were abandoned, by number.
    @usableFromInline var abandoned: [Int: MonotonicInstant] = [:]
    @usableFromInline var waiting = 0
    @usableFromInline var next = 0

    /// - Parameter joinWindow: How long a flight accepts calls after it begins, above 0; nil for the whole flight.
    init(joinWindow: Duration?) { self.joinWindow = joinWindow }

    /// A call asks for a key, and waits.
    /// - Parameters:
    ///   - mayJoin: Whether the call may join this flight. If not, it begins a flight that no other call joins.
    ///   - make: Returns a new flight's payload.
    @inlinable mutating func join(
        _ key: Key, at now: MonotonicInstant, ifAllowed mayJoin: (Payload) -> Bool, make: () -> Payload
    ) -> Joined {
        waiting += 1
        var isAlone = false
        if let number = joinable[key], let flight = flights[number], isOpen(flight, at: now) {
            if mayJoin(flight.payload) {
                flights[number]?.waiting += 1
                return Joined(number: number, payload: flight.payload, isFirst: false, waiting: flight.waiting + 1)
            }
            isAlone = true
        }
        defer { next += 1 }
        let flight = Flight(key: key, payload: make(), began: now)
        flights[next] = flight
        if !isAlone {
            forget(key)
            joinable[key] = next
        }
        return Joined(number: next, payload: flight.payload, isFirst: true, waiting: 1)
    }

    @inlinable func isOpen(_ flight: Flight, at now: MonotonicInstant) -> Bool {
        joinWindow.map { now < flight.began + $0 } ?? true
    }

    /// Whether the operation of a flight may begin: not if no call waits for it any more.
    @inlinable mutating func mayBegin(_ number: Int) -> Bool {
        if flights[number] != nil { return true }
        abandoned[number] = nil
        return false
    }

    /// A call stopped waiting before the flight's end.
    /// - Returns: The flight, if no call waits for it any more: it is abandoned.
    mutating func left(_ number: Int, at now: MonotonicInstant) -> Flight? {
        guard let flight = flights[number] else { return nil }
        waiting -= 1
        guard flight.waiting == 1 else {
            flights[number]?.waiting -= 1
            return nil
        }
        abandoned[number] = now
        return remove(number)
    }

    /// The operation of a flight has ended. From now on no call joins it.
    @inlinable mutating func ended(_ number: Int, at now: MonotonicInstant) -> End {
        guard let flight = remove(number) else {
            let since = abandoned.removeValue(forKey: number) ?? now
            return .late(by: max(.zero, since.duration(to: now)))
        }
        waiting -= flight.waiting
        return .awaited(flight)
    }

    @inlinable mutating func remove(_ number: Int) -> Flight? {
        guard let flight = flights.removeValue(forKey: number) else { return nil }
        if let index = joinable.index(forKey: flight.key), joinable.values[index] == number {
            joinable.remove(at: index)
        }
        return flight
    }

    /// No further call joins the key's flight. Its waiting calls stay.
    @inlinable mutating func forget(_ key: Key) { joinable[key] = nil }

    /// No further call joins any of the present flights.
    mutating func forgetAll() { joinable = [:] }

    var status: SingleFlightStatus {
        SingleFlightStatus(flights: flights.count, waiting: waiting, abandoned: abandoned.count)
    }
}
