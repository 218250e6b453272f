import Foundation
import ResilienceSync
import RetryStormInput

/// The reader of JSON Lines, compared with itself on the same bytes cut otherwise, and with `JSONSerialization`.
package enum MutationReaderOracle {
    /// - Parameter input: a file.
    /// - Returns: whether it was read without an error.
    package static func check(_ input: [UInt8]) throws -> Bool {
        let result = read(input, inPiecesOf: input.count)
        try expect(result == read(input, inPiecesOf: 1 + input.count / 3), "a file in pieces is read differently")
        let lines = input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
        switch result {
        case .failure(let bad):
            try checkError(bad, lines)
        case .success(let mutations):
            // A byte order mark at the start of the file is no part of its first line.
            let isMarked = input.starts(with: [0xEF, 0xBB, 0xBF])
            try checkMutations(mutations, isMarked ? [Array(lines[0].dropFirst(3))] + lines.dropFirst() : lines)
        }
        for line in lines { try checkScanner(line) }
        return (try? result.get()) != nil
    }

    private typealias Outcome = Result<[Fields], MutationReader.BadInput>

    private static func read(_ input: [UInt8], inPiecesOf length: Int) -> Outcome {
        Result { () throws(MutationReader.BadInput) in
            var reader = MutationReader()
            var rest = input[...]
            while !rest.isEmpty {
                try reader.take(rest.prefix(length))
                rest = rest.dropFirst(length)
            }
            return try reader.finish()
        }
        .map { $0.map(Fields.init) }
    }

    /// The line that is named is the first bad one.
    private static func checkError(_ bad: MutationReader.BadInput, _ lines: [[UInt8]]) throws {
        guard let number = bad.line else {
            let isEmpty = lines.joined().allSatisfy { isSpace($0) || [0xEF, 0xBB, 0xBF].contains($0) }
            return try expect(isEmpty, "a file with something in it is called empty")
        }
        try expect((1...lines.count).contains(number), "line \(number) of \(lines.count) is named")
        let before = Array(lines.prefix(number - 1).joined(separator: [UInt8(ascii: "\n")]))
        if case .failure(let earlier) = read(before, inPiecesOf: before.count) {
            try expect(earlier.line == nil, "line \(number) is named, but \(String(describing: earlier.line)) is bad")
        }
        let upTo = Array(lines.prefix(number).joined(separator: [UInt8(ascii: "\n")]))
        try expect(read(upTo, inPiecesOf: upTo.count) == .failure(bad), "line \(number) is bad by what follows it")
    }

    private static func checkMutations(_ mutations: [Fields], _ lines: [[UInt8]]) throws {
        try expect(mutations.count == lines.count { !isBlank($0) }, "not one mutation a line")
        try expect(Set(mutations.map { Array($0.id.utf8) }).count == mutations.count, "an id is there twice")
        try expect(Set(mutations.map(\.key)).count == mutations.count, "two ids have one key")
        for (mutation, line) in zip(mutations, lines.filter { !isBlank($0) }) {
            try expect(
                (1...255).contains(mutation.key.utf8.count) && mutation.key.utf8.allSatisfy(isUnreserved),
                "the key \(mutation.key) can't be a header's value")
            guard isComparable(line) else { continue }
            let object = (try? JSONSerialization.jsonObject(with: Data(line))) as? [String: Any]
            for (name, text) in [("id", mutation.id), ("entity", mutation.entity), ("kind", mutation.kind)] {
                try expect(
                    (object?[name] as? String).map { Array($0.utf8) } == Array(text.utf8),
                    "\(name) is \(text.debugDescription), and was not in the line")
            }
            let payload = try? JSONSerialization.jsonObject(with: mutation.payload, options: .fragmentsAllowed)
            try expect(
                payload as? NSObject == object?["payload"] as? NSObject, "the payload is not the line's")
        }
        let again = read(try mutations.flatMap { try $0.line() }, inPiecesOf: 4096)
        try expect(again == .success(mutations), "written again, the mutations are read differently")
    }

    /// What is JSON for `JSONSerialization` is so for the scanner, and the reverse.
    private static func checkScanner(_ line: [UInt8]) throws {
        guard isComparable(line), String(validating: line, as: UTF8.self) != nil else { return }
        let isJSON = (try? JSONSerialization.jsonObject(with: Data(line), options: .fragmentsAllowed)) != nil
        var scanner = JSONScanner(line)
        do {
            scanner.skipSpace()
            _ = try scanner.value()
            scanner.skipSpace()
            try expect(scanner.isAtEnd == isJSON, "something follows a value, or seems to")
        } catch let malformed as JSONScanner.Malformed {
            try expect(!isJSON, "JSON is rejected: \(malformed)")
            try expect((1...line.count + 1).contains(malformed.column), "column \(malformed.column)")
        }
    }

    /// Whether both must agree: not about escapes of half a character, numbers outside of `Double`, a byte order mark,
    /// other encodings, which a NUL gives away, nesting, and a comma after the last member, which Foundation lets pass.
    private static func isComparable(_ line: [UInt8]) -> Bool {
        let marks = line.filter { !isSpace($0) }
        return line.count < 300 && !line.contains(0) && !line.starts(with: [0xEF, 0xBB, 0xBF])
            && line.count { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "{") } < JSONScanner.deepest
            && !zip(line, line.dropFirst()).contains { first, second in
                (first == UInt8(ascii: "u") && second | 0x20 == UInt8(ascii: "d"))
                    || (isDigit(first) && second | 0x20 == UInt8(ascii: "e"))
            }
            && !zip(marks, marks.dropFirst()).contains { first, second in
                first == UInt8(ascii: ",") && (second == UInt8(ascii: "}") || second == UInt8(ascii: "]"))
            }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isBlank(_ line: [UInt8]) -> Bool { line.allSatisfy(isSpace) }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        default: isDigit(byte) || "-._~%".utf8.contains(byte)
        }
    }
}

/// What the reader gives a mutation; the time that it was read at is not in the file.
private struct Fields: Equatable {
    let id: String
    let entity: String
    let kind: String
    let payload: Data
    let key: String

    init(_ mutation: Mutation) {
        id = mutation.id
        entity = mutation.entity
        kind = mutation.kind
        payload = mutation.payload
        key = mutation.idempotencyKey
    }

    func line() throws -> [UInt8] {
        let texts = try [id, entity, kind].map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
        let start = "{\"id\":\(texts[0]),\"entity\":\(texts[1]),\"kind\":\(texts[2]),\"payload\":"
        return Array(start.utf8) + payload + Array("}\n".utf8)
    }
}
