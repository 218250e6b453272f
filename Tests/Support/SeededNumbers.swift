import ResilienceTesting

/// Seeded numbers of every size, the ends of their range among them.
package struct SeededNumbers: RandomNumberGenerator {
    private var generator: SeededGenerator

    package init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    package mutating func next() -> UInt64 { generator.next() }

    /// As often small as large, as often negative as positive; now and then an end.
    package mutating func wide() -> Int64 {
        switch below(20) {
        case 0: .max
        case 1: .min
        case 2: 0
        default: Int64(bitPattern: next()) >> Int64(below(64))
        }
    }

    /// As ``wide()``, without the negative ones.
    package mutating func wideNatural() -> Int64 { Int64(clamping: wide().magnitude) }

    package mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }

    package mutating func pick<C: RandomAccessCollection>(_ choices: C) -> C.Element {
        choices[choices.index(choices.startIndex, offsetBy: below(choices.count))]
    }
}
