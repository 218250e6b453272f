public import Resilience

extension Pipeline {
    /// Passes the remaining quotas in a response to the throttles of this pipeline, so that they hold all calls before
    /// the first 429.
    ///
    /// ```swift
    /// pipeline.note(RateLimitFields { response.headers[$0] })
    /// ```
    ///
    /// Call it for responses that mean success: a 429's verdict already contains its wait. A server's limit may be
    /// about other calls, so no adapter does this by default.
    /// - Parameter fields: The fields of a response.
    public func note(_ fields: RateLimitFields) { for quota in fields.quotas { note(quota) } }
}
