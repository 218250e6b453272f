public import Resilience

/// What the other side says that is left of its limits.
extension SyncQueue {
    /// Takes note of what the other side says that is left of a limit on requests.
    ///
    /// Call it in a handler, for each answer that says so, be it a success or a failure:
    ///
    /// ```swift
    /// let queue = SyncQueue(store: store, pipeline: pipeline) { mutation in
    ///     let response = try await client.post(mutation)
    ///     let fields = RateLimitFields { response.headers[$0] }
    ///     for quota in fields.quotas { SyncQueue.current?.note(quota) }
    ///     try response.check()
    /// }
    /// ```
    ///
    /// - The queue has no more requests in flight than are left. If several quotas are noted, the one with the least
    ///   left counts.
    /// - If nothing is left, nothing is sent until the reset, but for no longer than
    ///   ``SyncQueueConfiguration/maxPause``. After that, one request is sent first, as after a 429. This pause is not
    ///   stored: after a restart, the first answers say the same again.
    /// - If the server names no reset, the quota limits what is in flight, and causes no pause.
    /// - If few are left of a limit whose window is known, they are spread.
    /// - A request that ends without a note counts as one less.
    ///
    /// The pace that was found from 429s holds besides. If only one request gets through between two such pauses, and
    /// that again and again, the queue sends one in spite of the quota. If that one is acknowledged, the queue ignores
    /// quotas for the next 1 000 acknowledged requests.
    ///
    /// Of a quota with a ``/Resilience/ServerQuota/unit``, which counts something else than requests, such as tokens, only
    /// its ``/Resilience/ServerQuota/wait`` counts: nothing is sent until the reset if nothing is left.
    ///
    /// You may call it from anywhere and at any time. The queue knows of which request a note is, if the call is made in
    /// the handler's task or a task that inherits its task-local values. So it ignores late notes of requests that were
    /// sent before a ``clear(discardsDead:markFailed:)`` or ``resume(keepingGrowth:)``.
    ///
    /// - Parameter quota: What the other side said.
    public func note(_ quota: ServerQuota) {
        let origin = Origin.current
        let request = origin?.queue === self ? origin?.request : nil
        let waker = change { state, now in
            state.machine.noted(quota, from: request, at: now) ? state.waker.take() : nil
        }
        waker?.resume()
    }

    /// The queue whose handler runs in this task; nil if there is none.
    ///
    /// A handler is written before its queue exists, so it can't name the queue otherwise.
    public static var current: SyncQueue? { Origin.current?.queue }

    /// The request in whose task something runs.
    struct Origin: Sendable {
        @TaskLocal static var current: Origin?

        let queue: SyncQueue
        let request: Int
    }
}
