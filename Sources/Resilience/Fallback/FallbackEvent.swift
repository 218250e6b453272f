/// An event of a ``Fallback``, for the observers of its pipeline.
public enum FallbackEvent: PolicyEventDetail, Equatable {
    /// The pipeline's call failed with this verdict, and a substitute was returned.
    case fellBack(Verdict)
    /// The pipeline's call failed with this verdict, and the substitute threw an error: its ``FailureDetail``.
    case failed(Verdict, error: String)

    public var kind: String {
        switch self {
        case .fellBack: "fellBack"
        case .failed: "failed"
        }
    }

    public var severity: PolicyEventSeverity {
        switch self {
        case .fellBack: .info
        case .failed: .warning
        }
    }

    public var fields: EventFields {
        switch self {
        case .fellBack(let verdict): verdict.fields
        case .failed(let verdict, let error): verdict.fields + ["error": error]
        }
    }

    public var description: String {
        switch self {
        case .fellBack(let verdict): "\(verdict), handing back a substitute"
        case .failed(let verdict, let error): "\(verdict), and no substitute: \(error)"
        }
    }
}
