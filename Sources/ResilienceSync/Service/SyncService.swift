#if ServiceLifecycle
    import Resilience
    public import ServiceLifecycle

    /// Runs a ``SyncQueue`` as a service: begins with a flush, and on a graceful shutdown lets what is in flight end.
    ///
    /// ```swift
    /// let group = ServiceGroup(services: [SyncService(queue)], gracefulShutdownSignals: [.sigterm], logger: logger)
    /// try await group.run()
    /// ```
    public struct SyncService: Service {
        let queue: SyncQueue
        let grace: Duration

        /// - Parameter grace: how long what is in flight may take after a shutdown was asked for; then it is cancelled, and
        ///   is sent again after the next start, under the same idempotency key.
        public init(_ queue: SyncQueue, grace: Duration = .seconds(10)) {
            self.queue = queue
            self.grace = SettingChecks("SyncService").notNegative(grace, "grace")
        }

        /// Returns after a graceful shutdown, or throws `CancellationError`; the queue is stopped then.
        public func run() async throws {
            queue.trigger()
            do {
                try await gracefulShutdown()
            } catch {
                await queue.stop()
                throw error
            }
            await queue.stop(within: grace)
        }
    }
#endif
