import Foundation
import ResilienceTesting

/// The stored inputs of a reader: those that its fuzzer kept, and every input that ever showed a bug.
package struct Corpus: Sendable {
    package let inputs: [[UInt8]]

    package init(_ reader: String) throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Corpus/\(reader)")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        inputs = try files.sorted { $0.path < $1.path }.map { [UInt8](try Data(contentsOf: $0)) }
    }

    /// Checks every input.
    /// - Returns: How many of them the reader accepted.
    package func check(_ check: ([UInt8]) async throws -> Bool) async throws -> Int {
        var taken = 0
        for input in inputs where try await Self.check(input, check) { taken += 1 }
        return taken
    }

    /// Checks this many mutations of the inputs; a seed always gives the same mutations.
    /// - Returns: How many of them the reader accepted.
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

    /// Does one of these, one to four times: replaces a byte by any byte or a digit; drops, doubles or swaps a byte;
    /// cuts off the rest; or appends the rest of another input.
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
