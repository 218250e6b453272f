/// The entries of a bounded cache, with the eviction order of SIEVE (Y. Zhang et al., NSDI 2024).
///
/// Entries are in order of arrival. A hit only marks its entry. To evict, a hand moves from the oldest entry to the
/// newest, and begins again at the oldest: it unmarks marked entries, and evicts the first unmarked one. So an entry
/// used once is evicted soon, and an entry used repeatedly stays, as with LRU; but a hit moves nothing.
@usableFromInline struct Sieve<Element: Sendable>: Sendable {
    @usableFromInline struct Node: Sendable {
        @usableFromInline var element: Element?
        var older: Int
        var newer: Int
        @usableFromInline var isMarked = false
    }

    private static var none: Int { -1 }

    @usableFromInline var nodes: [Node] = []
    /// Empty places in `nodes`.
    private var free: [Int] = []
    private var oldest = Self.none
    private var newest = Self.none
    private var hand = Self.none

    /// The number of entries.
    var count: Int { nodes.count - free.count }

    /// Adds an entry as the newest one.
    /// - Returns: The entry's place until the entry is removed.
    mutating func insert(_ element: Element) -> Int {
        let node = Node(element: element, older: newest, newer: Self.none)
        let place: Int
        if let unused = free.popLast() {
            place = unused
            nodes[place] = node
        } else {
            place = nodes.count
            nodes.append(node)
        }
        if newest == Self.none { oldest = place } else { nodes[newest].newer = place }
        newest = place
        return place
    }

    /// The entry at a place.
    @inlinable subscript(place: Int) -> Element {
        get { nodes[place].element! }
        set { nodes[place].element = newValue }
    }

    /// An entry was used.
    @inlinable mutating func mark(_ place: Int) { nodes[place].isMarked = true }

    /// Removes an entry.
    @discardableResult mutating func remove(_ place: Int) -> Element? {
        let (older, newer) = (nodes[place].older, nodes[place].newer)
        if older == Self.none { oldest = newer } else { nodes[older].newer = newer }
        if newer == Self.none { newest = older } else { nodes[newer].older = older }
        if hand == place { hand = newer }
        free.append(place)
        return nodes[place].element.take()
    }

    /// Removes the entry that the hand finds.
    /// - Returns: The entry; nil if there is none.
    mutating func evict() -> Element? {
        guard oldest != Self.none else { return nil }
        var place = hand == Self.none ? oldest : hand
        // This ends: a second round finds no mark.
        while nodes[place].isMarked {
            nodes[place].isMarked = false
            place = nodes[place].newer == Self.none ? oldest : nodes[place].newer
        }
        hand = place
        return remove(place)
    }
}
