import Resilience

/// Lets one task at a time continue. The others wait, in order.
final class Turns: Sendable {
    private let state = Locked<(isTaken: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))

    func alone<R>(_ body: () async throws -> R) async rethrows -> R {
        await take()
        defer { giveBack() }
        return try await body()
    }

    private func take() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                defer { state.isTaken = true }
                if state.isTaken { state.waiting.append(continuation) }
                return !state.isTaken
            }
            if isFree { continuation.resume() }
        }
    }

    private func giveBack() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.isTaken = false
            return nil
        }
        next?.resume()
    }
}

/// A session that can keep several statements together, while all others wait.
protocol ExclusiveSession: StatementSession {
    func exclusively<R: Sendable>(_ body: (any StatementSession) async throws -> R) async throws -> R
}

/// The transactions with appends in progress, for sessions of other engines: two concurrent appends to one transaction
/// would undo each other's work with their savepoints.
enum TransactionTurns {
    private static let users = Locked<[String: (turns: Turns, count: Int)]>([:])

    static func alone<R: Sendable>(
        in session: any StatementSession, _ body: (any StatementSession) async throws -> R
    ) async throws -> R {
        if let session = session as? any ExclusiveSession { return try await session.exclusively(body) }
        // Not a session's address: several values may represent one connection.
        let rows = try await session.run(
            """
            SELECT format('%s %s %s', extract(epoch FROM pg_postmaster_start_time()), pg_backend_pid(),
            pg_current_xact_id())
            """, [])
        guard let transaction = rows.first?.first?.text else {
            throw StatementError(message: "The engine did not return the transaction's number as a text.")
        }
        let turns = users.withLock { users in
            let turns = users[transaction]?.turns ?? Turns()
            users[transaction] = (turns, (users[transaction]?.count ?? 0) + 1)
            return turns
        }
        defer {
            users.withLock { users in
                let left = (users[transaction]?.count ?? 1) - 1
                users[transaction] = left == 0 ? nil : (turns, left)
            }
        }
        return try await turns.alone { try await body(session) }
    }
}
