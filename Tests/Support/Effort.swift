import Foundation
import Resilience
package import ResilienceTesting

/// How far the explorations go: 1, or what the environment's `RESILIENCE_EFFORT` says. Above 1 they tell what they walked.
///
///     RESILIENCE_EFFORT=200 swift test -c release -Xswiftc -enable-testing --filter ExplorationTests
package enum Effort {
    package static let level = max(1, ProcessInfo.processInfo.environment["RESILIENCE_EFFORT"].flatMap { Int($0) } ?? 1)
}

extension Explorer {
    /// Meets every state there is, or as many as so many transitions for each unit of effort can.
    package func explore(transitionsPerEffort transitions: Int = .max) throws -> Exploration {
        try told(exploreAll(transitions: transitions.saturatingMultiplied(by: Effort.level)))
    }

    /// One walk for each unit of effort.
    @discardableResult
    package func exploreRandomly(length: Int, seed: UInt64) throws -> Exploration {
        try told(exploreRandomly(walks: Effort.level, length: length, seed: seed))
    }

    private func told(_ exploration: Exploration) -> Exploration {
        if Effort.level > 1 { print("\(code): \(exploration)") }
        return exploration
    }
}
