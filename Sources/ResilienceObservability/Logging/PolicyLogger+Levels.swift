#if Logging
    public import Logging
    public import Resilience
    import ResilienceSync

    extension PolicyLogger {
        /// Returns the level of an event's line, unless you pass levels of your own: quiet while all is well.
        ///
        /// Lines about one call are `trace` or `debug`, or `info` if the call failed. What changes for all calls is
        /// `notice`, or `warning` if it is for the worse. `error` is for what is lost without somebody's help. Events of
        /// types of your own have the level of their `severity`. The guide <doc:LogsMetricsTracesGuide> has the table.
        /// - Parameter event: The event.
        public static func standardLevel(of event: PolicyEvent) -> Logger.Level {
            switch event.detail {
            case let event as Pipeline.Event: level(of: event)
            case let event as CircuitBreaker.Event: level(of: event)
            case let event as Retry.Event: level(of: event)
            case let event as Throttle.Event: level(of: event)
            case let event as Bulkhead.Event: level(of: event)
            case let event as Timeout.Event: level(of: event)
            case let event as FallbackEvent: level(of: event)
            case let event as SyncEvent: level(of: event)
            default: level(of: event.detail.severity)
            }
        }

        private static func level(of severity: PolicyEventSeverity) -> Logger.Level {
            switch severity {
            case .debug: .debug
            case .info: .info
            case .notice: .notice
            case .warning: .warning
            case .error: .error
            }
        }

        private static func level(of event: Pipeline.Event) -> Logger.Level {
            switch event {
            case .attemptSucceeded: .trace
            case .attemptFailed, .succeeded, .rejected, .cancelled: .debug
            case .failed: .info
            }
        }

        private static func level(of event: CircuitBreaker.Event) -> Logger.Level {
            switch event {
            case .allowed(.halfOpen): .debug
            case .allowed: .trace
            case .failure, .rejected, .waiting, .late: .debug
            case .halfOpened: .info
            case .recovered, .breakEnded, .reset, .modeChanged: .notice
            case .opened, .reopened, .tripped, .wouldOpen: .warning
            }
        }

        private static func level(of event: Retry.Event) -> Logger.Level {
            switch event {
            case .retrying: .debug
            case .gaveUp: .warning
            }
        }

        private static func level(of event: Throttle.Event) -> Logger.Level {
            switch event {
            case .rejected: .debug
            case .held: .notice
            }
        }

        private static func level(of event: Bulkhead.Event) -> Logger.Level {
            switch event {
            case .queued, .rejected: .debug
            case .limitChanged, .queueChanged: .notice
            }
        }

        private static func level(of event: Timeout.Event) -> Logger.Level {
            switch event {
            case .timedOut: .info
            case .endedLate: .notice
            }
        }

        private static func level(of event: FallbackEvent) -> Logger.Level {
            switch event {
            case .fellBack: .info
            case .failed: .warning
            }
        }

        private static func level(of event: SyncEvent) -> Logger.Level {
            switch event {
            case .attempted: .trace
            case .enqueued, .coalesced, .delivered, .drained: .debug
            case .failed, .lockedOut: .info
            case .paused, .offline, .cleared, .revived, .discarded: .notice
            case .dropped: .warning
            case .died, .storeFailed: .error
            }
        }
    }
#endif
