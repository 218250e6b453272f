#if Redis
    import Dispatch
    import Resilience

    /// Redis 5 or newer, or Valkey, as the engine of a ``Fleet``: one connection, on hiredis.
    ///
    /// ```swift
    /// let engine = RedisEngine(host: "10.0.0.7", user: "limits", password: password)
    /// ```
    ///
    /// - Calls that come while one is in flight go together in the next batch, on one connection.
    /// - A script runs by its hash (`EVALSHA`), and is sent once if the server does not know it. A call without an
    ///   answer is not repeated.
    /// - The connection is closed after any timeout, connection error, unreadable answer, or `READONLY`: a late answer
    ///   would be taken for the answer to the next command, and a server that has become a replica stays one. The next
    ///   call connects again, and resolves the name again.
    /// - There is no TLS, since hiredis has none before version 1.0. Between machines use a private network or a
    ///   tunnel, or a client of your own as the ``ScriptEngine``. Redirections of a cluster (`MOVED`) are not followed.
    public final class RedisEngine: ScriptEngine {
        struct Job {
            let script: EngineScript
            let keys: [String]
            let arguments: [String]
            let deadline: Int64
            let continuation: CheckedContinuation<[Int64], any Error>
        }

        private struct State: ~Copyable {
            var jobs: [Job] = []
            var isWorking = false
            var connection: RedisConnection?
        }

        private let address: RedisAddress
        private let greeting: [[String]]
        private let timeout: Int64
        private let state = Locked(State())
        private let queue = DispatchQueue(label: "RedisEngine")

        /// Creates an engine.
        ///
        /// It connects when it is first used.
        ///
        /// - Parameters:
        ///   - host: The server's name or address.
        ///   - port: The server's port.
        ///   - user: The user's name; nil for the default user.
        ///   - password: The password; nil for none.
        ///   - database: The number of the database.
        ///   - timeout: How long a call may take, including any connection; above 0. An unresponsive name server may
        ///     take longer.
        public convenience init(
            host: String = "127.0.0.1", port: UInt16 = 6379, user: String? = nil, password: String? = nil,
            database: Int = 0, timeout: Duration = .milliseconds(50)
        ) {
            self.init(.host(host, port), user, password, database, timeout)
        }

        /// Creates an engine on a Unix domain socket.
        ///
        /// It connects when it is first used.
        ///
        /// - Parameters:
        ///   - path: The path of the socket.
        ///   - user: The user's name; nil for the default user.
        ///   - password: The password; nil for none.
        ///   - database: The number of the database.
        ///   - timeout: How long a call may take, including any connection; above 0.
        public convenience init(
            unixSocket path: String, user: String? = nil, password: String? = nil, database: Int = 0,
            timeout: Duration = .milliseconds(50)
        ) {
            self.init(.path(path), user, password, database, timeout)
        }

        private init(
            _ address: RedisAddress, _ user: String?, _ password: String?, _ database: Int, _ timeout: Duration
        ) {
            let checks = SettingChecks("RedisEngine")
            self.address = address
            var greeting: [[String]] = []
            if let password { greeting.append(["AUTH"] + (user.map { [$0] } ?? []) + [password]) }
            if checks.atLeast(0, database, "database") > 0 { greeting.append(["SELECT", "\(database)"]) }
            self.greeting = greeting
            self.timeout = checks.aboveZero(timeout, "timeout").saturatedNanoseconds
        }

        public func run(_ script: EngineScript, keys: [String], arguments: [String]) async throws -> [Int64] {
            let deadline = RedisConnection.now.saturatingAdding(timeout)
            return try await withCheckedThrowingContinuation { continuation in
                let job = Job(
                    script: script, keys: keys, arguments: arguments, deadline: deadline, continuation: continuation)
                let starts = state.withLock { state in
                    state.jobs.append(job)
                    defer { state.isWorking = true }
                    return !state.isWorking
                }
                // It blocks until the server answers, so not in a task.
                if starts { queue.async { self.work() } }
            }
        }

        private func work() {
            while let jobs = takeJobs() {
                var kept = serve(jobs)
                state.withLock { $0.connection = kept.take() }
            }
        }

        /// - Returns: The connection, if it can serve the next batch.
        private func serve(_ jobs: [Job]) -> sending RedisConnection? {
            var connection: RedisConnection
            do throws(RedisEngineError) {
                connection = try open(until: jobs[0].deadline)
            } catch {
                for job in jobs { job.continuation.resume(throwing: error) }
                return nil
            }
            var unknown: [Job] = []
            var isGood = exchange(jobs, on: &connection, asSource: false, unknown: &unknown)
            if isGood, !unknown.isEmpty {
                let sources = unknown
                unknown = []
                isGood = exchange(sources, on: &connection, asSource: true, unknown: &unknown)
            }
            // These did not run, and are not repeated.
            for job in unknown {
                job.continuation.resume(throwing: RedisEngineError.noAnswer("the connection is lost"))
            }
            guard isGood else { return nil }
            return consume connection
        }

        private func open(until deadline: Int64) throws(RedisEngineError) -> sending RedisConnection {
            let idle = state.withLock { $0.connection.take() }
            if let idle, !idle.hasEnded { return idle }
            var connection = try RedisConnection(to: address, until: deadline)
            for words in greeting {
                try connection.send(RedisCommand.bytes(words), until: deadline)
                // The answer names the problem, but never the password.
                if case .error(let message) = try connection.receive(until: deadline) {
                    throw .rejected("\(words[0]): \(message)")
                }
            }
            return connection
        }

        /// Sends jobs, reads their answers, and resumes them, except those whose script the server does not know.
        /// - Returns: Whether the connection is still good.
        private func exchange(
            _ jobs: [Job], on connection: inout RedisConnection, asSource: Bool, unknown: inout [Job]
        ) -> Bool {
            var (bytes, sent): ([UInt8], [Job]) = ([], [])
            let now = RedisConnection.now
            for job in jobs {
                guard now < job.deadline else {
                    job.continuation.resume(throwing: RedisEngineError.noAnswer("not sent in time"))
                    continue
                }
                let script = asSource ? ["EVAL", job.script.source] : ["EVALSHA", job.script.sha1]
                bytes += RedisCommand.bytes(script + ["\(job.keys.count)"] + job.keys + job.arguments)
                sent.append(job)
            }
            guard let first = sent.first else { return true }
            var (done, isGood) = (0, true)
            do throws(RedisEngineError) {
                try connection.send(bytes, until: first.deadline)
                for job in sent {
                    let reply = try connection.receive(until: job.deadline)
                    done += 1
                    switch reply {
                    case .error(let message) where message.hasPrefix("NOSCRIPT") && !asSource:
                        unknown.append(job)
                    case .error(let message):
                        // Within a script the word is not at the beginning.
                        if message.contains("READONLY") { isGood = false }
                        job.continuation.resume(throwing: RedisEngineError.rejected(message))
                    default:
                        if let words = reply.integers {
                            job.continuation.resume(returning: words)
                        } else {
                            job.continuation.resume(throwing: UnreadableAnswer(script: job.script.name))
                        }
                    }
                }
            } catch {
                isGood = false
                for job in sent[done...] { job.continuation.resume(throwing: error) }
            }
            return isGood
        }

        private static let largestBatch = 256

        private func takeJobs() -> [Job]? {
            state.withLock { state in
                guard !state.jobs.isEmpty else {
                    state.isWorking = false
                    return nil
                }
                let batch = Array(state.jobs.prefix(Self.largestBatch))
                state.jobs.removeFirst(batch.count)
                return batch
            }
        }
    }
#endif
