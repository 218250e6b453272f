import Foundation
import Resilience
import ResilienceSimulation

/// A service in words: "p50 20ms p99 400ms capacity 200/s queue 100 network 2ms limit 100/s loss 0.1% errors 1%".
struct ServiceText {
    static let form = """
        p50 TIME p99 TIME capacity RATE [queue COUNT] [network TIME] [limit RATE [burst COUNT]] [loss SHARE] [errors SHARE]
        """

    /// - Returns: The service that the words describe.
    static func service(_ text: String) throws -> ServiceModel {
        let parts = text.split(whereSeparator: \.isWhitespace).map(String.init)
        guard parts.count.isMultiple(of: 2) else {
            throw LabProblem("a service is pairs of a name and a value: \(form)")
        }
        var words: [String: String] = [:]
        for index in stride(from: 0, to: parts.count, by: 2) {
            guard words.updateValue(parts[index + 1], forKey: parts[index]) == nil else {
                throw LabProblem("\(parts[index]) is given twice")
            }
        }
        func take<Value>(_ name: String, _ read: (String) throws -> Value) throws -> Value? {
            try words.removeValue(forKey: name).map(read)
        }
        func need<Value>(_ name: String, _ read: (String) throws -> Value) throws -> Value {
            guard let value = try take(name, read) else {
                throw LabProblem("\(name) is missing: \(form)")
            }
            return value
        }
        let (p50, p99) = (try need("p50", time), try need("p99", time))
        guard p50 > .zero, p99 >= p50 else { throw LabProblem("p50 must be above 0, and p99 not below it") }
        let capacity = try need("capacity", rate)
        guard capacity * (LatencyModel.logNormal(p50: p50, p99: p99).mean / .seconds(1)) < 1e9 else {
            throw LabProblem("a service of that capacity, with such times, would need 1000000000 workers or more")
        }
        var model = ServiceModel(p50: p50, p99: p99, capacity: capacity)
        model.queue = try take("queue", count) ?? model.queue
        model.network = .constant(try take("network", time) ?? .zero)
        model.loss = try take("loss", share) ?? 0
        model.failureShare = try take("errors", share) ?? 0
        if let limit = try take("limit", rate) {
            model.rateLimit = .init(
                perSecond: limit, burst: max(1, try take("burst", count) ?? Int(min(limit.rounded(.up), 1e9))))
        }
        if let rest = words.keys.sorted().first {
            throw LabProblem("\"\(rest)\" is not known: \(form)")
        }
        return model
    }

    /// Reads "20ms", "1.5s", "30s", "2min", "250us".
    static func time(_ text: String) throws -> Duration {
        let units: [(String, Double)] = [("ms", 1e-3), ("us", 1e-6), ("min", 60), ("s", 1)]
        for (unit, factor) in units where text.hasSuffix(unit) {
            guard let number = Double(text.dropLast(unit.count)), number >= 0, number * factor < 1e6 else { break }
            return .seconds(number * factor)
        }
        throw LabProblem("\"\(text)\" is not a time, such as 20ms, 1.5s or 2min")
    }

    /// Calls that would take hours or more.
    static func check(load: Double, for length: Duration) throws {
        let calls = load * (length / .seconds(1))
        guard calls <= 1e8 else {
            throw LabProblem("\(calls.short) calls are too many; the most are 100000000")
        }
    }

    /// Reads "200/s", "30/min".
    static func rate(_ text: String) throws -> Double {
        for (unit, seconds) in [("/s", 1.0), ("/min", 60)] where text.hasSuffix(unit) {
            guard let number = Double(text.dropLast(unit.count)), (1e-6...1e9).contains(number / seconds) else { break }
            return number / seconds
        }
        throw LabProblem("\"\(text)\" is not a rate, such as 200/s or 30/min")
    }

    private static func count(_ text: String) throws -> Int {
        guard let count = Int(text), count >= 0, count <= 1_000_000_000 else {
            throw LabProblem("\"\(text)\" is not a count of 0 or more")
        }
        return count
    }

    private static func share(_ text: String) throws -> Double {
        guard text.hasSuffix("%"), let number = Double(text.dropLast()), (0...100).contains(number) else {
            throw LabProblem("\"\(text)\" is not a share from 0% to 100%")
        }
        return number / 100
    }
}
