#if PostgreSQL
    import CPostgreSQLSystem
    import Dispatch
    import Foundation
    import Resilience

    /// How a server is reached. The connection's settings may hold a password, so this is never described.
    struct LibPQSettings: Sendable {
        /// What to do about a password that was read as another part of an address.
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
            // A text with a NUL would end there.
            guard !connection.utf8.contains(0), let options = PQconninfoParse(connection, nil) else {
                throw StatementError(
                    message:
                        "The connection's settings can't be read: they are neither a postgresql:// address nor keyword=value pairs. \(Self.advice)"
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

        /// In an address, an @ ends the password. One that comes after the host's part, or after another one, may have
        /// been meant to.
        private static func mayBeMisread(_ connection: String) -> Bool {
            for scheme in ["postgresql://", "postgres://"] where connection.hasPrefix(scheme) {
                let parts = connection.dropFirst(scheme.count).split(separator: "@", omittingEmptySubsequences: false)
                return parts.count > 2 || parts.count == 2 && parts[0].contains { "/?".contains($0) }
            }
            return false
        }
    }

    /// A thread that owns one connection, and runs statements on it, one after the other.
    final class LibPQThread: Sendable {
        enum Place: Sendable {
            /// In a transaction of its own.
            case alone
            /// It begins a transaction.
            case first
            /// It belongs to a transaction that is open, so that no other connection will do.
            case within
        }

        private enum Request: Sendable {
            case run(
                String, [StatementValue], Place, until: MonotonicInstant,
                CheckedContinuation<Result<LibPQConnection.Answer, StatementError>, Never>)
            case disconnect
            case end
        }

        private let requests = Locked<[Request]>([])
        private let arrived = DispatchSemaphore(value: 0)

        init(_ settings: LibPQSettings) {
            let thread = Thread { [requests = Mailbox(self)] in
                var connection: LibPQConnection?
                while true {
                    switch requests.next() {
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

        /// What the thread holds of this: it outlives the engine by its last request.
        private struct Mailbox: Sendable {
            let thread: LibPQThread

            init(_ thread: LibPQThread) { self.thread = thread }

            func next() -> Request {
                thread.arrived.wait()
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

    /// A thread that listens to a channel.
    enum LibPQListener {
        /// A half-open connection looks like a quiet queue, so it is asked now and then.
        private static let pingInterval = Duration.seconds(10)
        private static let slice = Duration.milliseconds(500)

        static func notifications(on channel: String, _ settings: LibPQSettings) -> AsyncStream<Void> {
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            let isOver = Flag()
            continuation.onTermination = { _ in isOver.raise() }
            let quoted = "\"" + channel.replacingOccurrences(of: "\"", with: "\"\"") + "\""
            let thread = Thread {
                while !isOver.isRaised {
                    let next = SystemTimeBase.shared.now + .seconds(1)
                    listen("LISTEN \(quoted)", settings, continuation, isOver)
                    // At most one attempt a second. The loop also ends soon after the stream.
                    while !isOver.isRaised, SystemTimeBase.shared.now < next { usleep(50_000) }
                }
            }
            thread.name = "swift-resilience PostgreSQL listener"
            thread.start()
            return stream
        }

        /// Returns when the connection is lost.
        private static func listen(
            _ statement: String, _ settings: LibPQSettings, _ continuation: AsyncStream<Void>.Continuation,
            _ isOver: Flag
        ) {
            let base = SystemTimeBase.shared
            do throws(StatementError) {
                let connection = try LibPQConnection(settings, until: base.now + settings.deadline)
                _ = try connection.run(statement, [], until: base.now + settings.deadline)
                // What happened before it listened is seen by whoever looks now.
                continuation.yield()
                defer { continuation.yield() }
                var ping = base.now + pingInterval
                while !isOver.isRaised {
                    guard let found = connection.waitForNotifications(until: min(ping, base.now + slice)) else {
                        return
                    }
                    if found { continuation.yield() }
                    if base.now >= ping {
                        _ = try connection.run("SELECT 1::int8", [], until: base.now + settings.deadline)
                        ping = base.now + pingInterval
                    }
                }
            } catch {
                // It is tried again, and the store asks now and then in any case.
            }
        }

        private final class Flag: Sendable {
            private let value = Locked(false)
            var isRaised: Bool { value.withLock { $0 } }
            func raise() { value.withLock { $0 = true } }
        }
    }
#endif
