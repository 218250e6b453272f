import Foundation
import Resilience
package import ResilienceTesting

/// How far the explorations go: 1, or the environment's `RESILIENCE_EFFORT`. Above 1 they report their extent.
///
///     RESILIENCE_EFFORT=200 swift test -c release -Xswiftc -enable-testing --filter ExplorationTests
package enum Effort {
    package static let level = max(1, ProcessInfo.processInfo.environment["RESILIENCE_EFFORT"].flatMap { Int($0) } ?? 1)
}

extension Explorer {
    /// Visits every state, or as many as this number of transitions per unit of effort allows.
    package func explore(transitionsPerEffort transitions: Int = .max) throws -> Exploration {
        try told(exploreAll(transitions: transitions.saturatingMultiplied(by: Effort.level)))
    }

    /// One walk per unit of effort.
    @discardableResult
    package func exploreRandomly(length: Int, seed: UInt64) throws -> Exploration {
        try told(exploreRandomly(walks: Effort.level, length: length, seed: seed))
    }

    private func told(_ exploration: Exploration) -> Exploration {
        if Effort.level > 1 { print("\(code): \(exploration)") }
        return exploration
    }
}
