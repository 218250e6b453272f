#if Demo
    import Foundation
    import ResilienceSync

    /// Reads mutations from JSON Lines: one per line, as `{"id": "…", "entity": "…", "kind": "…", "payload": …}`.
    ///
    /// Blank lines and members with other names are ignored. A payload is any JSON value. The idempotency key is made from
    /// the id, so that reading a file twice gives the same mutations.
    enum MutationReader {
        struct BadInput: Error, Equatable, CustomStringConvertible {
            /// The line, from 1; nil if the problem is the file as a whole.
            let line: Int?
            let reason: String
            var file = ""

            var description: String { "\(file):\(line.map { "\($0): " } ?? " ")\(reason)" }
        }

        /// - Throws: ``BadInput``; what reading the file throws.
        static func read(path: String) throws -> [Mutation] {
            do {
                return try read(Data(contentsOf: URL(fileURLWithPath: path)))
            } catch var error as BadInput {
                error.file = path
                throw error
            }
        }

        static func read(_ data: Data) throws(BadInput) -> [Mutation] {
            var mutations: [Mutation] = []
            var numbers: [String: Int] = [:]
            for (index, line) in data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                .enumerated()
            where !line.allSatisfy({ [0x20, 0x09, 0x0D].contains($0) }) {
                let mutation: Mutation
                do {
                    mutation = try self.mutation(line)
                } catch {
                    throw BadInput(line: index + 1, reason: error.text)
                }
                if let first = numbers.updateValue(index + 1, forKey: mutation.id) {
                    throw BadInput(
                        line: index + 1, reason: "id \"\(mutation.id.prefix(80))\" is on line \(first) already")
                }
                mutations.append(mutation)
            }
            if mutations.isEmpty { throw BadInput(line: nil, reason: "there is no mutation in it") }
            return mutations
        }

        private struct Problem: Error { let text: String }

        private static func mutation(_ line: Data) throws(Problem) -> Mutation {
            guard let object = try? JSONSerialization.jsonObject(with: line) as? [String: Any] else {
                throw Problem(text: "not a JSON object")
            }
            func text(_ name: String) throws(Problem) -> String {
                guard let text = object[name] as? String, !text.isEmpty else {
                    throw Problem(text: "\"\(name)\" is missing, empty or not a string")
                }
                return text
            }
            let id = try text("id")
            guard let key = key(of: id) else {
                throw Problem(text: "\"id\" is too long: its key has more than 255 bytes")
            }
            guard let payload = object["payload"],
                let data = try? JSONSerialization.data(
                    withJSONObject: payload, options: [.fragmentsAllowed, .sortedKeys])
            else { throw Problem(text: "\"payload\" is missing") }
            return Mutation(
                id: id, entity: try text("entity"), kind: try text("kind"), payload: data, idempotencyKey: key)
        }

        /// A key that is valid in a header and different for every id; nil if it would be too long.
        static func key(of id: String) -> String? {
            let unreserved = CharacterSet(
                charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
            let key = id.addingPercentEncoding(withAllowedCharacters: unreserved)
            return key.flatMap { (1...255).contains($0.utf8.count) ? $0 : nil }
        }
    }
#endif
