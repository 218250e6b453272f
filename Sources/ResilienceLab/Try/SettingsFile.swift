import Foundation
import Resilience
import ResilienceTraffic

/// The settings of pipelines in a file: one pipeline alone, or a file of pipelines and registries, as the gateway reads
/// it.
struct SettingsFile {
    private typealias Object = [String: Any]

    /// By name: "orders", "upstreams", "upstreams.prices".
    let pipelines: [String: Pipeline.AllSettings]

    init(_ data: Data) throws {
        let json: Any
        do { json = try JSONSerialization.jsonObject(with: data) } catch {
            let reason = (error as NSError).userInfo["NSDebugDescription"] ?? error.localizedDescription
            throw LabProblem("the file is not usable JSON: \(reason)")
        }
        guard let file = json as? Object else { throw LabProblem("the file must hold a JSON object") }
        let root = file["resilience"] as? Object ?? file
        var objects: [String: Object] = [:]
        for (name, settings) in try Self.object(root["pipelines"], "pipelines") {
            objects[name] = try Self.object(settings, name)
        }
        for (name, registry) in try Self.object(root["registries"], "registries") {
            let registry = try Self.object(registry, name)
            let standard = try Self.object(registry["default"], "\(name).default")
            objects[name] = standard
            for (key, own) in try Self.object(registry["overrides"], "\(name).overrides") {
                objects["\(name).\(key)"] = Self.overridden(standard, by: try Self.object(own, "\(name).\(key)"))
            }
        }
        let isOne = objects.isEmpty
        if isOne { objects["pipeline"] = root }
        pipelines = try Dictionary(
            uniqueKeysWithValues: objects.sorted { $0.key < $1.key }.map { name, settings in
                do {
                    let data = try JSONSerialization.data(withJSONObject: settings)
                    return (name, try JSONDecoder().decode(Pipeline.AllSettings.self, from: data))
                } catch {
                    throw LabProblem(
                        isOne
                            ? "without \"pipelines\" and \"registries\", the file holds one pipeline's settings: \(Self.text(error))"
                            : "\(name): \(Self.text(error))")
                }
            })
    }

    /// The settings of one pipeline; its name may be left out if there is only one.
    func settings(of name: String?) throws -> (name: String, settings: Pipeline.AllSettings) {
        let names = pipelines.keys.sorted().joined(separator: ", ")
        guard let name = name ?? (pipelines.count == 1 ? pipelines.keys.first : nil) else {
            throw LabProblem("the file has several pipelines; choose one with --pipeline: \(names)")
        }
        guard let settings = pipelines[name] else {
            throw LabProblem("the file has no pipeline \"\(name)\", but \(names)")
        }
        return (name, settings)
    }

    private static func object(_ value: Any?, _ name: String) throws -> Object {
        guard let object = (value ?? [:]) as? Object else { throw LabProblem("\(name) must be a JSON object") }
        return object
    }

    /// As a registry overrides settings: each setting of each policy on its own.
    private static func overridden(_ standard: Object, by own: Object) -> Object {
        let own = own.filter { $0.key != "key" }
        return standard.merging(own) { standard, own in
            guard let standard = standard as? Object, let own = own as? Object else { return own }
            return standard.merging(own) { _, own in own }
        }
    }

    static func text(_ error: any Error) -> String {
        switch error {
        case DecodingError.dataCorrupted(let context), DecodingError.typeMismatch(_, let context),
            DecodingError.keyNotFound(_, let context), DecodingError.valueNotFound(_, let context):
            [context.codingPath.map(\.stringValue).joined(separator: "."), context.debugDescription]
                .filter { !$0.isEmpty }.joined(separator: ": ")
        default: "\(error)"
        }
    }
}
