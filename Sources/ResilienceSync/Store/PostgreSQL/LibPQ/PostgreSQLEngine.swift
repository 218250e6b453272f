#if PostgreSQL
    import CPostgreSQLSystem
    import Foundation
    import Resilience

    /// Runs statements with PostgreSQL's C client, libpq: its TLS, its authentication, its settings.
    ///
    /// ```swift
    /// let engine = try PostgreSQLEngine(
    ///     "postgresql://worker@db.example.com/app?sslmode=verify-full")
    /// let store = try await PostgreSQLStore(engine)
    /// ```
    ///
    /// It keeps a few connections, each on its own thread, so a slow server never holds up Swift's threads. A statement
    /// that takes too long fails, and its connection is closed; the server also ends the statement. The next statement
    /// replaces a lost connection.
    ///
    /// With two connections or more, transactions use all but one: the last is kept for single statements, such as the
    /// renewal of a store's lease, so slow transactions don't cost the lease. A transaction needs one more connection
    /// if its body runs another transaction, or an `enqueue` without its session.
    ///
    /// Errors show neither the password nor libpq's texts about the connection string. An error about an unreachable
    /// server names its address, and the server's own messages may name the user and the database.
    public final class PostgreSQLEngine: StatementEngine {
        private enum Use { case statement, transaction }

        private struct Waiter {
            let number: Int
            let use: Use
            let continuation: CheckedContinuation<LibPQThread?, any Error>
        }

        private struct State {
            var threads: [LibPQThread] = []
            var free: [LibPQThread] = []
            /// The number of threads in use by transactions.
            var transactions = 0
            var waiting: [Waiter] = []
            var last = 0
            /// Also runs single statements, while it listens and is not busy.
            var listener: LibPQListener?
        }

        private let settings: LibPQSettings
        private let most: Int
        private let state = Locked(State())

        /// Creates an engine.
        ///
        /// It connects with the first statement.
        ///
        /// - Parameters:
        ///   - connection: libpq's connection string: an address `postgresql://…`, or pairs `keyword=value`. Missing
        ///     parts come from the environment, such as `PGPASSWORD`, and from libpq's files.
        ///   - connections: The most connections, 1 or more; 4 by default. Listening needs one more, which also runs
        ///     single statements. Other connections are closed after two unused seconds.
        ///   - deadline: How long a statement may take, including the wait for a connection and making it, more than
        ///     0; 30 s by default. Less than 1 ms counts as 1 ms, and more than a day as a day. It does not bound the
        ///     lookup of a host's name.
        ///   - setsTimeouts: Whether each connection sets `statement_timeout` and `idle_in_transaction_session_timeout`
        ///     to the deadline, and `default_transaction_isolation` to `READ COMMITTED`; true by default. Turn it off
        ///     behind PgBouncer's transaction pooling, where they would remain on the server's connection. Then, if the
        ///     database's default is another level, each single statement gets a transaction at `READ COMMITTED` around
        ///     it, with two more round trips.
        /// - Throws: ``StatementError`` if the connection string can't be read.
        public init(
            _ connection: String, connections: Int = 4, deadline: Duration = .seconds(30), setsTimeouts: Bool = true
        ) throws {
            let checks = SettingChecks("PostgreSQLEngine")
            most = checks.atLeast(1, connections, "connections")
            settings = try LibPQSettings(
                connection,
                // Its milliseconds must fit in the server's and the system's settings, which have 32 bits.
                deadline: min(max(checks.aboveZero(deadline, "deadline"), .milliseconds(1)), .seconds(86_400)),
                setsTimeouts: setsTimeouts)
        }

        deinit { for thread in state.withLock({ $0.threads }) { thread.end() } }

        @discardableResult
        public func run(_ statement: String, _ values: [StatementValue] = []) async throws -> [[StatementValue]] {
            let deadline = self.deadline
            if let listener = state.withLock({ $0.listener }),
                let result = await listener.run(statement, values, until: deadline)
            {
                return try result.get().rows
            }
            return try await withThread(for: .statement, until: deadline) { thread in
                try await thread.run(statement, values, .alone, until: deadline).rows
            }
        }

        /// Runs a body in a transaction at `READ COMMITTED`, which is committed when the body returns, or rolled back
        /// if it throws.
        ///
        /// - Parameter body: Receives the transaction's session. Statements wait for each other. After the body, the
        ///   session can't be used any more, and throws.
        /// - Returns: The result of the body.
        /// - Throws: The error of the body; ``StatementError``; `CancellationError` if the task is cancelled while it
        ///   waits for a connection.
        @discardableResult
        public func transaction<R: Sendable>(
            _ body: @Sendable (_ session: any StatementSession) async throws -> R
        ) async throws -> R {
            let deadline = self.deadline
            return try await withThread(for: .transaction, until: deadline) { thread in
                _ = try await thread.run("BEGIN ISOLATION LEVEL READ COMMITTED", [], .first, until: deadline)
                let session = Session(thread: thread, length: self.settings.deadline)
                let result: R
                do {
                    result = try await body(session)
                } catch {
                    await session.end()
                    let rollback = try? await thread.run("ROLLBACK", [], .within, until: self.deadline)
                    if rollback == nil { thread.disconnect() }
                    throw error
                }
                await session.end()
                let commit = try await thread.run("COMMIT", [], .within, until: self.deadline)
                guard commit.tag == "COMMIT" else {
                    throw StatementError(
                        sqlState: "25P02", message: "The transaction was rolled back, because a statement in it failed."
                    )
                }
                return result
            }
        }

        public func notifications(on channel: String) -> AsyncStream<String>? {
            let listener = LibPQListener(channel, settings)
            state.withLock { $0.listener = listener }
            return listener.notifications()
        }

        private var deadline: MonotonicInstant { SystemTimeBase.shared.now + settings.deadline }

        private final class Session: ExclusiveSession {
            private struct Open: StatementSession {
                let thread: LibPQThread
                let length: Duration

                func run(_ statement: String, _ values: [StatementValue]) async throws -> [[StatementValue]] {
                    try await thread.run(
                        statement, values, .within, until: SystemTimeBase.shared.now + length
                    ).rows
                }
            }

            private let open: Open
            private let turns = Turns()
            private let isOver = Locked(false)

            init(thread: LibPQThread, length: Duration) { open = Open(thread: thread, length: length) }

            func run(_ statement: String, _ values: [StatementValue]) async throws -> [[StatementValue]] {
                try await exclusively { try await $0.run(statement, values) }
            }

            func exclusively<R: Sendable>(_ body: (any StatementSession) async throws -> R) async throws -> R {
                try await turns.alone {
                    guard !isOver.withLock({ $0 }) else {
                        throw StatementError(
                            message: "The transaction has ended, so its session can't be used any more.")
                    }
                    return try await body(open)
                }
            }

            /// Returns when the running statement has ended: afterwards another transaction may have the connection.
            func end() async {
                await turns.alone { isOver.withLock { $0 = true } }
            }
        }

        // MARK: The pool

        private var mostTransactions: Int { max(1, most - 1) }

        private func withThread<R: Sendable>(
            for use: Use, until deadline: MonotonicInstant, _ body: (LibPQThread) async throws -> R
        ) async throws -> R {
            let thread = try await take(for: use, until: deadline)
            defer { giveBack(thread, from: use) }
            return try await body(thread)
        }

        private func available(for use: Use, _ state: inout State) -> LibPQThread? {
            guard use == .statement || state.transactions < mostTransactions else { return nil }
            guard let thread = state.free.popLast() ?? newThread(&state) else { return nil }
            if use == .transaction { state.transactions += 1 }
            return thread
        }

        private func newThread(_ state: inout State) -> LibPQThread? {
            guard state.threads.count < most else { return nil }
            let thread = LibPQThread(settings)
            state.threads.append(thread)
            return thread
        }

        /// Cancelling the task ends a transaction's wait. It does not end a single statement's wait: the queue uses
        /// single statements to store the results of what it has sent.
        private func take(for use: Use, until deadline: MonotonicInstant) async throws -> LibPQThread {
            let (thread, number) = state.withLock { state -> (LibPQThread?, Int) in
                state.last += 1
                return (available(for: use, &state), state.last)
            }
            if let thread { return thread }
            let alarm = SystemTimeBase.shared.schedule(at: deadline) { [weak self] in
                self?.waiter(number)?.resume(returning: nil)
            }
            defer { SystemTimeBase.shared.cancel(alarm) }
            let given = try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    let answer = state.withLock { state -> Result<LibPQThread, any Error>? in
                        // The cancellation handler has already run, or will find this waiter.
                        if use == .transaction, Task.isCancelled { return .failure(CancellationError()) }
                        // A thread may have come back meanwhile.
                        if let thread = available(for: use, &state) { return .success(thread) }
                        state.waiting.append(Waiter(number: number, use: use, continuation: continuation))
                        return nil
                    }
                    if let answer { continuation.resume(with: answer.map { Optional($0) }) }
                }
            } onCancel: {
                if use == .transaction { waiter(number)?.resume(throwing: CancellationError()) }
            }
            guard let given else {
                throw StatementError(message: "All connections, of \(most), were in use for too long.")
            }
            return given
        }

        /// Removes a waiter.
        private func waiter(_ number: Int) -> CheckedContinuation<LibPQThread?, any Error>? {
            state.withLock { state in
                state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0).continuation }
            }
        }

        private func giveBack(_ thread: LibPQThread, from use: Use) {
            let next = state.withLock { state -> CheckedContinuation<LibPQThread?, any Error>? in
                if use == .transaction { state.transactions -= 1 }
                let mayBegin = state.transactions < mostTransactions
                guard let index = state.waiting.firstIndex(where: { $0.use == .statement || mayBegin }) else {
                    state.free.append(thread)
                    return nil
                }
                let waiter = state.waiting.remove(at: index)
                if waiter.use == .transaction { state.transactions += 1 }
                return waiter.continuation
            }
            next?.resume(returning: thread)
        }
    }
#endif
