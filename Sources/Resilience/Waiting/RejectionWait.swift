/// How long a rejected call should wait before it comes again.
enum RejectionWait: Sendable {
    case unknown
    case fixed(Duration)
    /// Until an instant: the same error can also be thrown to later calls.
    case until(MonotonicInstant, any TimeBase)

    init(_ wait: Duration?) { self = wait.map { .fixed($0) } ?? .unknown }

    init(until instant: MonotonicInstant?, on timeBase: any TimeBase) {
        self = instant.map { .until($0, timeBase) } ?? .unknown
    }

    /// The time from now; zero if that time has come; nil if unknown.
    var remaining: Duration? {
        switch self {
        case .unknown: nil
        case .fixed(let wait): wait
        case .until(let instant, let timeBase): max(.zero, timeBase.now.duration(to: instant))
        }
    }
}
