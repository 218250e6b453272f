import Foundation
import Resilience
import ResilienceSimulation

/// A recording of calls: it is rejected with the number of a line, or can be played back.
package enum RecordingOracle {
    /// - Parameter input: Lines of JSON.
    /// - Returns: Whether it was played.
    package static func check(_ input: [UInt8]) throws -> Bool {
        let traffic: RecordedTraffic
        do { traffic = try RecordedTraffic(reading: Data(input)) } catch {
            try expect(error.line >= 0 && !error.description.isEmpty, "an error without a reason")
            return false
        }
        for entries in [traffic.calls, traffic.attempts] {
            try expect(zip(entries, entries.dropFirst()).allSatisfy { $0.begins <= $1.begins }, "out of order")
            try expect(entries.allSatisfy { $0.begins >= .zero && $0.took >= .zero }, "a time below zero")
        }
        let result = try traffic.run { timeBase in
            Pipeline(timeBase: timeBase) {
                Retry(maxRetries: 1)
                Timeout(limit: .seconds(10))
            }
        }
        let offered = result.intervals.reduce(0) { $0 + $1.offered }
        try expect(offered == traffic.calls.count, "\(offered) calls of \(traffic.calls.count)")
        try expect(result.calls + result.unfinished == offered, "calls were lost")
        return true
    }
}
