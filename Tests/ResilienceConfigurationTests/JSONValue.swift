#if Configuration
    import Foundation

    /// A JSON value that distinguishes a Boolean from a number.
    indirect enum JSONValue: Decodable, Hashable, CustomStringConvertible {
        case flag(Bool)
        case whole(Int)
        case number(Double)
        case text(String)
        case list([JSONValue])
        case object([String: JSONValue])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let flag = try? container.decode(Bool.self) {
                self = .flag(flag)
            } else if let whole = try? container.decode(Int.self) {
                self = .whole(whole)
            } else if let number = try? container.decode(Double.self) {
                self = .number(number)
            } else if let text = try? container.decode(String.self) {
                self = .text(text)
            } else if let list = try? container.decode([JSONValue].self) {
                self = .list(list)
            } else {
                self = .object(try container.decode([String: JSONValue].self))
            }
        }

        init(_ json: some StringProtocol) throws {
            self = try JSONDecoder().decode(JSONValue.self, from: Data(json.utf8))
        }

        init(encoding value: some Encodable) throws {
            self = try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(value))
        }

        /// The members of an object; otherwise empty.
        var members: [String: JSONValue] { if case .object(let members) = self { members } else { [:] } }

        var description: String {
            switch self {
            case .flag(let flag): "\(flag)"
            case .whole(let whole): "\(whole)"
            case .number(let number): "\(number)"
            case .text(let text): text
            case .list(let list): list.map(\.description).joined(separator: ",")
            case .object(let members): "\(members)"
            }
        }
    }
#endif
