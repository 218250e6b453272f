import Foundation
import Resilience
import ResilienceSimulation
import ResilienceTraffic

/// A scenario in a JSON file, with the settings of a pipeline.
///
/// ```json
/// {
///     "service": "p50 20ms p99 400ms capacity 200/s", "load": "100/s", "length": "2min",
///     "troubles": [{"kind": "outage", "at": "30s", "for": "20s"}],
///     "pipeline": {"retry": {"maxRetries": 2}, "attemptTimeout": {"limitSeconds": 1}}
/// }
/// ```
struct ScenarioFile: Decodable {
    private struct Trouble: Decodable {
        let kind: String
        let at: String
        let `for`: String
        var share: Double?
        var slower: Double?
        var perSecond: Double?
        var burst: Int?
        var factor: Double?
        var zones: [Int]?
    }

    private let service: String
    private let load: String
    private let length: String
    private let clients: Int?
    private let zones: Int?
    private let troubles: [Trouble]?
    let pipeline: Pipeline.AllSettings

    init(reading data: Data) throws {
        try Self.checkKeys(data)
        do { self = try JSONDecoder().decode(ScenarioFile.self, from: data) } catch let error as DecodingError {
            throw LabProblem("the scenario is not usable: \(SettingsFile.text(error))")
        }
    }

    /// What each kind of trouble has besides its times.
    private static let keys = [
        "outage": [], "partition": ["share"], "brownOut": ["slower"], "errors": ["share"],
        "rateLimit": ["perSecond", "burst"], "stragglers": ["share", "slower"], "capacity": ["share"],
        "slowStart": ["share"], "surge": ["factor"],
    ]

    /// A misspelt key must not leave a trouble out.
    private static func checkKeys(_ data: Data) throws {
        guard let file = try? JSONSerialization.jsonObject(with: data) as? [String: Any] else { return }
        let troubles = file["troubles"] as? [[String: Any]] ?? []
        let known = ["service", "load", "length", "clients", "zones", "troubles", "pipeline"]
        let unknown =
            file.keys.filter { !known.contains($0) }
            + troubles.flatMap { trouble in
                let ofKind = (trouble["kind"] as? String).flatMap { keys[$0] } ?? keys.values.flatMap(\.self)
                return trouble.keys.filter { !(["kind", "at", "for", "zones"] + ofKind).contains($0) }
            }
        guard let key = unknown.min() else { return }
        throw LabProblem("\"\(key)\" is not known in a scenario")
    }

    func scenario() throws -> Scenario {
        let (clients, zones) = (clients ?? 10, zones ?? 1)
        let length = try ServiceText.time(length)
        // Calls are drawn at the highest rate of the run.
        let surges = (troubles ?? []).filter { $0.kind == "surge" }.reduce(1) { $0 * max(1, $1.factor ?? 1) }
        try ServiceText.check(load: ServiceText.rate(load) * surges, for: length)
        guard (1...100_000).contains(clients), (1...100).contains(zones), clients * zones <= 100_000, length > .zero,
            length <= .seconds(1_000_000)
        else {
            throw LabProblem(
                "clients must be 1 to 100000, zones 1 to 100, both together at most 100000, and length above 0 to 1000000 s"
            )
        }
        return Scenario(
            service: try ServiceText.service(service), load: .open(perSecond: try ServiceText.rate(load)),
            clients: clients, zones: zones,
            troubles: try (troubles ?? []).map { trouble in
                let affected = Set(trouble.zones ?? [0])
                guard !affected.isEmpty, affected.allSatisfy({ (0..<zones).contains($0) }) else {
                    throw LabProblem("the zones of a trouble are 0 to \(zones - 1)")
                }
                return ResilienceSimulation.Trouble(
                    try Self.kind(trouble), at: try ServiceText.time(trouble.at),
                    for: try ServiceText.time(trouble.for), zones: affected)
            },
            length: length)
    }

    private static func kind(_ trouble: Trouble) throws -> ResilienceSimulation.Trouble.Kind {
        func number(_ name: String, _ value: Double?, _ range: ClosedRange<Double>) throws -> Double {
            guard let value, range.contains(value) else {
                throw LabProblem(
                    "\(trouble.kind) needs \(name), \(range.lowerBound.short) to \(range.upperBound.short)"
                )
            }
            return value
        }
        func share() throws -> Double { try number("share", trouble.share, 0...1) }
        func slower() throws -> Double { try number("slower", trouble.slower, 0.001...1_000_000) }
        switch trouble.kind {
        case "outage": return .outage
        case "partition": return .partition(clients: trouble.share == nil ? 1 : try share())
        case "brownOut": return .brownOut(slower: try slower())
        case "errors": return .errors(share: try share())
        case "rateLimit":
            let rate = try number("perSecond", trouble.perSecond, 0.001...1_000_000)
            return .rateLimit(perSecond: rate, burst: max(1, trouble.burst ?? Int(rate.rounded(.up))))
        case "stragglers": return .stragglers(share: try share(), slower: try slower())
        case "capacity": return .capacity(share: try share())
        case "slowStart": return .slowStart(share: try share())
        case "surge": return .surge(try number("factor", trouble.factor, 0.001...1_000_000))
        default:
            throw LabProblem(
                "\"\(trouble.kind)\" is no kind of trouble, but \(keys.keys.sorted().joined(separator: ", "))")
        }
    }

    func report(seed: UInt64, name: String) throws -> LabReport {
        let settings = pipeline
        let result = try scenario().run(seed: seed) { Pipeline(name, settings: settings, timeBase: $0) }
        var report = LabReport([(name, result)])
        report.page.title = name
        return report
    }
}
