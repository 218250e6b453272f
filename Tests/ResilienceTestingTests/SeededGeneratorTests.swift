import ResilienceTesting
import Testing

// C5
@Suite struct SeededGeneratorTests {
    @Test("the same seed gives the same numbers, another seed others")
    func repeats() {
        var (first, second, other) = (SeededGenerator(seed: 1), SeededGenerator(seed: 1), SeededGenerator(seed: 2))
        let numbers = (0..<100).map { _ in first.next() }
        #expect(numbers == (0..<100).map { _ in second.next() })
        #expect(numbers != (0..<100).map { _ in other.next() })
    }

    @Test("the numbers match SplitMix64")
    func reference() {
        var generator = SeededGenerator(seed: 1_234_567)
        // From the reference implementation of Sebastiano Vigna, splitmix64.c.
        #expect(generator.next() == 6_457_827_717_110_365_317)
        #expect(generator.next() == 3_203_168_211_198_807_973)
        #expect(generator.next() == 9_817_491_932_198_370_423)
    }

    @Test("a copy is independent as soon as it is made")
    func copies() {
        var original = SeededGenerator(seed: 5)
        _ = original.next()
        var copy = original
        #expect(copy.next() == original.next())
    }

    @Test("the numbers are distributed evenly enough for a random walk")
    func spread() {
        var generator = SeededGenerator(seed: 8)
        let heads = (0..<10_000).count { _ in Bool.random(using: &generator) }
        #expect((4_800...5_200).contains(heads))
    }
}
