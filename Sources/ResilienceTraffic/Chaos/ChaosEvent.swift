public import Resilience

extension Chaos {
    /// An event of a chaos policy.
    public enum Event: PolicyEventDetail, Equatable {
        /// The call fails with this verdict, without running its operation, after this wait.
        case failed(Verdict, after: Duration)
        /// The operation succeeded, and its answer was lost; the call fails with this verdict.
        case lostAnswer(Verdict)
        /// The call waits for this time before its operation.
        case delayed(Duration)
        /// A closure with this name ran before the operation.
        case behaved(String)
        /// The call ends as if it had been cancelled, after this wait.
        case cancelled(after: Duration)
        /// The call was not delayed, because enough other calls are delayed.
        case leftOut
        /// The limit of touched calls was reached; no further call is touched.
        case limitReached(Int)
        /// The policy was turned on, for this time.
        case turnedOn(for: Duration)
        /// The policy was turned off.
        case turnedOff(OffReason)

        public var kind: String {
            switch self {
            case .failed: "failed"
            case .lostAnswer: "lostAnswer"
            case .delayed: "delayed"
            case .behaved: "behaved"
            case .cancelled: "cancelled"
            case .leftOut: "leftOut"
            case .limitReached: "limitReached"
            case .turnedOn: "turnedOn"
            case .turnedOff: "turnedOff"
            }
        }

        public var severity: PolicyEventSeverity {
            switch self {
            case .failed, .lostAnswer, .cancelled: .info
            case .delayed, .behaved, .leftOut: .debug
            case .limitReached, .turnedOff: .notice
            case .turnedOn: .warning
            }
        }

        public var fields: EventFields {
            switch self {
            case .failed(let verdict, let wait): verdict.fields + ["wait": wait]
            case .lostAnswer(let verdict): verdict.fields
            case .delayed(let wait), .cancelled(let wait): ["wait": wait]
            case .behaved(let name): ["behavior": name]
            case .leftOut: [:]
            case .limitReached(let count): ["touched": count]
            case .turnedOn(let length): ["length": length]
            case .turnedOff(let reason): ["reason": reason.rawValue]
            }
        }

        public var description: String {
            switch self {
            case .failed(let verdict, let wait): "chaos: failing call\(Self.after(wait)) (\(verdict))"
            case .lostAnswer(let verdict): "chaos: lost the answer of call (\(verdict))"
            case .delayed(let wait): "chaos: delaying call by \(wait.text)"
            case .behaved(let name): "chaos: ran \(name)"
            case .cancelled(let wait): "chaos: cancelling call\(Self.after(wait))"
            case .leftOut: "chaos: not delaying call, enough are delayed"
            case .limitReached(let count): "chaos: touched \(count) calls, leaving the others alone"
            case .turnedOn(let length): "chaos: on for \(length.text)"
            case .turnedOff(let reason): "chaos: off (\(reason))"
            }
        }

        private static func after(_ wait: Duration) -> String { wait > .zero ? " after \(wait.text)" : "" }
    }

    /// Why a chaos policy was turned off.
    public enum OffReason: String, Sendable, Hashable, CustomStringConvertible {
        /// It was turned off by hand or by its configuration.
        case turnedOff
        /// Its time was over.
        case timeIsOver

        public var description: String {
            switch self {
            case .turnedOff: "turned off"
            case .timeIsOver: "its time is over"
            }
        }
    }
}
