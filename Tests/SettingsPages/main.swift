// Writes the page of all settings and the JSON Schema of settings files from the code: schemas define the settings, and
// the comments of their properties explain them. `settings-pages` compares them with the checked-in files,
// `settings-pages --update` writes them.

#if Configuration
    import Foundation
    import Resilience
    import ResilienceConfiguration
    import ResilienceTraffic

    private var groups: [any SettingsGroup.Type] = [
        Pipeline.AllSettings.self, EndpointPoolSettings.self, CallCacheSettings.self,
    ]
    private var next = 0
    while next < groups.count {
        for inner in groups[next].facts.compactMap(\.type.group) where !groups.contains(where: { $0 == inner }) {
            groups.append(inner)
        }
        next += 1
    }

    private let page = "Sources/ResilienceConfiguration/ResilienceConfiguration.docc/ConfigurationSchema.md"
    private let mark = "## The groups\n"
    private let head = try String(contentsOfFile: page, encoding: .utf8).components(separatedBy: mark)[0]
    private let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    private let schema = try encoder.encode(
        ConfiguredPipelinesOf<Pipeline.AllSettings>.jsonSchema { Sources.comment(of: $1, in: $0).filter { $0 != "`" } })
    private let made = [
        page: head + mark + groups.map { $0.section }.joined(),
        "Docs/settings.schema.json": String(decoding: schema, as: UTF8.self) + "\n",
    ]

    for (path, text) in made {
        if CommandLine.arguments.contains("--update") {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        } else if (try? String(contentsOfFile: path, encoding: .utf8)) != text {
            fail("\(path) is not what the code says: .ci/docs --update writes it")
        }
    }

    private func fail(_ problem: String) -> Never {
        FileHandle.standardError.write(Data("\(problem)\n".utf8))
        exit(1)
    }

    private enum Sources {
        private static let all = ((try? FileManager.default.subpathsOfDirectory(atPath: "Sources")) ?? []).sorted()
            .filter { $0.hasSuffix(".swift") }
            .map { path in
                (
                    folder: path.split(separator: "/").dropLast(),
                    text: (try? String(contentsOfFile: "Sources/\(path)", encoding: .utf8)) ?? ""
                )
            }

        /// The first paragraph of the comment on a setting's property: the last such property before the schema, or
        /// else the first after it, or one in another file of the folder.
        static func comment(of setting: String, in group: String) -> String {
            // A pipeline's schema comes last, with all policies.
            let mark = group == "Pipeline" ? "\"Pipeline\", places: places)" : "\"\(group)\", standard"
            guard let source = all.last(where: { $0.text.contains(mark) }),
                let schema = source.text.firstRange(of: mark)
            else { fail("no source has the schema of \(group)") }
            let (before, after) = (source.text[..<schema.lowerBound], source.text[schema.upperBound...])
            let path = /"(\w+)",\s*\\\w*\.([\w.]+)/
            let property =
                [after, before].lazy.flatMap { $0.matches(of: path) }.first { $0.1 == setting }
                .flatMap { $0.2.split(separator: ".").last.map(String.init) } ?? setting
            guard
                let comment = try? Regex(
                    "((?: *///[^\n]*\n)+)[\\w() ]*\\b(?:var|let) \(property)\\b", as: (Substring, Substring).self)
            else { fail("\(property) is no name") }
            let siblings = (all.filter { $0.folder == source.folder } + all).lazy
            guard
                let found = before.matches(of: comment).last ?? after.firstMatch(of: comment)
                    ?? siblings.compactMap({ $0.text.firstMatch(of: comment) }).first
            else { fail("the property \(property) of \(group) has no comment") }
            return found.1.split(separator: "\n", omittingEmptySubsequences: false).map {
                $0.drop { " /".contains($0) }
            }
            .prefix { !$0.isEmpty }.joined(separator: " ")
            // Facts that the table already shows.
            .replacing(/[;,] (?:above )?[\d. ]+(?:…[\d. ]+)?(?: s)?(?: or more)?(?=[;,]|\.(?!\d))/, with: "")
            .replacing(/[;,] nil for none(?=[.;,])/, with: "")
            .replacing(/[;,] by default (?:[^;,.( ]|\.\d|\(\)| (?!\())+/, with: "")
            .replacing(", the default,", with: "")
            .replacing(/[;,] [^;,]+ by default(?=[.;,])/, with: "").replacing(/[;,] required(?=[.;,])/, with: "")
            .replacing(/``(?:\w+\/)*(\w+)[^`]*``/) { "`\($0.1)`" }
            .replacing(". nil", with: ". None").replacing(/\bnil\b/, with: "none")
        }
    }

    extension SettingsGroup {
        private static var title: String {
            let words = subject.split(separator: ".").last.map(String.init) ?? ""
            return words.prefix(1) + words.dropFirst().map { $0.isUppercase ? " \($0.lowercased())" : "\($0)" }.joined()
        }

        /// As Markdown, with a table of the settings.
        fileprivate static var section: String {
            let rows = facts.map { setting in
                let comment =
                    setting.name == "kind"
                    ? "The kind, which decides what other settings the group has."
                    : Sources.comment(of: setting.name, in: subject)
                return
                    "| `\(setting.name)` | \(value(of: setting.type, setting.range)) | \(standard(of: setting)) "
                    + "| \(comment) |\n"
            }
            return "\n### \(title)\n\n| key | value | default | |\n|---|---|---|---|\n" + rows.joined()
        }

        private static func value(of type: SettingType, _ range: SettingRange) -> String {
            func text(_ number: Double) -> String { number == number.rounded() ? "\(Int(number))" : "\(number)" }
            let bounds =
                switch range {
                case .any, .failures: ""
                case .atLeast(let least): ", \(text(least)) or more"
                case .above(let least): ", above \(text(least))"
                case .within(let least, let most): ", \(text(least)) to \(text(most))"
                case .aboveUpTo(let least, let most): ", above \(text(least)), at most \(text(most))"
                case .between(let least, let most): ", above \(text(least)), below \(text(most))"
                }
            return switch type {
            case .whole: "whole number" + bounds
            case .number: "number" + bounds
            case .seconds: "seconds" + bounds
            case .flag: "`true` or `false`"
            case .text: "text"
            case .choice(let names):
                range.choices(among: names).map { "`\($0)`" }.joined(separator: ", ")
            case .group(let group): "[\(group.title.lowercased())](#\(group.title.replacing(" ", with: "-")))"
            case .list(let element): "list of " + value(of: element, range)
            }
        }

        private static func standard(of setting: SettingFacts) -> String {
            if setting.name == "kind" { return "must be given" }
            var texts: [(text: String, kinds: [String])] = []
            for form in forms where form.facts.contains(where: { $0.name == setting.name }) {
                // The kind decides whether it is required.
                guard let setting = form.facts.first(where: { $0.name == setting.name }) else { continue }
                let text =
                    switch setting.need {
                    case .required: "must be given"
                    case .conditional(let text): text
                    case .defaulted: form.standard(of: setting).map { "`\($0.json)`" } ?? "none"
                    }
                if let index = texts.firstIndex(where: { $0.text == text }) {
                    texts[index].kinds.append(form.kind ?? "")
                } else {
                    texts.append((text, [form.kind ?? ""]))
                }
            }
            if texts.count == 1, texts[0].kinds.count == forms.count { return texts[0].text }
            return texts.map { "\($0.text) (\($0.kinds.map { "`\($0)`" }.joined(separator: ", ")))" }.joined(
                separator: ", ")
        }
    }

    extension SettingValue {
        fileprivate var json: String {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: (try? encoder.encode(self)) ?? Data(), as: UTF8.self)
        }
    }
#endif
