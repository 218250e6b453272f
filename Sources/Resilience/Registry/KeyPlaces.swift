/// The places of keys' entries in an array: a hash table with slots of four bytes.
///
/// A `Dictionary` would hold keys and entries itself, with a quarter to two thirds of its room empty. Here only slots
/// are empty, and a lookup touches two places of memory: the slot and the entry.
@usableFromInline struct KeyPlaces: Sendable {
    /// Each slot has the place of an entry plus one, or 0 for no entry. The count of slots is a power of two, or 0. A
    /// key's number is at the slot of its hash, or behind that slot with no empty slot in between.
    @usableFromInline var slots: [UInt32] = []

    /// The smallest number of slots, if there are any.
    private static let fewest = 8

    @usableFromInline init() {}

    /// Returns the place of a key; nil if it has none.
    /// - Parameter isOwner: Whether the entry at a place is the key's.
    @inlinable @inline(__always) func place(hash: Int, isOwner: (Int) -> Bool) -> Int? {
        guard !slots.isEmpty else { return nil }
        let mask = slots.count - 1
        var slot = hash & mask
        while case let number = slots[slot], number != 0 {
            let place = Int(number) - 1
            if isOwner(place) { return place }
            slot = (slot + 1) & mask
        }
        return nil
    }

    /// Adds the entry at the end of the array.
    /// - Parameters:
    ///   - count: The number of entries, including that entry.
    ///   - hash: Returns the hash of the key at a place.
    mutating func append(count: Int, hash: (Int) -> Int) {
        // At least a quarter of the slots is empty, so that few keys are far behind their slots.
        guard count * 4 > slots.count * 3 else { return put(count - 1, hash: hash(count - 1)) }
        slots = Array(repeating: 0, count: max(Self.fewest, slots.count * 2))
        for place in 0..<count { put(place, hash: hash(place)) }
    }

    private mutating func put(_ place: Int, hash: Int) {
        let mask = slots.count - 1
        var slot = hash & mask
        while slots[slot] != 0 { slot = (slot + 1) & mask }
        slots[slot] = UInt32(place + 1)
    }

    /// Removes the entry at a place; the last entry of the array then takes that place.
    /// - Parameters:
    ///   - count: The number of entries, including that entry.
    ///   - hash: Returns the hash of the key at a place, before the array changes.
    mutating func remove(_ place: Int, count: Int, hash: (Int) -> Int) {
        let empty = slot(of: place, hash: hash(place))
        if place != count - 1 { slots[slot(of: count - 1, hash: hash(count - 1))] = UInt32(place + 1) }
        close(empty) { hash($0 == place ? count - 1 : $0) }
    }

    private func slot(of place: Int, hash: Int) -> Int {
        let mask = slots.count - 1
        var slot = hash & mask
        while slots[slot] != UInt32(place + 1) {
            // Never nil: some slot has the place. It is not found here only if the key's hash has changed, which is not
            // allowed.
            if slots[slot] == 0 { return slots.firstIndex(of: UInt32(place + 1))! }
            slot = (slot + 1) & mask
        }
        return slot
    }

    /// Empties a slot, and moves the entries behind it that would no longer be found.
    private mutating func close(_ slot: Int, hash: (Int) -> Int) {
        let mask = slots.count - 1
        var (empty, next) = (slot, slot)
        while true {
            slots[empty] = 0
            repeat {
                next = (next + 1) & mask
                guard slots[next] != 0 else { return }
                // Stops at an entry that may move here: the empty slot is its own slot, or lies between that slot and
                // the entry.
            } while (next &- hash(Int(slots[next]) - 1)) & mask < (next &- empty) & mask
            slots[empty] = slots[next]
            empty = next
        }
    }
}
