public import Resilience

/// An event of a ``CallCache``.
public enum CacheEvent: PolicyEventDetail, Equatable {
    /// A call got a fresh value.
    case hit
    /// A call got a stale value.
    ///
    /// A new value is being loaded, or its load has just failed.
    case hitStale
    /// A call got a cached failure.
    case hitFailure
    /// A call found no usable value, and waits for a load.
    case missed
    /// A load took this long, and returned a value.
    case loaded(took: Duration)
    /// A load took this long, and failed with this verdict.
    case failed(Verdict, took: Duration)
    /// A load failed with this verdict, or did not end in time, and a call got the earlier value.
    case fellBack(Verdict)
    /// This number of entries was evicted to make room.
    case evicted(Int)

    public var kind: String {
        switch self {
        case .hit: "hit"
        case .hitStale: "hitStale"
        case .hitFailure: "hitFailure"
        case .missed: "missed"
        case .loaded: "loaded"
        case .failed: "failed"
        case .fellBack: "fellBack"
        case .evicted: "evicted"
        }
    }

    public var severity: PolicyEventSeverity {
        switch self {
        case .hit, .hitStale, .hitFailure, .missed, .loaded: .trace
        case .failed, .evicted: .debug
        case .fellBack: .info
        }
    }

    public var fields: EventFields {
        switch self {
        case .hit, .hitStale, .hitFailure, .missed: [:]
        case .loaded(let time): ["duration": time]
        case .failed(let verdict, let time): verdict.fields + ["duration": time]
        case .fellBack(let verdict): verdict.fields
        case .evicted(let count): ["count": count]
        }
    }

    public var description: String {
        switch self {
        case .hit: "fresh value"
        case .hitStale: "stale value"
        case .hitFailure: "cached failure"
        case .missed: "no value, loading one"
        case .loaded(let time): "loaded in \(time.text)"
        case .failed(let verdict, let time): "load failed after \(time.text): \(verdict)"
        case .fellBack(let verdict): "\(verdict), returning the stale value"
        case .evicted(let count): "evicted \(count) to make room"
        }
    }
}
