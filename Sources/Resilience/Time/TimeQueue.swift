/// The pending alarms of a time base.
package typealias AlarmQueue = TimeQueue<AlarmAction>

/// A box: a bare closure that passes through generic code is boxed on the way in and on the way out.
package struct AlarmAction: Sendable {
    package let run: @Sendable () -> Void

    package init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// Pending actions, earliest first.
///
/// A binary heap over slots, so that cancelling an alarm is O(log n) and leaves nothing behind. Alarms with equal
/// deadlines fire in the order in which they were set.
@frozen @usableFromInline package struct TimeQueue<Action> {
    @frozen @usableFromInline struct Entry {
        @usableFromInline var deadline: MonotonicInstant
        @usableFromInline var order: UInt64
        @usableFromInline var slot: Int

        @inlinable init(deadline: MonotonicInstant, order: UInt64, slot: Int) {
            (self.deadline, self.order, self.slot) = (deadline, order, slot)
        }

        @inlinable func precedes(_ other: Entry) -> Bool {
            deadline == other.deadline ? order < other.order : deadline < other.deadline
        }
    }

    @frozen @usableFromInline struct Slot {
        @usableFromInline var generation: UInt64
        @usableFromInline var position: Int
        @usableFromInline var action: Action?

        @inlinable init(generation: UInt64, position: Int, action: Action?) {
            (self.generation, self.position, self.action) = (generation, position, action)
        }
    }

    @usableFromInline var heap: [Entry] = []
    @usableFromInline var slots: [Slot] = []
    @usableFromInline var free: [Int] = []
    @usableFromInline var order: UInt64 = 0

    @inlinable package init() {}

    @inlinable package var count: Int { heap.count }

    /// When the next alarm is due; nil if there is none.
    @inlinable package var earliest: MonotonicInstant? { heap.first?.deadline }

    /// Every pending deadline, earliest first.
    package var deadlines: [MonotonicInstant] { heap.map(\.deadline).sorted() }

    @inlinable package mutating func insert(at deadline: MonotonicInstant, _ action: Action) -> TimeBaseAlarm {
        let slot: Int
        if let reused = free.popLast() {
            slot = reused
            slots[slot].action = action
        } else {
            slot = slots.count
            slots.append(Slot(generation: 0, position: 0, action: action))
        }
        order &+= 1
        let entry = Entry(deadline: deadline, order: order, slot: slot)
        heap.append(entry)
        place(entry, upFrom: heap.count - 1)
        return TimeBaseAlarm(slot: slot, generation: slots[slot].generation)
    }

    /// Removes an alarm.
    /// - Returns: Its action; nil if the alarm has fired or was cancelled before.
    @inlinable @discardableResult
    package mutating func remove(_ alarm: TimeBaseAlarm) -> Action? {
        guard slots.indices.contains(alarm.slot), slots[alarm.slot].generation == alarm.generation,
            // A free slot has the generation of its next alarm.
            slots[alarm.slot].action != nil
        else { return nil }
        return removeEntry(at: slots[alarm.slot].position)
    }

    /// Removes the earliest alarm if it is due.
    /// - Returns: Its action; nil if no alarm is due at `now`.
    @inlinable package mutating func popDue(at now: MonotonicInstant) -> Action? {
        guard let first = heap.first, first.deadline <= now else { return nil }
        return removeEntry(at: 0)
    }

    /// Removes all alarms, as ``remove(_:)`` does.
    /// - Returns: Their actions, whose end may use this queue.
    package mutating func removeAll() -> [Action] {
        heap.indices.reversed().compactMap { removeEntry(at: $0) }
    }

    @inlinable mutating func removeEntry(at position: Int) -> Action? {
        let slot = heap[position].slot
        let last = heap.removeLast()
        if position < heap.count { place(last, upFrom: leaf(under: position)) }
        slots[slot].generation &+= 1
        free.append(slot)
        return slots[slot].action.take()
    }

    /// Moves the gap at `position` down to a leaf. What fills it comes from the end, and mostly stays near a leaf.
    @inlinable mutating func leaf(under position: Int) -> Int {
        var gap = position
        while true {
            var child = 2 * gap + 1
            guard child < heap.count else { return gap }
            if child + 1 < heap.count, heap[child + 1].precedes(heap[child]) { child += 1 }
            place(heap[child], at: gap)
            gap = child
        }
    }

    @inlinable mutating func place(_ entry: Entry, upFrom leaf: Int) {
        var gap = leaf
        while gap > 0, entry.precedes(heap[(gap - 1) / 2]) {
            place(heap[(gap - 1) / 2], at: gap)
            gap = (gap - 1) / 2
        }
        place(entry, at: gap)
    }

    @inlinable mutating func place(_ entry: Entry, at position: Int) {
        heap[position] = entry
        slots[entry.slot].position = position
    }
}

extension TimeQueue: Sendable where Action: Sendable {}
extension TimeQueue.Entry: Sendable {}
extension TimeQueue.Slot: Sendable where Action: Sendable {}
