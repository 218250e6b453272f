#if QueueTool
    import Foundation
    import Resilience
    import ResilienceSync

    /// The output's destination; tests replace it.
    enum Output {
        @TaskLocal static var write: @Sendable (String) -> Void = { Swift.print($0) }
    }

    func print(_ text: String) { Output.write(text) }

    /// Writes a message to the user; ignores a closed stream.
    func tell(_ text: String, on stream: FileHandle = .standardError) {
        try? stream.write(contentsOf: Data(text.utf8))
    }

    /// The text without any address from the arguments: an address may contain a password.
    func withoutAddresses(_ text: String, _ arguments: [String]) -> String {
        var text = text
        for argument in arguments {
            for start in ["://", "password"] {
                guard let found = argument.range(of: start) else { continue }
                let address = String(argument[found.lowerBound...])
                for shown in [address, escaped(address)] {
                    text = text.replacingOccurrences(of: shown, with: "\(start)…")
                }
            }
        }
        return text
    }

    /// The text, with control and invisible characters escaped as in Swift's string literals, because a terminal would
    /// obey control characters.
    func escaped(_ text: String, upTo limit: Int = .max) -> String {
        var shown = ""
        for scalar in text.unicodeScalars.prefix(limit) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse, .surrogate:
                shown += scalar == "\n" ? "\\n" : "\\u{\(String(scalar.value, radix: 16))}"
            default:
                shown += scalar == "\\" ? "\\\\" : "\(scalar)"
            }
        }
        return text.unicodeScalars.count > limit ? shown + "…" : shown
    }

    /// A mutation as the tool shows it. The names and meanings of these fields are stable.
    struct Row: Encodable {
        let position: Int64
        let id: String
        let entity: String
        let kind: String
        let operation: String?
        let idempotencyKey: String
        let createdAt: String
        let queuedAt: String
        let notBefore: String?
        let isUrgent: Bool
        /// `pending` or `dead`.
        let state: String
        let isAttempted: Bool
        let failures: Int
        let claims: Int
        let lastError: String?
        let diedAt: String?
        let isOvertaken: Bool
        let payloadBytes: Int
        let payload: Data?

        init(_ stored: StoredMutation, withPayload: Bool) {
            let mutation = stored.mutation
            (position, id, entity, kind) = (stored.position, mutation.id, mutation.entity, mutation.kind)
            (operation, idempotencyKey) = (mutation.operation?.rawValue, mutation.idempotencyKey)
            (createdAt, queuedAt) = (Self.text(mutation.createdAt), Self.text(stored.queuedAt))
            (notBefore, isUrgent) = (mutation.notBefore.map(Self.text), mutation.isUrgent)
            state = stored.diedAt == nil ? "pending" : "dead"
            (isAttempted, failures, claims) = (stored.isAttempted, stored.failures, stored.claims)
            (lastError, diedAt) = (stored.lastError, stored.diedAt.map(Self.text))
            isOvertaken = stored.isOvertaken
            (payloadBytes, payload) = (mutation.payload.count, withPayload ? mutation.payload : nil)
        }

        /// A store may hold any date, but not every date can be formatted.
        static func text(_ date: Date) -> String {
            let seconds = date.timeIntervalSinceReferenceDate
            return abs(seconds) < 1e11 ? date.formatted(.iso8601) : "\(seconds) s since 2001-01-01"
        }

        var json: String { get throws { try encoded(self) } }

        private var status: String {
            if state == "dead" { return isOvertaken ? "dead, overtaken" : "dead" }
            if notBefore != nil { return "not due" }
            return claims > 0 ? "sent, no answer" : isAttempted ? "attempted" : "waiting"
        }

        static let header = line(["POSITION", "QUEUED", "FAILURES", "STATE", "KIND", "ENTITY", "ID", "LAST ERROR"])

        var line: String {
            Self.line([
                "\(position)", queuedAt, "\(failures)", status, escaped(kind, upTo: 20), escaped(entity, upTo: 40),
                escaped(id), escaped(lastError ?? "", upTo: 60),
            ])
        }

        private static func line(_ columns: [String]) -> String {
            let widths = [8, 20, 8, 15, 12, 16, 36, 0]
            let cells = zip(columns, widths).map { $0 + String(repeating: " ", count: max(0, $1 - $0.count)) }
            return String(cells.joined(separator: "  ").reversed().drop { $0 == " " }.reversed())
        }

        var text: String {
            var lines = [
                ("position", "\(position)"), ("id", id), ("entity", entity), ("kind", kind),
                ("operation", operation ?? "none"), ("idempotency key", idempotencyKey), ("created", createdAt),
                ("queued", queuedAt), ("not before", notBefore ?? "no date"), ("urgent", isUrgent ? "yes" : "no"),
                ("state", status),
                ("failures", "\(failures)"), ("claims", "\(claims)"),
                ("died", diedAt ?? "no"), ("last error", lastError ?? "none"), ("payload", "\(payloadBytes) bytes"),
            ]
            if let payload {
                lines.append(("", String(validating: payload, as: UTF8.self) ?? payload.base64EncodedString()))
            }
            return lines.map { name, value in
                "\(name)\(String(repeating: " ", count: 17 - name.count))\(escaped(value))"
            }.joined(separator: "\n")
        }
    }

    /// The queue's totals, and its pause.
    struct Totals: Encodable {
        let pending: Int
        let pendingBytes: Int
        let dead: Int
        let deadBytes: Int
        let oldestAgeSeconds: Double?
        /// The earliest date that a pending mutation waits for.
        let nextDue: String?
        let isPausedByHand: Bool
        /// The time until the pause ends; nil if there is no pause, or if the pause has no end.
        let pausedForSeconds: Double?

        init(_ queue: SyncQueue) async throws {
            let pausedUntil = try await queue.currentPause()
            let status = try await queue.status
            (pending, pendingBytes) = (status.pending, status.bytes)
            (dead, deadBytes) = (status.dead, status.deadBytes)
            oldestAgeSeconds = status.oldestAge.map { $0 / .seconds(1) }
            nextDue = status.nextDue.map(Row.text)
            isPausedByHand = status.isPausedByHand
            pausedForSeconds = pausedUntil.flatMap {
                $0 < .distantFuture ? queue.pipeline.timeBase.now.duration(to: $0) / .seconds(1) : nil
            }
        }

        var json: String { get throws { try encoded(self) } }

        var text: String {
            var text = "\(pending) pending (\(pendingBytes) bytes), \(dead) dead (\(deadBytes) bytes)"
            if let oldestAgeSeconds { text += "; the oldest is \(Duration.seconds(oldestAgeSeconds).text) old" }
            if let nextDue { text += "; the next is due at \(nextDue)" }
            if isPausedByHand || pausedForSeconds != nil {
                text += "; paused\(isPausedByHand ? " by hand" : "")"
                text += pausedForSeconds.map { " for \(Duration.seconds($0).text)" } ?? ", until it is resumed"
            }
            return text
        }
    }

    private func encoded(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
#endif
