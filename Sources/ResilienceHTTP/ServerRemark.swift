public import Resilience

/// The meaning of a response by its body, beyond its status.
///
/// Every service words it differently, so you read the body and pass the remark.
public enum ServerRemark: Sendable, Hashable {
    /// A failure that means a rate limit, like GitHub's 403 "You have exceeded a secondary rate limit".
    case rateLimited
    /// A 4xx for which waiting does not help: the quota is used up or the bill is not paid, like OpenAI's
    /// `insufficient_quota`.
    case quotaExhausted
    /// A 409 that means that the first request with the same idempotency key is still being processed, like Stripe's
    /// `idempotency_key_in_use`.
    case inFlight
    /// The verdict of the response, regardless of its status: a 200 with an error inside, or an expected 404.
    case means(Verdict.Kind)

    var kind: Verdict.Kind? { if case .means(let kind) = self { kind } else { nil } }

    /// Creates the remark for an AWS error code; nil if the code adds nothing to the status.
    ///
    /// The codes that mean a rate limit or a time limit come from the standard retry mode of the AWS SDK for Python
    /// (botocore 1.43, `retries/standard.py`).
    ///
    /// - Parameter awsErrorCode: The `Code` of an XML body, the `__type` of a JSON body, or the field
    ///   `x-amzn-errortype`, which the verdict reads itself. A namespace before a `#`, and text after a `:`, are
    ///   ignored.
    public init?(awsErrorCode: String) {
        let code = (awsErrorCode.split(separator: "#").last ?? "").prefix { $0 != ":" }
        switch code {
        case "Throttling", "ThrottlingException", "ThrottledException", "RequestThrottledException",
            "TooManyRequestsException", "ProvisionedThroughputExceededException", "TransactionInProgressException",
            "RequestLimitExceeded", "BandwidthLimitExceeded", "LimitExceededException", "RequestThrottled", "SlowDown",
            "PriorRequestNotComplete", "EC2ThrottledException":
            self = .rateLimited
        case "RequestTimeout", "RequestTimeoutException":
            self = .means(.transient)
        default:
            return nil
        }
    }
}
