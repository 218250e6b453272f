package import Resilience

/// The request of one call, with credentials that its attempts and its copies renew one at a time.
package final class RenewedRequest<Request: Sendable>: Sendable {
    /// The request for an attempt to send.
    package struct Version: Sendable {
        package let request: Request
        fileprivate let number: Int
    }

    private struct State {
        var version: Version
        /// Whether the request may still be renewed.
        var mayRenew = true
    }

    private let state: Locked<State>
    /// If several copies are answered with 401 at the same time, one renews the request, and the others wait for it.
    private let turn: Bulkhead?

    /// - Parameter mayRenew: Whether credentials can be renewed.
    package init(_ request: Request, mayRenew: Bool, on timeBase: any TimeBase) {
        state = Locked(State(version: Version(request: request, number: 0)))
        turn = mayRenew ? Bulkhead("credentials", limit: 1, queue: .max, timeBase: timeBase) : nil
    }

    package var latest: Version { state.withLock { $0.version } }

    /// Returns the request to send after a 401; nil to keep the 401.
    /// - Parameters:
    ///   - version: The request that was sent.
    ///   - isOnlyTry: Whether a failed renewal is not tried again.
    ///   - renew: Makes the request with new credentials; nil for none.
    package nonisolated(nonsending) func renewed(
        after version: Version, isOnlyTry: Bool,
        _ renew: nonisolated(nonsending) (Request) async throws -> Request?
    ) async throws -> Version? {
        try await turn?.run {
            let (latest, mayRenew) = state.withLock { state in
                let answer = (state.version, state.mayRenew)
                if isOnlyTry, state.version.number == version.number { state.mayRenew = false }
                return answer
            }
            guard latest.number == version.number else { return latest }
            guard mayRenew, let request = try await renew(latest.request) else { return nil }
            let next = Version(request: request, number: latest.number + 1)
            state.withLock { state in
                state.mayRenew = false
                state.version = next
            }
            return next
        }
    }
}
