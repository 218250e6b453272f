/// How a server writes down its rate limits.
public enum RateLimitDialect: Sendable, Hashable, CaseIterable {
    /// By the names and the values of the fields: all others, as far as a field tells by itself which one it is.
    case automatic
    /// `RateLimit: "default";r=50;t=30` and `RateLimit-Policy: "default";q=100;w=60`, as structured fields: draft 10
    /// of the IETF's RateLimit fields (draft-ietf-httpapi-ratelimit-headers).
    case ietf
    /// `RateLimit-Limit`, `RateLimit-Remaining`, and `RateLimit-Reset` in seconds from now: drafts 0 to 6.
    case ietfDraft6
    /// `X-RateLimit-Limit`, `X-RateLimit-Remaining`, and `X-RateLimit-Reset` as an instant, in seconds since 1970.
    /// GitHub and most others; also with `X-Rate-Limit-…`.
    case gitHub
    /// `X-RateLimit-Remaining-Requests`, `X-RateLimit-Reset-Tokens: 6m0s` and the like, and `Retry-After-Ms`.
    case openAI
    /// `X-Shopify-Shop-Api-Call-Limit: 32/40`, and a `Retry-After` with a fraction: `2.0`.
    case shopify
    /// `grpc-retry-pushback-ms`, in milliseconds; below zero, or not a number: do not retry (gRFC A6).
    case grpc
    /// None: `Retry-After` alone counts.
    case none

    func includes(_ other: RateLimitDialect) -> Bool { self == .automatic || self == other }
}
