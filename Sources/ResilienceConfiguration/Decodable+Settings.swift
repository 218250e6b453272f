#if Configuration
    import Resilience

    extension Decodable {
        /// Reads settings.
        /// - Parameters:
        ///   - tree: nil if nothing is given.
        ///   - subject: What they are settings of.
        static func read(_ tree: SettingTree?, at path: [String], of subject: String) throws(InvalidSettings) -> Self {
            do {
                return try Self(from: SettingDecoder(tree ?? .group([:]), at: path.map { SettingKey($0) }))
            } catch let error as InvalidSettings {
                throw error
            } catch {
                // Only a mistake in the decoding itself comes here.
                throw InvalidSettings(problems: [
                    InvalidSetting(
                        subject: subject, parameter: path.joined(separator: "."), value: "unreadable",
                        requirement: "must be settings with names: \(error)")
                ])
            }
        }
    }
#endif
