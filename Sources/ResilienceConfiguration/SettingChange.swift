#if Configuration
    internal import Resilience

    /// A setting with a new value that a policy can't take over while it runs.
    public struct SettingChange: Sendable, Hashable, CustomStringConvertible {
        /// The setting's path, such as "resilience.pipelines.catalog.bulkhead.order".
        public let path: String
        /// The value until now; "not given" if there was none.
        public let old: String
        /// The value from now on; "not given" if there is none.
        public let new: String

        /// Creates a change.
        ///
        /// - Parameters:
        ///   - path: The setting's path.
        ///   - old: The value until now.
        ///   - new: The value from now on.
        public init(path: String, old: String, new: String) {
            self.path = path
            self.old = old
            self.new = new
        }

        public var description: String { "\(path) (\(old) → \(new))" }
    }

    extension SettingChange {
        /// Finds the new settings that a running pipeline can't take over.
        ///
        /// Each differing setting is tried alone, on two new pipelines, so this needs no knowledge of any policy.
        /// - Parameters:
        ///   - old: The settings in use.
        ///   - new: The new settings.
        ///   - kind: The type of the settings.
        ///   - path: The path of the settings.
        ///   - timeBase: The clock of the pipelines.
        ///   - goesOn: Whether the first of two pipelines can continue with the settings of the second.
        static func inTheWay(
            from old: SettingTree?, to new: SettingTree?, of kind: any PipelineSettings.Type, at path: [String],
            on timeBase: any TimeBase, where goesOn: (Pipeline, Pipeline) -> Bool
        ) -> [SettingChange] {
            guard case .group(let old) = old, case .group(let new) = new else { return [] }
            let (before, after) = (kind.policies(of: old), kind.policies(of: new))
            var found: [SettingChange] = []
            for policy in (before + after.filter { !before.contains($0) }) {
                func goes(_ one: SettingTree?, _ other: SettingTree?) -> Bool {
                    guard let one = kind.pipeline(policy, one, timeBase),
                        let other = kind.pipeline(policy, other, timeBase)
                    else {
                        return false
                    }
                    return goesOn(one, other)
                }
                // A policy that is only in the list of policies has its default settings.
                let own = before.contains(policy) ? old[policy] ?? .group([:]) : nil
                let next = after.contains(policy) ? new[policy] ?? .group([:]) : nil
                if own == next || goes(own, next) { continue }
                guard case .group(let ours) = own, case .group(let theirs) = next else {
                    let isListed = old["policies"] != new["policies"]
                    found +=
                        isListed
                        ? differences(old["policies"], new["policies"], at: path + ["policies"])
                        : differences(own, next, at: path + [policy])
                    continue
                }
                let names = Set(ours.keys).union(theirs.keys).sorted().filter { ours[$0] != theirs[$0] }
                let blocking = names.filter { name in
                    var changed = ours
                    changed[name] = theirs[name]
                    return !goes(own, .group(changed))
                }
                for name in blocking.isEmpty ? names : blocking {
                    found += differences(ours[name], theirs[name], at: path + [policy, name])
                }
            }
            return found.reduce(into: []) { all, change in if !all.contains(change) { all.append(change) } }
        }

        private static func differences(
            _ old: SettingTree?, _ new: SettingTree?, at path: [String]
        ) -> [SettingChange] {
            guard old != new else { return [] }
            if case .group(let before) = old, case .group(let after) = new {
                return Set(before.keys).union(after.keys).sorted().flatMap {
                    differences(before[$0], after[$0], at: path + [$0])
                }
            }
            func shown(_ tree: SettingTree?) -> String { tree.map(\.plain) ?? "not given" }
            return [SettingChange(path: path.joined(separator: "."), old: shown(old), new: shown(new))]
        }
    }

    extension PipelineSettings {
        fileprivate static func policies(of members: [String: SettingTree]) -> [String] {
            (try? Self(.group(members), at: []))?.policies ?? []
        }

        /// A pipeline of one policy, or of none; nil if these settings are invalid: a mixture of old and new settings
        /// may be invalid.
        fileprivate static func pipeline(
            _ policy: String, _ settings: SettingTree?, _ timeBase: any TimeBase
        ) -> Pipeline? {
            guard let settings else { return Pipeline("", settings: Self(), timeBase: timeBase) }
            let tree = SettingTree.group([policy: settings, "policies": .texts([policy])])
            guard let own = try? Self(tree, at: []) else { return nil }
            return try? PolicySettings.checked { Pipeline("", settings: own, timeBase: timeBase) }
        }
    }

    extension SettingTree {
        /// The value as a file shows it.
        fileprivate var plain: String {
            switch self {
            case .text(let text), .unreadable(let text): text
            case .number(let number): Int(exactly: number).map { "\($0)" } ?? "\(number)"
            case .list(let elements): "[\(elements.map(\.plain).joined(separator: ", "))]"
            case .group(let members):
                "{\(members.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.plain)" }.joined(separator: ", "))}"
            case .null, .whole, .flag: shown
            }
        }
    }
#endif
