#if Configuration
    internal import Resilience

    typealias SettingTree = SettingValue

    extension SettingValue {
        static func texts(_ texts: [String]) -> SettingValue { .list(texts.map { .text($0) }) }
        static func numbers(_ numbers: [Double]) -> SettingValue { .list(numbers.map { .number($0) }) }

        /// The texts of a list of texts; nil if the value is not such a list.
        var texts: [String]? {
            guard case .list(let elements) = self else { return nil }
            let texts = elements.compactMap { if case .text(let text) = $0 { text } else { nil } }
            return texts.count == elements.count ? texts : nil
        }

        /// Returns this group with another one's values in place of its own.
        /// - Parameters:
        ///   - other: The replacing values.
        ///   - levels: How many levels of names are merged. Below them, the value of `other` replaces all of this one.
        func overridden(by other: SettingTree, levels: Int) -> SettingTree {
            guard levels > 0, case .group(let own) = self, case .group(let others) = other else { return other }
            return .group(own.merging(others) { $0.overridden(by: $1, levels: levels - 1) })
        }
    }
#endif
