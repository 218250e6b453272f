#if Logging
    public import Logging
    public import Resilience

    extension PolicyLogger {
        /// Returns the level of an event's line, unless you pass levels of your own: the event's severity.
        ///
        /// The levels keep the log quiet while all is well. The guide <doc:LogsMetricsTracesGuide> has a table of them.
        /// - Parameter event: The event.
        public static func standardLevel(of event: PolicyEvent) -> Logger.Level {
            standardLevel(of: event.detail.severity)
        }

        static func standardLevel(of severity: PolicyEventSeverity) -> Logger.Level {
            switch severity {
            case .trace: .trace
            case .debug: .debug
            case .info: .info
            case .notice: .notice
            case .warning: .warning
            case .error: .error
            }
        }
    }
#endif
