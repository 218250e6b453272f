public import Resilience

/// The quotas that the other side reports.
extension SyncQueue {
    /// Notes how much is left of a limit on requests, as the other side reports it.
    ///
    /// Call it in a handler, for each answer with a quota, whether success or failure:
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
    /// - The queue has at most as many requests in flight as are left. If there are several quotas, the one with the
    ///   fewest left decides.
    /// - If nothing is left, nothing is sent until the reset, but for no longer than
    ///   ``SyncQueueConfiguration/maxPause``. After that, one request is sent first, as after a 429. This pause is not
    ///   stored: after a restart, the first answers contain the quota again.
    /// - If the server names no reset, the quota limits requests in flight, and causes no pause.
    /// - If few requests are left of a limit whose window is known, the queue spreads them over time.
    /// - For each request that ends without a note, the queue assumes that one less is left.
    ///
    /// The pace that was found from 429s applies as well. If repeatedly only one request gets through between two
    /// pauses for a quota, the queue sends one request in spite of the quota. If that request is acknowledged, the
    /// queue ignores quotas for the next 1 000 acknowledged requests.
    ///
    /// A quota with a ``/Resilience/ServerQuota/unit`` counts something other than requests, such as tokens. Only its
    /// ``/Resilience/ServerQuota/wait`` counts: if nothing is left, nothing is sent until the reset.
    ///
    /// You may call it from anywhere and at any time. In the handler's task, or a task that inherits its task-local
    /// values, the queue knows which request a note belongs to. So it ignores late notes of requests that were sent
    /// before a ``clear(discardsDead:markFailed:)`` or ``resume(keepingGrowth:)``.
    ///
    /// - Parameter quota: The quota that the other side reported.
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

    /// The request in whose task the present code runs.
    struct Origin: Sendable {
        @TaskLocal static var current: Origin?

        let queue: SyncQueue
        let request: Int
    }
}
