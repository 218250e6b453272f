/// What a response says in its body, where the status alone does not tell.
///
/// Every service words it in its own way, so you read the body and pass the remark on.
public enum ServerRemark: Sendable, Hashable {
    /// A 403 that means a rate limit, like GitHub's "You have exceeded a secondary rate limit".
    case rateLimited
    /// A 429 or 403 where waiting does not help: the quota is used up or the bill is not paid, like OpenAI's
    /// `insufficient_quota`.
    case quotaExhausted
    /// A 409 that means that the first request with the same idempotency key is still being processed, like Stripe's
    /// `idempotency_key_in_use`.
    case inFlight
}
