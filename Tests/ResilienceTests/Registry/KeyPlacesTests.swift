import Testing

@testable import Resilience

/// The hash table of a registry, compared with a list of keys.
@Suite struct KeyPlacesTests {
    /// A table like a registry's, in which many hashes collide.
    private struct Table {
        var keys: [Int] = []
        var places = KeyPlaces()
        let kinds: Int

        init(kinds: Int) { self.kinds = kinds }

        /// The hashes are negative, and point to the end of the slots.
        private func hashes() -> (Int) -> Int { { [keys, kinds] in ~(keys[$0] % kinds) } }

        func place(of key: Int) -> Int? { places.place(hash: ~(key % kinds)) { keys[$0] == key } }

        mutating func add(_ key: Int) {
            keys.append(key)
            places.append(count: keys.count, hash: hashes())
        }

        mutating func remove(at place: Int) {
            places.remove(place, count: keys.count, hash: hashes())
            keys.swapAt(place, keys.count - 1)
            keys.removeLast()
        }
    }

    @Test(
        "each key is found at its place, and no other key, after any additions and removals",
        arguments: [1, 3, 17, 1000])
    func walk(kinds: Int) throws {
        var generator = SplitMix64(seed: UInt64(kinds))
        var table = Table(kinds: kinds)
        for step in 0..<3000 {
            // It grows, shrinks, and grows again.
            let adds = Int.random(in: 0..<10, using: &generator) < (step / 500 % 2 == 0 ? 7 : 3)
            let key = Int.random(in: 0..<200, using: &generator)
            if let place = table.place(of: key) {
                try #require(table.keys[place] == key)
                if !adds { table.remove(at: place) }
            } else {
                try #require(!table.keys.contains(key))
                if adds { table.add(key) }
            }
            for (place, key) in table.keys.enumerated() { try #require(table.place(of: key) == place) }
            try #require(table.places.slots.count { $0 != 0 } == table.keys.count)
        }
    }

    @Test("an empty table has no key") func empty() {
        #expect(Table(kinds: 1).place(of: 1) == nil)
    }

    @Test("at most three quarters of the slots are taken, and after growth at least three eighths") func load() {
        var table = Table(kinds: .max)
        for key in 0..<10_000 {
            table.add(key)
            #expect(table.keys.count * 4 <= table.places.slots.count * 3)
        }
        #expect(table.keys.count * 8 >= table.places.slots.count * 3)
    }
}
