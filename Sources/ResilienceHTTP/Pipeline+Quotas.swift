public import Resilience

extension Pipeline {
    /// Passes the rest of a server's limits, from a response, to the throttles of this pipeline, so that they hold all
    /// calls before the first 429.
    ///
    /// ```swift
    /// pipeline.note(RateLimitFields { response.headers[$0] })
    /// ```
    ///
    /// Call it for responses that mean success: a 429's verdict already contains its wait. Not every limit of a server
    /// is about the calls of this pipeline, so none of the adapters does it by default.
    /// - Parameter fields: The fields of a response.
    public func note(_ fields: RateLimitFields) { for quota in fields.quotas { note(quota) } }
}
