import Foundation
import Resilience
import ResilienceTraffic

/// A configuration from outside: reading it throws an error, or returns settings. The settings make a policy, and can
/// be written and read again.
package enum ConfigurationOracle {
    /// - Parameter input: JSON, of any of the configurations.
    /// - Returns: Whether some configuration accepted it.
    package static func check(_ input: [UInt8]) throws -> Bool {
        let data = Data(input)
        let taken = [
            try taken(data, as: Retry.Settings.self) { _ = Retry(settings: $0).description },
            try taken(data, as: CircuitBreaker.Settings.self) { _ = CircuitBreaker(settings: $0).status },
            try taken(data, as: Hedge.Settings.self) { _ = (Hedge(settings: $0).status, "\($0.delay)") },
            try taken(data, as: AdaptiveThrottle.Settings.self) { _ = AdaptiveThrottle(settings: $0).status },
            try taken(data, as: EndpointPoolSettings.self) {
                _ = EndpointPool("pool", [1, 2, 3], settings: $0).status
            },
            try taken(data, as: Chaos.Settings.self) { _ = Chaos(settings: $0).status },
            try taken(data, as: Bulkhead.Settings.self) { _ = Bulkhead(settings: $0).status },
            try taken(data, as: Throttle.Settings.self) { _ = Throttle(settings: $0).status },
            try taken(data, as: CallCacheSettings.self) {
                _ = CallCache<Int, Int>(settings: $0).description
            },
            try taken(data, as: Timeout.Settings.self) { _ = Timeout(settings: $0).limit },
            try taken(data, as: Pipeline.AllSettings.self) { _ = Pipeline(settings: $0).description },
        ]
        return taken.contains(true)
    }

    private static func taken<Value: Codable & Equatable>(
        _ data: Data, as type: Value.Type, _ make: (Value) -> Void
    ) throws -> Bool {
        let value: Value
        do {
            value = try JSONDecoder().decode(type, from: data)
        } catch let error as InvalidSettings {
            try expect(!error.problems.isEmpty, "invalid, but nothing is")
            return false
        } catch {
            return false
        }
        make(value)
        // A duration above 11 days may lose a nanosecond when it is first written, but not again.
        let again = try JSONDecoder().decode(type, from: JSONEncoder().encode(value))
        let written = try JSONEncoder().encode(again)
        let twice = try JSONDecoder().decode(type, from: written)
        try expect(twice == again, "\(again) is written as \(String(decoding: written, as: UTF8.self))")
        return true
    }
}
