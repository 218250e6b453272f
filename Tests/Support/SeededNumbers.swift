import ResilienceTesting

/// Seeded numbers of every size, including the ends of their range.
package struct SeededNumbers: RandomNumberGenerator {
    private var generator: SeededGenerator

    package init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    package mutating func next() -> UInt64 { generator.next() }

    /// Small as often as large, negative as often as positive; now and then an end of the range.
    package mutating func wide() -> Int64 {
        switch below(20) {
        case 0: .max
        case 1: .min
        case 2: 0
        default: Int64(bitPattern: next()) >> Int64(below(64))
        }
    }

    /// Like ``wide()``, without negative numbers.
    package mutating func wideNatural() -> Int64 { Int64(clamping: wide().magnitude) }

    package mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }

    package mutating func pick<C: RandomAccessCollection>(_ choices: C) -> C.Element {
        choices[choices.index(choices.startIndex, offsetBy: below(choices.count))]
    }
}
