#if Logging && ServiceLifecycle
    public import ServiceLifecycle

    /// Writes the last summaries of a logger before the process ends.
    ///
    /// ```swift
    /// let group = ServiceGroup(
    ///     services: [LoggingService(log), server], gracefulShutdownSignals: [.sigterm], logger: logger)
    /// ```
    ///
    /// Services shut down in reverse order. So put this service before the services whose events it writes.
    public struct LoggingService: Service {
        let log: PolicyLogger

        /// Creates the service.
        ///
        /// - Parameter log: The observer whose summaries are written.
        public init(_ log: PolicyLogger) { self.log = log }

        /// Waits for a graceful shutdown, or until the task is cancelled, and then writes the summaries that are still
        /// due.
        public func run() async {
            // Throws only if the task is cancelled.
            try? await gracefulShutdown()
            log.flush()
        }
    }
#endif
