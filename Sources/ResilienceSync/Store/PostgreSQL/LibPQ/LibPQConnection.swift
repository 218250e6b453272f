#if PostgreSQL
    import CPostgreSQLSystem
    import Foundation
    import Resilience

    /// One connection of the C client. It is confined to the thread that made it. It waits with `poll`, so it never
    /// blocks that thread beyond a deadline.
    final class LibPQConnection {
        struct Answer: Sendable {
            var rows: [[StatementValue]] = []
            /// The command's tag, such as `COMMIT`.
            var tag = ""
        }

        private let connection: OpaquePointer
        private let secrets: [String]
        /// Whether transactions are at `READ COMMITTED` by default.
        private var isReadCommitted = true
        /// Whether a pooler gives it another server connection for each transaction; settings would remain on that
        /// connection.
        private(set) var isShared = false
        /// Called every half second while a statement runs: the server sends nothing until the statement has ended.
        var onSlowAnswer: (() -> Void)?
        static let slice = Duration.milliseconds(500)
        /// Whether it may be in a transaction that nothing will end.
        private var isSpoilt = false

        deinit { PQfinish(connection) }

        /// Connects.
        init(_ settings: LibPQSettings, until deadline: MonotonicInstant) throws(StatementError) {
            let settingsOfOurs = [
                ("fallback_application_name", "swift-resilience"), ("keepalives_idle", "10"),
                ("keepalives_interval", "5"), ("keepalives_count", "3"),
                ("tcp_user_timeout", "\(Int64(settings.deadline / .milliseconds(1)))"),
                // A later entry overrides an earlier one: the program's settings override the entries above, and the
                // encoding overrides the program's.
                ("dbname", settings.connection), ("client_encoding", "UTF8"),
            ]
            var keywords = settingsOfOurs.map { Optional(UnsafePointer(strdup($0.0)!)) } + [nil]
            var values = settingsOfOurs.map { Optional(UnsafePointer(strdup($0.1)!)) } + [nil]
            defer { for text in keywords + values { free(UnsafeMutablePointer(mutating: text)) } }
            guard let connection = PQconnectStartParams(&keywords, &values, 1) else {
                throw StatementError(message: "There is no memory for a connection.")
            }
            self.connection = connection
            secrets = settings.secrets
            PQsetNoticeProcessor(connection, { _, _ in }, nil)
            var state = PGRES_POLLING_WRITING
            while true {
                switch state {
                case PGRES_POLLING_OK:
                    guard PQsetnonblocking(connection, 1) == 0 else { throw failure("It can't be made non-blocking.") }
                    try begin(settings, until: deadline)
                    return
                case PGRES_POLLING_READING, PGRES_POLLING_WRITING:
                    guard PQstatus(connection) != CONNECTION_BAD else { throw connectFailure(settings) }
                    let events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT
                    guard wait(for: Int16(events), until: deadline) else {
                        throw StatementError(message: "The server did not answer in time while connecting.")
                    }
                    state = PQconnectPoll(connection)
                default:
                    throw connectFailure(settings)
                }
            }
        }

        /// Gives the server time limits as well. So the server ends statements that this side has given up on, and a
        /// stopped program's transaction does not hold its locks for ever.
        private func begin(
            _ settings: LibPQSettings, until deadline: MonotonicInstant
        ) throws(StatementError) {
            guard settings.setsTimeouts else {
                // The settings would remain on a server connection that others also use.
                let row = try run(
                    "SELECT current_setting('default_transaction_isolation'), pg_backend_pid()::int8", [],
                    until: deadline
                ).rows.first
                isReadCommitted = row?.first == .text("read committed")
                isShared = row?.last != .integer(Int64(PQbackendPID(connection)))
                return
            }
            let length = "\(max(1, Int64(settings.deadline / .milliseconds(1))))ms"
            _ = try run(
                """
                SELECT set_config('statement_timeout', $1, false),
                set_config('idle_in_transaction_session_timeout', $1, false),
                set_config('default_transaction_isolation', 'read committed', false)
                """, [.text(length)], until: deadline)
        }

        /// Whether it is open, as far as this side knows.
        var isOpen: Bool {
            guard !isSpoilt, PQstatus(connection) == CONNECTION_OK else { return false }
            // A server sends the reason before it closes a connection, so there may be something to read before the
            // connection's end.
            while wait(for: Int16(POLLIN), until: .distantPast) {
                guard PQconsumeInput(connection) == 1, PQstatus(connection) == CONNECTION_OK else { return false }
            }
            return true
        }

        /// Whether it is outside of a transaction.
        var isIdle: Bool { PQtransactionStatus(connection) == PQTRANS_IDLE }

        /// Runs a statement in its own transaction, at `READ COMMITTED`.
        func runAlone(
            _ statement: String, _ values: [StatementValue], until deadline: MonotonicInstant
        ) throws(StatementError) -> Answer {
            if isReadCommitted { return try run(statement, values, until: deadline) }
            _ = try run("BEGIN ISOLATION LEVEL READ COMMITTED", [], until: deadline)
            // An error before the commit closes the connection, or ends the transaction.
            isSpoilt = true
            let answer: Answer
            do throws(StatementError) {
                answer = try run(statement, values, until: deadline)
            } catch {
                if !error.isOutcomeUnknown, (try? run("ROLLBACK", [], until: deadline)) != nil { isSpoilt = false }
                throw error
            }
            _ = try run("COMMIT", [], until: deadline)
            isSpoilt = false
            return answer
        }

        /// Runs a statement. After an error whose outcome is unknown, the connection must not be used any more.
        func run(
            _ statement: String, _ values: [StatementValue], until deadline: MonotonicInstant
        ) throws(StatementError) -> Answer {
            // libpq would send only the part before the zero byte.
            guard !statement.utf8.contains(0) else {
                throw StatementError(message: "The statement contains a NUL character.")
            }
            let parameters = LibPQParameters(values)
            guard parameters.bytes.count < Self.mostBytes else {
                throw StatementError(
                    message: "The values have \(parameters.bytes.count) bytes, more than \(Self.mostBytes).")
            }
            let isSent = parameters.withPointers { types, pointers, lengths, formats in
                PQsendQueryParams(
                    connection, statement, CInt(values.count), types, pointers, lengths, formats, 1) == 1
            }
            // Nothing was sent, unless the connection was lost on the way.
            guard isSent else { throw failure("The statement can't be sent.", isOutcomeUnknown: !isOpen) }
            try flush(until: deadline)
            var answer = Answer()
            var error: StatementError?
            while let result = try nextResult(until: deadline) {
                defer { PQclear(result) }
                switch PQresultStatus(result) {
                case PGRES_TUPLES_OK, PGRES_SINGLE_TUPLE:
                    answer.rows += LibPQRows.rows(of: result)
                    answer.tag = String(cString: PQcmdStatus(result))
                case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
                    answer.tag = String(cString: PQcmdStatus(result))
                case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
                    throw StatementError(message: "COPY is not supported.", isOutcomeUnknown: true)
                default:
                    let state = PQresultErrorField(result, CInt(UInt8(ascii: "C"))).map { String(cString: $0) }
                    let message = PQresultErrorField(result, CInt(UInt8(ascii: "M"))).map { String(cString: $0) }
                    error =
                        error
                        ?? StatementError(
                            sqlState: state, message: clean(message ?? String(cString: PQresultErrorMessage(result))))
                }
            }
            if var error {
                error.isOutcomeUnknown = PQstatus(connection) != CONNECTION_OK
                throw error
            }
            return answer
        }

        /// The server's limit for a message is 1 GB.
        static let mostBytes = 1_000_000_000

        private func flush(until deadline: MonotonicInstant) throws(StatementError) {
            while true {
                switch PQflush(connection) {
                case 0: return
                case 1:
                    // The server may read no more until its output is read.
                    guard wait(for: Int16(POLLIN | POLLOUT), until: deadline) else { throw late }
                    guard PQconsumeInput(connection) == 1 else {
                        throw failure("The connection was lost.", isOutcomeUnknown: true)
                    }
                default: throw failure("The connection was lost.", isOutcomeUnknown: true)
                }
            }
        }

        private func nextResult(until deadline: MonotonicInstant) throws(StatementError) -> OpaquePointer? {
            while PQisBusy(connection) == 1 {
                let slice = onSlowAnswer == nil ? deadline : min(deadline, SystemTimeBase.shared.now + Self.slice)
                guard wait(for: Int16(POLLIN), until: slice) else {
                    guard slice < deadline else { throw late }
                    onSlowAnswer?()
                    continue
                }
                guard PQconsumeInput(connection) == 1 else {
                    throw failure("The connection was lost.", isOutcomeUnknown: true)
                }
            }
            return PQgetResult(connection)
        }

        private var late: StatementError {
            StatementError(message: "The server did not answer in time.", isOutcomeUnknown: true)
        }

        /// Waits for notifications, at most until the deadline, or until the bell rings.
        /// - Returns: Their payloads; nil if the connection was lost.
        func waitForNotifications(until deadline: MonotonicInstant, _ bell: LibPQBell?) -> [String]? {
            var found = takeNotifications()
            if found.isEmpty, wait(for: Int16(POLLIN), until: deadline, bell) {
                guard PQconsumeInput(connection) == 1 else { return nil }
                found = takeNotifications()
            }
            return isOpen ? found : nil
        }

        private func takeNotifications() -> [String] {
            var found: [String] = []
            while let notification = PQnotifies(connection) {
                found.append(notification.pointee.extra.map { String(cString: $0) } ?? "")
                PQfreemem(notification)
            }
            return found
        }

        /// - Returns: False if the deadline passed.
        private func wait(for events: Int16, until deadline: MonotonicInstant, _ bell: LibPQBell? = nil) -> Bool {
            var descriptors = [pollfd(fd: PQsocket(connection), events: events, revents: 0)]
            // libpq reports the problem.
            guard descriptors[0].fd >= 0 else { return true }
            if let bell { descriptors.append(pollfd(fd: bell.reading, events: Int16(POLLIN), revents: 0)) }
            while true {
                let left = SystemTimeBase.shared.now.duration(to: deadline) / .milliseconds(1)
                let found = poll(
                    &descriptors, nfds_t(descriptors.count), CInt(min(max(left.rounded(.up), 0), 3_600_000)))
                if found > 0 {
                    bell?.calm()
                    return descriptors[0].revents != 0
                }
                if found < 0, errno != EINTR { return true }
                if left <= 0 { return false }
            }
        }

        private func failure(_ what: String, isOutcomeUnknown: Bool = false) -> StatementError {
            let message = clean(String(cString: PQerrorMessage(connection)))
            return StatementError(message: message.isEmpty ? what : message, isOutcomeUnknown: isOutcomeUnknown)
        }

        /// The reason why it can't connect. libpq's texts about settings and names quote them, and they may contain a
        /// misread password. So this shows libpq's text only for an attempt to reach a server.
        private func connectFailure(_ settings: LibPQSettings) -> StatementError {
            let lines = String(cString: PQerrorMessage(connection)).split(whereSeparator: \.isNewline)
            var shown: [Substring] = []
            var isShown = false
            for line in lines {
                let isMore = ["\t", " ", "DETAIL:", "HINT:"].contains { line.hasPrefix($0) }
                let isAttempt = ["connection to server ", "could not connect to server: ", "FATAL:"]
                    .contains { line.hasPrefix($0) }
                isShown = isMore ? isShown : isAttempt
                if isShown { shown.append(line) }
            }
            if !settings.mayBeMisread, !shown.isEmpty {
                return StatementError(message: clean(shown.joined(separator: "\n")))
            }
            let isName = !settings.mayBeMisread && lines.contains { $0.hasPrefix("could not translate host name") }
            return StatementError(
                message: isName
                    ? "The host's address can't be found. Check its name. \(LibPQSettings.advice)"
                    : "It can't be reached, or libpq does not accept a setting. Check them. \(LibPQSettings.advice)")
        }

        /// The message on one line, without the password.
        private func clean(_ message: String) -> String {
            Self.clean(message, of: secrets)
        }

        /// Removes secrets. Short ones occur in words, so they are replaced only where they are quoted.
        static func clean(_ message: String, of secrets: [String]) -> String {
            var message = message.split(whereSeparator: \.isNewline).joined(separator: " ")
            for secret in secrets where !secret.isEmpty {
                message =
                    secret.count < 4
                    ? message.replacingOccurrences(of: "\"\(secret)\"", with: "\"…\"")
                    : message.replacingOccurrences(of: secret, with: "…")
            }
            return message
        }
    }

    /// The parameters of a statement, in the server's binary form.
    private struct LibPQParameters {
        private(set) var bytes: [UInt8] = []
        private var types: [Oid] = []
        private var ranges: [Range<Int>?] = []

        init(_ values: [StatementValue]) {
            for value in values {
                let start = bytes.count
                var type: Oid = 0
                switch value {
                case .null: break
                case .integer(let value):
                    type = 20
                    put(value)
                case .real(let value):
                    type = 701
                    put(value.bitPattern)
                case .bytes(let value):
                    type = 17
                    bytes += value
                case .text(let value):
                    type = 25
                    bytes += value.utf8
                case .integers(let values):
                    type = 1016
                    put(array: values, of: 20) { $0.put($1) }
                case .reals(let values):
                    type = 1022
                    put(array: values, of: 701) { $0.put($1.bitPattern) }
                case .arraysOfBytes(let values):
                    type = 1001
                    put(array: values, of: 17) { $0.bytes += $1 }
                }
                types.append(type)
                ranges.append(value == .null ? nil : start..<bytes.count)
            }
            // With this byte, an empty value also has an address.
            bytes.append(0)
        }

        private mutating func put(_ value: some FixedWidthInteger) {
            withUnsafeBytes(of: value.bigEndian) { bytes += $0 }
        }

        private mutating func put<Value>(
            array values: [Value], of type: Int32, _ put: (inout Self, Value) -> Void
        ) {
            // Dimensions, no NULLs, the elements' type, the length, the first index.
            self.put(Int32(values.isEmpty ? 0 : 1))
            self.put(Int32(0))
            self.put(type)
            if values.isEmpty { return }
            self.put(Int32(clamping: values.count))
            self.put(Int32(1))
            for value in values {
                let start = bytes.count
                self.put(Int32(0))
                put(&self, value)
                let length = Int32(clamping: bytes.count - start - 4)
                withUnsafeBytes(of: length.bigEndian) { length in
                    for (index, byte) in length.enumerated() { bytes[start + index] = byte }
                }
            }
        }

        func withPointers<R>(
            _ body: (
                UnsafePointer<Oid>, UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<CInt>, UnsafePointer<CInt>
            ) -> R
        ) -> R {
            bytes.withUnsafeBytes { raw in
                let start = raw.assumingMemoryBound(to: CChar.self).baseAddress
                let pointers = ranges.map { range in range.flatMap { range in start.map { $0 + range.lowerBound } } }
                return body(
                    types, pointers, ranges.map { CInt(clamping: $0?.count ?? 0) }, ranges.map { _ in 1 })
            }
        }
    }

    private enum LibPQRows {
        static func rows(of result: OpaquePointer) -> [[StatementValue]] {
            let columns = 0..<PQnfields(result)
            let types = columns.map { PQftype(result, $0) }
            return (0..<PQntuples(result)).map { row in
                columns.map { column in
                    guard PQgetisnull(result, row, column) == 0, let start = PQgetvalue(result, row, column) else {
                        return .null
                    }
                    let bytes = UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(result, row, column)))
                    return value(bytes, of: types[Int(column)])
                }
            }
        }

        private static func value(_ bytes: UnsafeRawBufferPointer, of type: Oid) -> StatementValue {
            func bits<Bits: FixedWidthInteger>(_: Bits.Type) -> Bits? {
                bytes.count == Bits.bitWidth / 8 ? Bits(bigEndian: bytes.loadUnaligned(as: Bits.self)) : nil
            }
            let known: StatementValue? =
                switch type {
                case 16: .integer(bytes.first == 1 ? 1 : 0)
                case 20: bits(Int64.self).map { .integer($0) }
                case 21: bits(Int16.self).map { .integer(Int64($0)) }
                case 23: bits(Int32.self).map { .integer(Int64($0)) }
                case 700: bits(UInt32.self).map { .real(Double(Float(bitPattern: $0))) }
                case 701: bits(UInt64.self).map { .real(Double(bitPattern: $0)) }
                // text, varchar, name, char, unknown.
                case 25, 1043, 19, 1042, 705: .text(String(decoding: bytes, as: UTF8.self))
                default: nil
                }
            return known ?? .bytes(Data(bytes))
        }
    }
#endif
