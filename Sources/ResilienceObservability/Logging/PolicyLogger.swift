#if Logging
    public import Logging
    public import Resilience

    /// An observer that writes the events of policies as lines of swift-log.
    ///
    /// ```swift
    /// let pipeline = Pipeline("activities", isIdempotent: true, observers: PolicyObservers(PolicyLogger(logger))) {
    ///     Retry()
    ///     CircuitBreaker("breaker")
    /// }
    /// ```
    ///
    /// A line reads `[activities/breaker] threshold reached (5/5) → open for 60 s`. Its metadata has the names and
    /// numbers, with keys that all begin with `resilience.`. ``standardLevel(of:)`` decides the level of an event; pass
    /// a closure to change that.
    ///
    /// Many events of one kind do not flood the log. For each pipeline, policy and kind of event, five lines are
    /// written in ten seconds, and then one summary of the omitted events: how many, since when, and the last event.
    /// While such events continue, each window is twice as long as the one before, up to five minutes. Events below the
    /// logger's level are not counted, except rejections.
    ///
    /// Rejected calls are counted even if their lines are below the logger's level: after each window with rejections,
    /// a line at `notice` reports how many calls each policy has rejected.
    ///
    /// Characters that would break a line, in names or error texts from outside, are escaped.
    ///
    /// See <doc:LogsMetricsTracesGuide>.
    public final class PolicyLogger: PolicyObserver {
        /// Returns the level of an event's line; nil for no line.
        ///
        /// It must depend only on the event: it is called for every event, at any logger level.
        public typealias Levels = @Sendable (PolicyEvent) -> Logger.Level?

        struct Key: Hashable, Sendable {
            let pipeline: String?
            let policy: String
            let kind: String
            /// The rejecting policy; nil for any other event.
            let rejecter: String?
        }

        private typealias Summary = LogFlood<Key, PolicyEvent>.Summary

        private let logger: Logger
        private let levels: Levels
        public let leastSeverity: PolicyEventSeverity
        private let timeBase: any TimeBase
        private let flood: Locked<LogFlood<Key, PolicyEvent>>

        /// Creates an observer that writes to a logger.
        ///
        /// - Parameters:
        ///   - logger: The logger, with its present level and metadata.
        ///   - lines: How many lines are written for one pipeline, policy and kind of event within `window`; 1 or more,
        ///     5 by default, `Int.max` for no limit.
        ///   - window: How long the lines are counted before the first summary; above zero, 10 seconds by default.
        ///     The longest window is 30 times that.
        ///   - maxKeys: How many combinations of pipeline, policy and kind are counted separately at the same time; 1
        ///     or more, 200 by default. Events of further combinations share one limit.
        ///   - timeBase: The clock that measures the window.
        ///   - levels: Returns the level of an event's line; nil, the default, for the standard ones,
        ///     ``standardLevel(of:)``.
        public init(
            _ logger: Logger, lines: Int = 5, per window: Duration = .seconds(10), maxKeys: Int = 200,
            timeBase: any TimeBase = .system, levels: Levels? = nil
        ) {
            let checks = SettingChecks("PolicyLogger")
            self.logger = logger
            self.levels = levels ?? { Self.standardLevel(of: $0) }
            let written = PolicyEventSeverity.allCases.first { Self.standardLevel(of: $0) >= logger.logLevel } ?? .error
            // Rejections, whose severity is debug, have a summary even if their lines are below the logger's level.
            let least = Self.summaryLevel >= logger.logLevel ? min(written, .debug) : written
            leastSeverity = levels == nil ? least : .trace
            self.timeBase = timeBase
            let window = checks.aboveZero(window, "window")
            flood = Locked(
                LogFlood(
                    LogFlood.Limits(
                        lines: checks.atLeast(1, lines, "lines"), window: window,
                        longest: .nanoseconds(window.saturatedNanoseconds.saturatingMultiplied(by: 30)),
                        keys: checks.atLeast(1, maxKeys, "maxKeys"))))
        }

        deinit { flush() }

        public func receive(_ event: PolicyEvent) {
            guard let level = levels(event) else { return }
            let isWritten = level >= logger.logLevel
            let rejecter = event.rejecter
            guard isWritten || rejecter != nil && Self.summaryLevel >= logger.logLevel else { return }
            let key = Key(
                pipeline: event.pipeline, policy: event.policy, kind: event.detail.kind, rejecter: rejecter)
            let now = timeBase.now
            let (summaries, answer) = flood.withLock { flood in
                (
                    flood.end(at: now),
                    flood.receive(
                        event, of: key, rejecter == nil ? level : max(level, Self.summaryLevel), at: now,
                        isWritten: isWritten)
                )
            }
            for summary in summaries { write(summary) }
            switch answer {
            case .write: write(event, level)
            case .leaveOut(nil): break
            case .leaveOut(let alarm?): setAlarm(at: alarm)
            }
        }

        /// The level of the summary of rejections.
        private static var summaryLevel: Logger.Level { .notice }

        /// Writes the summaries of omitted events so far, for example before the process ends.
        ///
        /// Without this, each summary comes when its window is over.
        public func flush() { tell { $0.tellAll(at: $1) } }

        private func tell(_ take: (inout LogFlood<Key, PolicyEvent>, MonotonicInstant) -> [Summary]) {
            let now = timeBase.now
            for summary in flood.withLock({ take(&$0, now) }) { write(summary) }
        }

        /// Writes the summary at the window's end even if no further event comes. A task writes the line: an alarm must
        /// not block, and a log handler may block.
        private func setAlarm(at instant: MonotonicInstant) {
            let executor = timeBase.taskExecutor
            _ = timeBase.schedule(at: instant) { [weak self] in
                guard let self else { return }
                Task.detached(executorPreference: executor) { self.tell { $0.end(at: $1) } }
            }
        }

        private func write(_ event: PolicyEvent, _ level: Logger.Level) {
            logger.log(
                level: level, "\(event.description.onOneLine)", metadata: .resilience(event), source: "Resilience")
        }

        private func write(_ summary: Summary) {
            let span = summary.since.duration(to: summary.until)
            let rest = "\(summary.count) more in \(span.text)"
            var metadata: Logger.Metadata
            let text: String
            if let key = summary.key {
                let name = "[\(key.pipeline.map { "\($0)/" } ?? "")\(key.policy)]"
                let failure = summary.last.failure.map { ": \($0)" } ?? ""
                if let rejecter = key.rejecter {
                    let more = summary.isAll ? "" : " more"
                    let calls = summary.count == 1 ? "call" : "calls"
                    let place = key.kind == "rejected" ? "" : " further in"
                    text = "\(name) \(summary.count)\(more) \(calls) rejected\(place) by \(rejecter) in \(span.text)"
                } else {
                    text = "\(name) \(key.kind): \(rest), the last: \(summary.last.detail)\(failure)"
                }
                metadata = .resilience(summary.last)
            } else {
                text = "further policies: \(rest), the last: \(summary.last)"
                metadata = [:]
            }
            metadata["resilience.left_out"] = .stringConvertible(summary.count)
            metadata.add(["left_out": span])
            logger.log(level: summary.level, "\(text.onOneLine)", metadata: metadata, source: "Resilience")
        }
    }

    extension PolicyEvent {
        /// The policy that rejected the call; nil if the event is about no rejection. The policy belongs to the
        /// pipeline or an inner pipeline, or is used alone. In a pipeline, only the pipeline's event counts: the
        /// policy's own event is about the same rejection.
        fileprivate var rejecter: String? {
            guard let event = detail as? Pipeline.Event else {
                return detail.kind == "rejected" && pipeline == nil ? policy : nil
            }
            switch event {
            case .failed(let verdict, _, _, _) where verdict.kind != .rejected: return nil
            case .rejected, .failed: return failure?.policy ?? failure?.type ?? "a policy"
            case .attemptSucceeded, .attemptFailed, .succeeded, .cancelled: return nil
            }
        }
    }

    extension Logger.Metadata {
        /// The names of an event, and its details.
        fileprivate static func resilience(_ event: PolicyEvent) -> Logger.Metadata {
            var metadata: Logger.Metadata = [
                "resilience.policy": .string(event.policy.onOneLine),
                "resilience.event": .string(event.detail.kind.onOneLine),
            ]
            if let pipeline = event.pipeline { metadata["resilience.pipeline"] = .string(pipeline.onOneLine) }
            metadata.add(event.fields)
            return metadata
        }

        fileprivate mutating func add(_ fields: EventFields) {
            for field in fields {
                self[field.key] =
                    switch field.written {
                    case .text(let text): .string(text)
                    case .integer(let number): .stringConvertible(number)
                    case .double(let number): .stringConvertible(number)
                    }
            }
        }
    }
#endif
