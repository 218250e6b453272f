import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

/// SIEVE on an array: the keys from the oldest to the newest, their marks, and the hand's key.
private struct ListedKeys {
    var keys: [(key: Int, isMarked: Bool)] = []
    var hand: Int?

    mutating func insert(_ key: Int) { keys.append((key, false)) }

    mutating func mark(_ key: Int) { keys[index(of: key)].isMarked = true }

    mutating func remove(_ key: Int) {
        let index = index(of: key)
        if hand == key { hand = index + 1 < keys.count ? keys[index + 1].key : nil }
        keys.remove(at: index)
    }

    mutating func evict() -> Int? {
        guard !keys.isEmpty else { return nil }
        var index = hand.map(index(of:)) ?? 0
        while keys[index].isMarked {
            keys[index].isMarked = false
            index = (index + 1) % keys.count
        }
        let key = keys[index].key
        hand = key
        remove(key)
        return key
    }

    private func index(of key: Int) -> Int { keys.firstIndex { $0.key == key }! }
}

@Suite struct SieveTests {
    @Test("a key that was asked for again survives a key that was not; without marks the oldest key is evicted first")
    func marks() {
        var sieve = Sieve<String>()
        var places: [String: Int] = [:]
        for key in ["a", "b", "c", "d"] { places[key] = sieve.insert(key) }
        sieve.mark(places["a"]!)
        sieve.mark(places["c"]!)
        var gone: [String] = []
        while let key = sieve.evict() { gone.append(key) }
        // The hand continues behind its evicted key, and returns to keys whose marks it took.
        #expect(gone == ["b", "d", "a", "c"])
        let another = sieve.evict()
        #expect(sieve.count == 0 && another == nil)
    }

    @Test("a scan of keys used once evicts no key that is used again")
    func scan() {
        var sieve = Sieve<Int>()
        let wanted = (0..<10).map { sieve.insert($0) }
        for key in 10..<20 { _ = sieve.insert(key) }
        for key in 20..<1_000 {
            for place in wanted { sieve.mark(place) }
            let evicted = sieve.evict()
            #expect(evicted.map { $0 >= 10 } == true)
            _ = sieve.insert(key)
            #expect(sieve.count == 20)
        }
    }

    @Test(
        "for any inserts, uses and removals, SIEVE evicts the same keys as a model on a list", arguments: UInt64(1)...20
    )
    func listed(seed: UInt64) {
        var random = SeededNumbers(seed: seed)
        var (sieve, list) = (Sieve<Int>(), ListedKeys())
        var places: [Int: Int] = [:]
        for key in 0..<2_000 {
            switch random.below(8) {
            case 0, 1, 2:
                places[key] = sieve.insert(key)
                list.insert(key)
            case 3, 4, 5:
                guard let key = list.keys.isEmpty ? nil : list.keys[random.below(list.keys.count)].key else { continue }
                sieve.mark(places[key]!)
                list.mark(key)
            case 6:
                guard let key = list.keys.isEmpty ? nil : list.keys[random.below(list.keys.count)].key else { continue }
                sieve.remove(places.removeValue(forKey: key)!)
                list.remove(key)
            default:
                let (evicted, expected) = (sieve.evict(), list.evict())
                guard evicted == expected else {
                    Issue.record("it evicts \(evicted as Any), and should evict \(expected as Any), at \(key)")
                    return
                }
                if let evicted { places[evicted] = nil }
            }
            #expect(sieve.count == list.keys.count)
        }
    }
}
