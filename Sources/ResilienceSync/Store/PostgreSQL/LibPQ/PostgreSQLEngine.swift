#if PostgreSQL
    import CPostgreSQLSystem
    import Foundation
    import Resilience

    /// Runs statements on PostgreSQL's C client, libpq: its TLS, its ways to authenticate, its settings.
    ///
    /// ```swift
    /// let engine = try PostgreSQLEngine(
    ///     "postgresql://worker@db.example.com/app?sslmode=verify-full")
    /// let store = try await PostgreSQLStore(engine)
    /// ```
    ///
    /// It keeps a few connections, each on a thread of its own, so a slow server never holds up Swift's own threads. A
    /// statement that takes too long fails, and its connection is closed; the server ends the statement, too. A
    /// connection that was lost is made again with the next statement. Errors never show the connection's settings.
    public final class PostgreSQLEngine: StatementEngine {
        private struct State {
            var threads: [LibPQThread] = []
            var free: [LibPQThread] = []
            var waiting: [(number: Int, continuation: CheckedContinuation<LibPQThread?, Never>)] = []
            var last = 0
        }

        private let settings: LibPQSettings
        private let most: Int
        private let state = Locked(State())

        /// Creates an engine. It connects with the first statement.
        ///
        /// - Parameters:
        ///   - connection: libpq's connection string: an address `postgresql://…`, or pairs `keyword=value`. What it
        ///     leaves out comes from the environment, such as `PGPASSWORD`, and from libpq's files.
        ///   - connections: The most connections, 1 or more; 4 by default. Listening needs one more.
        ///   - deadline: How long a statement may take, with waiting for a connection and making it, more than 0; 30 s by
        ///     default. Looking up a host's name is not bounded by it.
        ///   - setsTimeouts: Whether each connection sets `statement_timeout` and
        ///     `idle_in_transaction_session_timeout` to the deadline; true by default. Turn it off behind PgBouncer's
        ///     transaction pooling, where they would stay with the server's connection.
        /// - Throws: ``StatementError`` if the connection string can't be read.
        public init(
            _ connection: String, connections: Int = 4, deadline: Duration = .seconds(30), setsTimeouts: Bool = true
        ) throws {
            let checks = SettingChecks("PostgreSQLEngine")
            most = checks.atLeast(1, connections, "connections")
            settings = try LibPQSettings(
                connection, deadline: checks.aboveZero(deadline, "deadline"), setsTimeouts: setsTimeouts)
        }

        deinit { for thread in state.withLock({ $0.threads }) { thread.end() } }

        @discardableResult
        public func run(_ statement: String, _ values: [StatementValue] = []) async throws -> [[StatementValue]] {
            let deadline = self.deadline
            return try await withThread(until: deadline) { thread in
                try await thread.run(statement, values, continues: false, until: deadline).rows
            }
        }

        @discardableResult
        public func transaction<R: Sendable>(
            _ body: @Sendable (_ session: any StatementSession) async throws -> R
        ) async throws -> R {
            let deadline = self.deadline
            return try await withThread(until: deadline) { thread in
                _ = try await thread.run(
                    "BEGIN ISOLATION LEVEL READ COMMITTED", [], continues: false, until: deadline)
                let result: R
                do {
                    result = try await body(Session(thread: thread, length: self.settings.deadline))
                } catch {
                    let rollback = try? await thread.run("ROLLBACK", [], continues: true, until: self.deadline)
                    if rollback == nil { thread.disconnect() }
                    throw error
                }
                let commit = try await thread.run("COMMIT", [], continues: true, until: self.deadline)
                guard commit.tag == "COMMIT" else {
                    throw StatementError(
                        sqlState: "25P02", message: "The transaction was rolled back, because a statement in it failed."
                    )
                }
                return result
            }
        }

        public func notifications(on channel: String) -> AsyncStream<Void>? {
            LibPQListener.notifications(on: channel, settings)
        }

        private var deadline: MonotonicInstant { SystemTimeBase.shared.now + settings.deadline }

        private struct Session: StatementSession {
            let thread: LibPQThread
            let length: Duration

            func run(_ statement: String, _ values: [StatementValue]) async throws -> [[StatementValue]] {
                try await thread.run(
                    statement, values, continues: true, until: SystemTimeBase.shared.now + length
                ).rows
            }
        }

        // MARK: The pool

        private func withThread<R: Sendable>(
            until deadline: MonotonicInstant, _ body: (LibPQThread) async throws -> R
        ) async throws -> R {
            let thread = try await take(until: deadline)
            defer { giveBack(thread) }
            return try await body(thread)
        }

        private func take(until deadline: MonotonicInstant) async throws -> LibPQThread {
            let (thread, number) = state.withLock { state -> (LibPQThread?, Int) in
                state.last += 1
                if let free = state.free.popLast() { return (free, 0) }
                guard state.threads.count < most else { return (nil, state.last) }
                let thread = LibPQThread(settings)
                state.threads.append(thread)
                return (thread, 0)
            }
            if let thread { return thread }
            let alarm = SystemTimeBase.shared.schedule(at: deadline) { [weak self] in
                let late = self?.state.withLock { state in
                    state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0).continuation }
                }
                late?.resume(returning: nil)
            }
            defer { SystemTimeBase.shared.cancel(alarm) }
            let given = await withCheckedContinuation { continuation in
                let thread = state.withLock { state -> LibPQThread? in
                    // One may have come back meanwhile.
                    if let free = state.free.popLast() { return free }
                    state.waiting.append((number, continuation))
                    return nil
                }
                if let thread { continuation.resume(returning: thread) }
            }
            guard let given else {
                throw StatementError(message: "All \(most) connections were in use for too long.")
            }
            return given
        }

        private func giveBack(_ thread: LibPQThread) {
            let next = state.withLock { state -> CheckedContinuation<LibPQThread?, Never>? in
                guard !state.waiting.isEmpty else {
                    state.free.append(thread)
                    return nil
                }
                return state.waiting.removeFirst().continuation
            }
            next?.resume(returning: thread)
        }
    }
#endif
