import Foundation
import Resilience

package func decoded<Value: Decodable>(_ json: String, as type: Value.Type = Value.self) throws -> Value {
    try JSONDecoder().decode(type, from: Data(json.utf8))
}

/// The problems of settings that the body reads or makes.
package func problems(_ body: () throws -> Void) -> [String] {
    do {
        try body()
        return []
    } catch {
        return (error as? InvalidSettings)?.problems.map(\.description) ?? ["\(error)"]
    }
}
