public import Resilience

extension Pipeline {
    /// Passes what a response says to be left of its server's limits to the throttles of this pipeline, so that they
    /// hold all calls ahead of the first 429.
    ///
    /// ```swift
    /// pipeline.note(RateLimitFields { response.headers[$0] })
    /// ```
    ///
    /// Call it for responses that mean success: what a 429 says is in its verdict. Not every limit of a server is about
    /// the calls of this pipeline, so none of the adapters does it without being asked to.
    /// - Parameter fields: The fields of a response.
    public func note(_ fields: RateLimitFields) { for quota in fields.quotas { note(quota) } }
}
