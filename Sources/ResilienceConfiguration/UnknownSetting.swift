#if Configuration
    internal import Resilience

    /// A name in a settings file that nothing reads.
    public struct UnknownSetting: Sendable, Hashable, CustomStringConvertible {
        /// Its path, such as "resilience.pipelines.catalog.retry.maxRetires".
        public let path: String
        /// The most similar name; nil if there is none.
        public let suggestion: String?

        /// Creates an unknown setting.
        ///
        /// - Parameters:
        ///   - path: Its path.
        ///   - suggestion: The most similar name.
        public init(path: String, suggestion: String? = nil) {
            self.path = path
            self.suggestion = suggestion
        }

        public var description: String {
            "nothing reads \(path)" + (suggestion.map { "; did you mean \($0)?" } ?? "")
        }
    }

    extension UnknownSetting {
        /// Finds the names that nothing reads.
        ///
        /// A pipeline or registry that nobody has requested yet is treated as if it were requested.
        /// - Parameters:
        ///   - keys: All keys of the file, each as the names on its path.
        ///   - kind: The type of the pipelines' settings.
        ///   - path: Where the settings are. Keys elsewhere are ignored.
        ///   - overrides: The names of a registry's overrides.
        static func all(
            among keys: [[String]], of kind: any PipelineSettings.Type, at path: [String],
            overrides: (_ registry: String) -> [String]
        ) -> [UnknownSetting] {
            var (found, seen): ([UnknownSetting], Set<String>) = ([], [])
            for key in keys where key.count > path.count && key.starts(with: path) {
                let own = key[path.count...]
                let unknown: (depth: Int, known: [String])? =
                    switch own.first {
                    case "pipelines": own.count > 2 ? kind.unknown(in: own.dropFirst(2)) : nil
                    case "registries":
                        own.count > 2 ? inRegistry(own.dropFirst(2), of: kind, overrides(own.dropFirst().first!)) : nil
                    default: (own.startIndex, ["pipelines", "registries"])
                    }
                guard let unknown else { continue }
                let path = key[...unknown.depth].joined(separator: ".")
                guard seen.insert(path).inserted else { continue }
                found.append(
                    UnknownSetting(path: path, suggestion: nearest(to: key[unknown.depth], among: unknown.known)))
            }
            return found
        }

        private static func inRegistry(
            _ path: ArraySlice<String>, of kind: any PipelineSettings.Type, _ overrides: [String]
        ) -> (depth: Int, known: [String])? {
            switch path.first {
            case "default": return kind.unknown(in: path.dropFirst())
            case "overrideNames": return nil
            case "overrides":
                let own = path.dropFirst()
                guard let name = own.first else { return nil }
                guard overrides.contains(name) else { return (own.startIndex, overrides) }
                return own.dropFirst().first == "key" ? nil : kind.unknown(in: own.dropFirst())
            default: return (path.startIndex, ["default", "overrideNames", "overrides"])
            }
        }

        /// The known name nearest to a misspelt name: a name that begins with it, or else a name in which few letters
        /// differ.
        static func nearest(to name: String, among known: [String]) -> String? {
            let own = Array(name.lowercased().utf8.prefix(100))
            guard !own.isEmpty else { return nil }
            if let longer = known.first(where: { $0.lowercased().hasPrefix(name.lowercased()) }) { return longer }
            let near = known.map { (name: $0, distance: distance(own, Array($0.lowercased().utf8.prefix(100)))) }
                .min { $0.distance < $1.distance }
            return near.flatMap { $0.distance <= max(1, own.count / 3) ? $0.name : nil }
        }

        /// The number of missing, extra, different, or swapped letters.
        private static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
            var (before, last) = ([Int](), Array(0...other.count))
            for row in 0..<one.count {
                var next = [row + 1]
                for column in 0..<other.count {
                    var least = min(last[column + 1] + 1, next[column] + 1)
                    least = min(least, last[column] + (one[row] == other[column] ? 0 : 1))
                    if row > 0, column > 0, one[row] == other[column - 1], one[row - 1] == other[column] {
                        least = min(least, before[column - 1] + 1)
                    }
                    next.append(least)
                }
                (before, last) = (last, next)
            }
            return last[other.count]
        }
    }

    extension SettingsGroup {
        /// The place of the first unknown name on a path in this group, and the names known there; nil if all names on
        /// the path are known.
        fileprivate static func unknown(in path: ArraySlice<String>) -> (depth: Int, known: [String])? {
            guard let name = path.first else { return nil }
            guard let field = field(named: name) else {
                // Such a likely misspelling is read, and rejected with a more helpful error.
                if path.count == 1, facts.contains(where: { $0.misspelt.contains(name) }) { return nil }
                return (path.startIndex, facts.map(\.name))
            }
            let rest = path.dropFirst()
            guard let inner = field.type.group else { return rest.isEmpty ? nil : (rest.startIndex, []) }
            // An element's number is checked when it is read.
            if case .list = field.type { return inner.unknown(in: rest.dropFirst()) }
            return inner.unknown(in: rest)
        }
    }
#endif
