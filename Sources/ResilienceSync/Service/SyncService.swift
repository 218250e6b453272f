#if ServiceLifecycle
    import Resilience
    public import ServiceLifecycle

    /// Runs a ``SyncQueue`` as a service: begins with a flush, follows other users of the store, and lets requests in
    /// flight end on a graceful shutdown.
    ///
    /// ```swift
    /// let group = ServiceGroup(
    ///     services: [SyncService(queue)],
    ///     gracefulShutdownSignals: [.sigterm], logger: logger)
    /// try await group.run()
    /// ```
    public struct SyncService: Service {
        let queue: SyncQueue
        let grace: Duration

        /// Creates the service.
        ///
        /// - Parameters:
        ///   - queue: The queue to run.
        ///   - grace: How long requests in flight may take after a shutdown was requested, 0 or more; 10 s by default.
        ///     Then they are cancelled, and sent again after the next start, under the same idempotency key.
        public init(_ queue: SyncQueue, grace: Duration = .seconds(10)) {
            self.queue = queue
            self.grace = SettingChecks("SyncService").notNegative(grace, "grace")
        }

        /// Runs until a graceful shutdown, or until it is cancelled.
        ///
        /// The queue is stopped then.
        ///
        /// - Throws: `CancellationError` if its task is cancelled.
        public func run() async throws {
            queue.trigger()
            let follower = Task { await queue.followStore() }
            defer { follower.cancel() }
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
