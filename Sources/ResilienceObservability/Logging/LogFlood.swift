#if Logging
    import Logging
    import Resilience

    /// Decides which lines to write when many events of one kind come: the first lines of each window of time, and at
    /// the window's end a summary of the omitted events.
    ///
    /// A key's window begins with its first event. While events come, each further window is twice as long, up to a
    /// limit: so even a whole night of events has few lines. A key without an event in a window is removed, so that
    /// idle keys cost nothing.
    struct LogFlood<Key: Hashable & Sendable, Event: Sendable>: Sendable {
        struct Limits: Sendable {
            /// How many lines of one key are written in one window; 1 or more.
            let lines: Int
            /// The length of a key's first window; above zero.
            let window: Duration
            /// The length of the longest window. If the first window is the longest, a key is removed when its window
            /// is over.
            let longest: Duration
            /// The number of keys with a window at the same time; 1 or more. Events of further keys share one window.
            let keys: Int
        }

        enum Answer: Sendable, Equatable {
            case write
            /// The event is counted, but not written.
            /// - Parameter alarm: When to call ``end(at:)``; nil if an earlier answer in this window has set that
            ///   alarm.
            case leaveOut(alarm: MonotonicInstant?)
        }

        /// The omitted events of one window.
        struct Summary: Sendable {
            /// nil for the events of further keys.
            let key: Key?
            let count: Int
            /// Whether no line of the window was written.
            let isAll: Bool
            /// When the first omitted event came.
            let since: MonotonicInstant
            let until: MonotonicInstant
            /// The most severe level of the omitted events.
            let level: Logger.Level
            let last: Event
        }

        private struct LeftOut: Sendable {
            var count = 1
            let since: MonotonicInstant
            var level: Logger.Level
            var last: Event

            mutating func add(_ event: Event, _ level: Logger.Level) {
                count = count.saturatingAdding(1)
                self.level = max(self.level, level)
                last = event
            }
        }

        private struct Window: Sendable {
            let length: Duration
            let ends: MonotonicInstant
            var written = 0
            var leftOut: LeftOut?

            mutating func receive(
                _ event: Event, _ level: Logger.Level, at now: MonotonicInstant, lines: Int, isWritten: Bool
            ) -> Answer {
                if isWritten, written < lines {
                    written += 1
                    return .write
                }
                guard leftOut != nil else {
                    leftOut = LeftOut(since: now, level: level, last: event)
                    return .leaveOut(alarm: ends)
                }
                leftOut?.add(event, level)
                return .leaveOut(alarm: nil)
            }
        }

        private let limits: Limits
        private var windows: [Key?: Window] = [:]
        /// The keys with a window, in the order of the windows' ends. Keys before `oldest` are already removed.
        private var order: [(key: Key?, ends: MonotonicInstant)] = []
        private var oldest = 0
        private var latest = MonotonicInstant.distantPast

        init(_ limits: Limits) { self.limits = limits }

        /// The number of windows.
        var count: Int { windows.count }

        /// An event came. Call ``end(at:)`` with the same time first.
        /// - Parameter isWritten: Whether to write the event's line if there is room; false only counts the event.
        mutating func receive(
            _ event: Event, of key: Key, _ level: Logger.Level, at now: MonotonicInstant, isWritten: Bool = true
        ) -> Answer {
            let now = move(to: now)
            var key: Key? = key
            var index = windows.index(forKey: key)
            if index == nil, !hasRoom {
                key = nil
                index = windows.index(forKey: nil)
            }
            guard let index else {
                var window = Window(length: limits.window, ends: now + limits.window)
                let answer = window.receive(event, level, at: now, lines: limits.lines, isWritten: isWritten)
                open(window, of: key)
                return answer
            }
            return windows.values[index].receive(event, level, at: now, lines: limits.lines, isWritten: isWritten)
        }

        /// Ends the windows that are over.
        /// - Returns: Summaries of their omitted events, in the order of the windows' ends.
        mutating func end(at now: MonotonicInstant) -> [Summary] {
            let now = move(to: now)
            var summaries: [Summary] = []
            while oldest < order.count, order[oldest].ends <= now {
                let (key, ends) = order[oldest]
                oldest += 1
                guard let window = windows.removeValue(forKey: key) else { continue }
                if let leftOut = window.leftOut {
                    summaries.append(summary(key, leftOut, ends, isAll: window.written == 0))
                }
                let isEmpty = window.written == 0 && window.leftOut == nil
                if isEmpty || limits.longest <= limits.window { continue }
                let length = min(window.length + window.length, limits.longest)
                let next = Window(length: length, ends: ends + length)
                // If the next window is already over, it has had no event.
                if next.ends > now { open(next, of: key) }
            }
            // This is so rare that each key is moved once on average.
            if oldest > 16, oldest * 2 > order.count {
                order.removeFirst(oldest)
                oldest = 0
            }
            return summaries
        }

        /// Returns summaries of the omitted events so far, and continues the windows.
        mutating func tellAll(at now: MonotonicInstant) -> [Summary] {
            var summaries = end(at: now)
            for (key, _) in order[oldest...] {
                guard let leftOut = windows[key]?.leftOut else { continue }
                windows[key]?.leftOut = nil
                summaries.append(summary(key, leftOut, latest, isAll: windows[key]?.written == 0))
            }
            return summaries
        }

        private mutating func open(_ window: Window, of key: Key?) {
            windows[key] = window
            var index = order.endIndex
            while index > oldest, order[index - 1].ends > window.ends { index -= 1 }
            order.insert((key, window.ends), at: index)
        }

        private func summary(_ key: Key?, _ leftOut: LeftOut, _ until: MonotonicInstant, isAll: Bool) -> Summary {
            Summary(
                key: key, count: leftOut.count, isAll: isAll, since: leftOut.since, until: until,
                level: leftOut.level, last: leftOut.last)
        }

        private var hasRoom: Bool { windows.count - (windows[nil] == nil ? 0 : 1) < limits.keys }

        /// Threads read the clock before they come here, so their readings may arrive out of order.
        private mutating func move(to now: MonotonicInstant) -> MonotonicInstant {
            latest = max(latest, now)
            return latest
        }
    }
#endif
