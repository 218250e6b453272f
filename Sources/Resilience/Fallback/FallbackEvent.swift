/// What a ``Fallback`` tells the observers of its pipeline.
public enum FallbackEvent: PolicyEventDetail, Equatable {
    /// The pipeline's call ended so, and a substitute was handed back.
    case fellBack(Verdict)
    /// The pipeline's call ended so, and what was to give a substitute threw this.
    case failed(Verdict, error: String)

    public var kind: String {
        switch self {
        case .fellBack: "fellBack"
        case .failed: "failed"
        }
    }

    public var description: String {
        switch self {
        case .fellBack(let verdict): "\(verdict), handing back a substitute"
        case .failed(let verdict, let error): "\(verdict), and no substitute: \(error)"
        }
    }
}
