import Resilience

/// In which order a bounded cache evicts its keys: SIEVE, by Y. Zhang et al., NSDI 2024.
///
/// Keys stand in the order in which they came. A hit only marks its key. To evict, a hand moves from the oldest key to the newest,
/// and begins again at the oldest: it takes the mark off each marked key, and evicts the first one without a mark. So a key that is
/// asked for only once goes soon, and one that is asked for again and again stays, as with LRU; but a hit moves nothing.
struct Sieve<Key: Sendable>: Sendable {
    private struct Node {
        var key: Key?
        var older: Int
        var newer: Int
        var isMarked = false
    }

    private static var none: Int { -1 }

    private var nodes: [Node] = []
    /// Places in `nodes` that hold no key.
    private var free: [Int] = []
    private var oldest = Self.none
    private var newest = Self.none
    private var hand = Self.none

    /// The number of keys.
    var count: Int { nodes.count - free.count }

    /// Adds a key as the newest one.
    /// - Returns: Its place, until it is removed.
    mutating func insert(_ key: Key) -> Int {
        let node = Node(key: key, older: newest, newer: Self.none)
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

    /// A key was asked for.
    mutating func mark(_ place: Int) { nodes[place].isMarked = true }

    /// Removes a key.
    mutating func remove(_ place: Int) {
        let (older, newer) = (nodes[place].older, nodes[place].newer)
        if older == Self.none { oldest = newer } else { nodes[older].newer = newer }
        if newer == Self.none { newest = older } else { nodes[newer].older = older }
        if hand == place { hand = newer }
        nodes[place].key = nil
        free.append(place)
    }

    /// Removes the key that the hand comes to.
    /// - Returns: The key; nil if there is none.
    mutating func evict() -> Key? {
        guard oldest != Self.none else { return nil }
        var place = hand == Self.none ? oldest : hand
        // Ends: a second round meets no mark.
        while nodes[place].isMarked {
            nodes[place].isMarked = false
            place = nodes[place].newer == Self.none ? oldest : nodes[place].newer
        }
        let key = nodes[place].key
        hand = place
        remove(place)
        return key
    }
}
