import Foundation
import ResilienceTesting

/// The inputs kept for a reader: what its fuzzer found worth keeping, and everything that was ever a bug.
package struct Corpus: Sendable {
    package let inputs: [[UInt8]]

    package init(_ reader: String) throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Corpus/\(reader)")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        inputs = try files.sorted { $0.path < $1.path }.map { [UInt8](try Data(contentsOf: $0)) }
    }

    /// Checks every input.
    /// - Returns: how many of them the reader took for what it reads.
    package func check(_ check: ([UInt8]) async throws -> Bool) async throws -> Int {
        var taken = 0
        for input in inputs where try await Self.check(input, check) { taken += 1 }
        return taken
    }

    /// Checks so many mutations of the inputs, the same ones for the same seed.
    /// - Returns: how many of them the reader took for what it reads.
    package func checkMutations(
        _ count: Int, seed: UInt64, _ check: ([UInt8]) async throws -> Bool
    ) async throws -> Int {
        var random = SeededGenerator(seed: seed)
        var taken = 0
        for _ in 0..<count {
            let input = mutated(inputs.randomElement(using: &random) ?? [], &random)
            if try await Self.check(input, check) { taken += 1 }
        }
        return taken
    }

    private static func check(_ input: [UInt8], _ check: ([UInt8]) async throws -> Bool) async throws -> Bool {
        do { return try await check(input) } catch {
            throw Finding("\(error) (the input in base 64: \(Data(input).base64EncodedString()))")
        }
    }

    /// One to four times: a byte replaced, by any or by a digit, dropped, doubled or swapped, the rest cut off, or the
    /// rest of another input put in its place.
    private func mutated(_ input: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = input
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            guard let index = bytes.indices.randomElement(using: &random) else { break }
            switch Int.random(in: 0..<7, using: &random) {
            case 0: bytes[index] = UInt8.random(in: .min ... .max, using: &random)
            case 1: bytes[index] = UInt8.random(in: UInt8(ascii: "0")...UInt8(ascii: "9"), using: &random)
            case 2: bytes.remove(at: index)
            case 3: bytes.insert(bytes[index], at: index)
            case 4: bytes.swapAt(index, Int.random(in: bytes.indices, using: &random))
            case 5: bytes.removeSubrange(index...)
            default:
                let other = inputs.randomElement(using: &random) ?? []
                bytes.replaceSubrange(index..., with: other.dropFirst(index))
            }
        }
        return bytes
    }
}
