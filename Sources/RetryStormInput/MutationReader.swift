import Foundation
package import ResilienceSync

/// Reads mutations from JSON Lines: one per line, as `{"id": "…", "entity": "…", "kind": "…", "payload": …}`.
///
/// Blank lines and members with other names are ignored. A payload is any JSON value and is sent as it is written. The
/// idempotency key is made from the id, so that reading a file twice gives the same mutations.
package struct MutationReader {
    package struct BadInput: Error, Equatable, CustomStringConvertible {
        /// The line, from 1; nil if the problem is the file as a whole.
        package let line: Int?
        package let reason: String
        package var file = ""

        package var description: String { "\(file):\(line.map { "\($0): " } ?? " ")\(reason)" }
    }

    package static let longestLine = 1 << 20

    private var mutations: [Mutation] = []
    private var lines: [String: Int] = [:]
    private var rest: [UInt8] = []
    private var line = 0

    package init() {}

    /// - Throws: ``BadInput``; what reading the file throws.
    package static func read(path: String) throws -> [Mutation] {
        let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? handle.close() }
        do {
            var reader = MutationReader()
            while let chunk = try handle.read(upToCount: 1 << 16), !chunk.isEmpty { try reader.take(chunk) }
            return try reader.finish()
        } catch var error as BadInput {
            error.file = path
            throw error
        }
    }

    /// Takes the next bytes of the file, cut anywhere.
    package mutating func take(_ bytes: some Sequence<UInt8>) throws(BadInput) {
        for byte in bytes {
            guard byte == UInt8(ascii: "\n") else {
                rest.append(byte)
                if rest.count > Self.longestLine {
                    line += 1
                    throw bad("longer than \(Self.longestLine) bytes")
                }
                continue
            }
            try endLine()
        }
    }

    /// Ends the file, and returns the mutations.
    package mutating func finish() throws(BadInput) -> [Mutation] {
        if !rest.isEmpty { try endLine() }
        if mutations.isEmpty { throw BadInput(line: nil, reason: "there is no mutation in it") }
        return mutations
    }

    private func bad(_ reason: String) -> BadInput { BadInput(line: line, reason: reason) }

    private mutating func endLine() throws(BadInput) {
        line += 1
        defer { rest.removeAll(keepingCapacity: true) }
        // A byte order mark is not JSON, but some editors write it.
        if line == 1, rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest.removeFirst(3) }
        guard String(validating: rest, as: UTF8.self) != nil else { throw bad("not UTF-8") }
        var scanner = JSONScanner(rest)
        scanner.skipSpace()
        if scanner.isAtEnd { return }
        let parts: [String: Range<Int>]
        do {
            parts = try members(&scanner)
        } catch {
            throw bad("\(error.reason) (column \(error.column))")
        }
        try add(
            id: text("id", parts), entity: text("entity", parts), kind: text("kind", parts),
            payload: part("payload", parts))
    }

    private func members(
        _ scanner: inout JSONScanner
    ) throws(JSONScanner.Malformed) -> [String: Range<Int>] {
        var parts: [String: Range<Int>] = [:]
        guard scanner.next == UInt8(ascii: "{") else { throw scanner.malformed("not a JSON object") }
        try scanner.members { (scanner, name) throws(JSONScanner.Malformed) in
            let name = decoded(name) ?? ""
            if parts[name] != nil { throw scanner.malformed("\"\(name)\" is there twice") }
            parts[name] = try scanner.value()
        }
        scanner.skipSpace()
        guard scanner.isAtEnd else { throw scanner.malformed("something follows the object") }
        return parts
    }

    private func part(_ name: String, _ parts: [String: Range<Int>]) throws(BadInput) -> ArraySlice<UInt8> {
        guard let range = parts[name] else { throw bad("\"\(name)\" is missing") }
        return rest[range]
    }

    private func text(_ name: String, _ parts: [String: Range<Int>]) throws(BadInput) -> String {
        let part = try part(name, parts)
        guard part.first == UInt8(ascii: "\"") else { throw bad("\"\(name)\" is not a string") }
        guard let text = decoded(part.indices) else { throw bad("\"\(name)\" is not a string that can be read") }
        if text.isEmpty { throw bad("\"\(name)\" is empty") }
        return text
    }

    private func decoded(_ range: Range<Int>) -> String? {
        let string = rest[range]
        if !string.contains(UInt8(ascii: "\\")) {
            return String(decoding: string.dropFirst().dropLast(), as: UTF8.self)
        }
        return try? JSONDecoder().decode(String.self, from: Data(string))
    }

    private mutating func add(
        id: String, entity: String, kind: String, payload: ArraySlice<UInt8>
    ) throws(BadInput) {
        if let first = lines.updateValue(line, forKey: id) {
            throw bad("id \"\(id.prefix(80))\" is on line \(first) already")
        }
        guard let key = Self.key(of: id) else { throw bad("\"id\" is too long: its key has more than 255 bytes") }
        mutations.append(
            Mutation(id: id, entity: entity, kind: kind, payload: Data(payload), idempotencyKey: key))
    }

    /// A key that is valid in a header and different for every id; nil if it would be too long.
    package static func key(of id: String) -> String? {
        let unreserved = CharacterSet(
            charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
        let key = id.addingPercentEncoding(withAllowedCharacters: unreserved)
        return key.flatMap { (1...255).contains($0.utf8.count) ? $0 : nil }
    }
}
