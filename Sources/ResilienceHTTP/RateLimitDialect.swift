/// The format in which a server states its rate limits.
///
/// <doc:RateLimitDialects> lists the fields of each dialect, with its source.
public enum RateLimitDialect: Sendable, Hashable, CaseIterable {
    /// All dialects at once, told apart by the names and values of the fields.
    case automatic
    /// The IETF's RateLimit fields (draft-ietf-httpapi-ratelimit-headers) from draft 8 on:
    /// `RateLimit: "default";r=50;t=30` and `RateLimit-Policy: "default";q=100;w=60`.
    case ietf
    /// Draft 7 of the IETF's RateLimit fields: `RateLimit: limit=100, remaining=50, reset=30`.
    case ietfDraft7
    /// Drafts 0 to 6 of the IETF's RateLimit fields: `RateLimit-Remaining: 50`.
    ///
    /// GitLab also uses these.
    case ietfDraft6
    /// GitHub, and most others with `X-RateLimit-Remaining` or `X-Rate-Limit-Remaining`.
    case gitHub
    /// OpenAI, and servers compatible with it.
    case openAI
    /// Anthropic's Claude API.
    case anthropic
    /// Discord.
    case discord
    /// Mastodon, and servers compatible with it.
    case mastodon
    /// Reddit.
    case reddit
    /// Sentry: its API, and its servers' answers to events.
    case sentry
    /// HubSpot.
    case hubSpot
    /// Brevo, formerly Sendinblue.
    case brevo
    /// Azure: its Resource Manager, Cosmos DB, and other services.
    case azure
    /// Amazon Web Services.
    case aws
    /// Shopify's REST Admin API.
    case shopify
    /// `grpc-retry-pushback-ms` (gRFC A6).
    case grpc
    /// None: `Retry-After` alone counts.
    case none

    func includes(_ other: RateLimitDialect) -> Bool { self == .automatic || self == other }
}
