#if PostgreSQL
    import CPostgreSQLSystem
    import Dispatch
    import Foundation
    import Resilience

    /// How to reach a server. The settings may contain a password, so this is never printed.
    struct LibPQSettings: Sendable {
        /// Advice about a password that was read as another part of an address.
        static let advice =
            "In a postgresql:// address, a password's @, /, ?, : and % are written %40, %2F, %3F, %3A and %25."

        let connection: String
        let secrets: [String]
        /// Whether part of the password may have been read as another setting.
        let mayBeMisread: Bool
        let deadline: Duration
        let setsTimeouts: Bool

        /// - Throws: If libpq can't read the settings. Its own message would show parts of them.
        init(_ connection: String, deadline: Duration, setsTimeouts: Bool) throws(StatementError) {
            // libpq would read a text only up to a NUL.
            guard !connection.utf8.contains(0), let options = PQconninfoParse(connection, nil) else {
                throw StatementError(
                    message:
                        "The connection's settings can't be read: they are neither a postgresql:// address nor "
                        + "keyword=value pairs. \(Self.advice)"
                )
            }
            defer { PQconninfoFree(options) }
            var secrets: [String] = []
            var option = options
            while let keyword = option.pointee.keyword {
                if ["password", "sslpassword"].contains(String(cString: keyword)), let value = option.pointee.val {
                    secrets.append(String(cString: value))
                }
                option += 1
            }
            self.connection = connection
            self.secrets = secrets
            mayBeMisread = Self.mayBeMisread(connection)
            self.deadline = deadline
            self.setsTimeouts = setsTimeouts
        }

        /// In an address, an @ ends the password. A later @, or an @ after the host's part, may have been meant to end
        /// it.
        private static func mayBeMisread(_ connection: String) -> Bool {
            for scheme in ["postgresql://", "postgres://"] where connection.hasPrefix(scheme) {
                let parts = connection.dropFirst(scheme.count).split(separator: "@", omittingEmptySubsequences: false)
                return parts.count > 2 || parts.count == 2 && parts[0].contains { "/?".contains($0) }
            }
            return false
        }
    }

    /// A thread that owns one connection, and runs statements on it in order.
    final class LibPQThread: Sendable {
        enum Place: Sendable {
            /// The statement runs in its own transaction.
            case alone
            /// The statement begins a transaction.
            case first
            /// The statement belongs to an open transaction, so it needs that connection.
            case within
        }

        private enum Request: Sendable {
            case run(
                String, [StatementValue], Place, until: MonotonicInstant,
                CheckedContinuation<Result<LibPQConnection.Answer, StatementError>, Never>)
            case disconnect
            case end
        }

        /// A connection that is idle for this long is closed.
        private static let longestIdle = DispatchTimeInterval.seconds(2)

        private let requests = Locked<[Request]>([])
        private let arrived = DispatchSemaphore(value: 0)

        init(_ settings: LibPQSettings) {
            let thread = Thread { [requests = Mailbox(self)] in
                var connection: LibPQConnection?
                while true {
                    switch requests.next(until: connection == nil ? .distantFuture : .now() + Self.longestIdle) {
                    case nil:
                        // A transaction may wait for its next statement.
                        if connection?.isIdle == true { connection = nil }
                        continue
                    case .run(let statement, let values, let place, let deadline, let continuation):
                        let result = Self.run(
                            statement, values, place, until: deadline, on: &connection, settings)
                        continuation.resume(returning: result)
                    case .disconnect:
                        connection = nil
                    case .end:
                        return
                    }
                }
            }
            thread.name = "swift-resilience PostgreSQL"
            thread.start()
        }

        /// The thread's part, which outlives the engine until its last request is done.
        private struct Mailbox: Sendable {
            let thread: LibPQThread

            init(_ thread: LibPQThread) { self.thread = thread }

            /// - Returns: nil if no request has arrived by then.
            func next(until deadline: DispatchTime) -> Request? {
                guard thread.arrived.wait(timeout: deadline) == .success else { return nil }
                return thread.requests.withLock { $0.removeFirst() }
            }
        }

        private static func run(
            _ statement: String, _ values: [StatementValue], _ place: Place, until deadline: MonotonicInstant,
            on connection: inout LibPQConnection?, _ settings: LibPQSettings
        ) -> Result<LibPQConnection.Answer, StatementError> {
            do throws(StatementError) {
                if place != .within, connection?.isOpen != true {
                    connection = nil
                    connection = try LibPQConnection(settings, until: deadline)
                }
                guard let connection else {
                    return .failure(StatementError(message: "The connection was lost within the transaction."))
                }
                return .success(
                    place == .alone
                        ? try connection.runAlone(statement, values, until: deadline)
                        : try connection.run(statement, values, until: deadline))
            } catch {
                if error.isOutcomeUnknown || connection?.isOpen != true { connection = nil }
                return .failure(error)
            }
        }

        private func send(_ request: Request) {
            requests.withLock { $0.append(request) }
            arrived.signal()
        }

        func run(
            _ statement: String, _ values: [StatementValue], _ place: Place, until deadline: MonotonicInstant
        ) async throws -> LibPQConnection.Answer {
            try await withCheckedContinuation { continuation in
                send(.run(statement, values, place, until: deadline, continuation))
            }.get()
        }

        func disconnect() { send(.disconnect) }

        func end() { send(.end) }
    }

    /// A thread that listens to a channel, and runs statements meanwhile: a program that only listens needs one
    /// connection.
    final class LibPQListener: Sendable {
        private struct Request: Sendable {
            let statement: String
            let values: [StatementValue]
            let deadline: MonotonicInstant
            let continuation: CheckedContinuation<Result<LibPQConnection.Answer, StatementError>?, Never>
        }

        private enum Use { case isAway, isFree, isTaken(Request?) }

        /// A half-open connection looks like a quiet queue, so it is checked now and then.
        private static let pingInterval = Duration.seconds(60)

        private let settings: LibPQSettings
        private let channel: String
        private let use = Locked(Use.isAway)
        private let isOver = Locked(false)
        private let bell: LibPQBell?

        init(_ channel: String, _ settings: LibPQSettings) {
            self.settings = settings
            self.channel = "\"" + channel.replacingOccurrences(of: "\"", with: "\"\"") + "\""
            bell = LibPQBell()
        }

        func notifications() -> AsyncStream<String> {
            let (stream, continuation) = AsyncStream.makeStream(of: String.self)
            continuation.onTermination = { [weak self] _ in
                self?.isOver.withLock { $0 = true }
                self?.bell?.ring()
            }
            let thread = Thread { [self] in
                while !isDone {
                    let next = SystemTimeBase.shared.now + .seconds(1)
                    listen(continuation)
                    // At most one attempt a second. The loop also ends soon after the stream.
                    while !isDone, SystemTimeBase.shared.now < next { usleep(50_000) }
                }
            }
            thread.name = "swift-resilience PostgreSQL listener"
            thread.start()
            return stream
        }

        private var isDone: Bool { isOver.withLock { $0 } }

        /// - Returns: nil if it has no connection, or the connection is in use.
        func run(
            _ statement: String, _ values: [StatementValue], until deadline: MonotonicInstant
        ) async -> Result<LibPQConnection.Answer, StatementError>? {
            guard let bell else { return nil }
            return await withCheckedContinuation { continuation in
                let isTaken = use.withLock { use in
                    guard case .isFree = use else { return false }
                    use = .isTaken(
                        Request(statement: statement, values: values, deadline: deadline, continuation: continuation))
                    return true
                }
                isTaken ? bell.ring() : continuation.resume(returning: nil)
            }
        }

        /// Returns when the connection is lost, or the listeners are gone.
        private func listen(_ continuation: AsyncStream<String>.Continuation) {
            let base = SystemTimeBase.shared
            do throws(StatementError) {
                let connection = try LibPQConnection(settings, until: base.now + settings.deadline)
                // Through a pooler, `LISTEN` would apply to another client's connection, and nothing could end it.
                if !connection.isShared {
                    _ = try connection.run("LISTEN \(channel)", [], until: base.now + settings.deadline)
                }
                connection.onSlowAnswer = { continuation.yield("") }
                use.withLock { $0 = .isFree }
                // The look that follows this sees everything that happened before the connection listened.
                continuation.yield("")
                defer {
                    let last = use.withLock { use -> Request? in
                        defer { use = .isAway }
                        guard case .isTaken(let request) = use else { return nil }
                        return request
                    }
                    last?.continuation.resume(returning: nil)
                    continuation.yield("")
                }
                var ping = base.now + Self.pingInterval
                while !isDone {
                    guard
                        let found = connection.waitForNotifications(
                            until: min(ping, base.now + LibPQConnection.slice), bell)
                    else { return }
                    for payload in found { continuation.yield(payload) }
                    if try answer(on: connection) { ping = base.now + Self.pingInterval }
                    if base.now >= ping {
                        _ = try connection.run("SELECT 1::int8", [], until: base.now + settings.deadline)
                        ping = base.now + Self.pingInterval
                    }
                }
                // A pooler keeps the server's connection, which would otherwise continue to listen.
                if !connection.isShared {
                    _ = try connection.run("UNLISTEN \(channel)", [], until: base.now + .seconds(1))
                }
            } catch {
                // The thread tries again, and the store polls in any case.
            }
        }

        /// - Returns: Whether there was a statement to run.
        private func answer(on connection: LibPQConnection) throws(StatementError) -> Bool {
            let request = use.withLock { use -> Request? in
                guard case .isTaken(let request?) = use else { return nil }
                use = .isTaken(nil)
                return request
            }
            guard let request else { return false }
            do throws(StatementError) {
                let answer = try connection.runAlone(request.statement, request.values, until: request.deadline)
                use.withLock { $0 = .isFree }
                request.continuation.resume(returning: .success(answer))
            } catch {
                let isLost = error.isOutcomeUnknown || !connection.isOpen
                if !isLost { use.withLock { $0 = .isFree } }
                request.continuation.resume(returning: .failure(error))
                if isLost { throw error }
            }
            return true
        }
    }

    /// Wakes a thread that waits for a socket.
    final class LibPQBell: Sendable {
        let reading: CInt
        private let writing: CInt

        /// nil if the process may open no more files.
        init?() {
            var ends: [CInt] = [0, 0]
            guard pipe(&ends) == 0 else { return nil }
            (reading, writing) = (ends[0], ends[1])
            for end in ends {
                _ = fcntl(end, F_SETFL, O_NONBLOCK)
                _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            }
        }

        deinit {
            close(reading)
            close(writing)
        }

        func ring() { _ = write(writing, [1], 1) }

        func calm() {
            var bytes = [UInt8](repeating: 0, count: 64)
            while read(reading, &bytes, bytes.count) > 0 {}
        }
    }
#endif
