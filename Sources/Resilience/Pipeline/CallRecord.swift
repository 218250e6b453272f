/// What observers of a pipeline are told of a call as a whole and of its attempts. Made only for calls that are told of, or
/// have a deadline.
@usableFromInline struct CallRecord {
    private let began: MonotonicInstant
    /// Runs of the operation.
    @usableFromInline private(set) var attempts = 0

    @usableFromInline init(beganAt began: MonotonicInstant) { self.began = began }

    @usableFromInline mutating func attemptBegan(_ call: inout PolicyCall) -> MonotonicInstant {
        attempts += 1
        return call.now
    }

    @usableFromInline func attemptEnded(_ call: inout PolicyCall, since began: MonotonicInstant, verdict: Verdict) {
        let number = call.attempt
        tell(&call, since: began) { length in
            verdict == .success
                ? .attemptSucceeded(number, took: length)
                : .attemptFailed(number, Task.isCancelled ? .cancelled : verdict, took: length)
        }
    }

    @usableFromInline func attemptEnded(_ call: inout PolicyCall, since began: MonotonicInstant, error: any Error) {
        attemptEnded(&call, since: began, verdict: call.core.classifier.verdict(for: error))
    }

    @usableFromInline func ended(_ call: inout PolicyCall, _ verdict: Verdict) {
        tell(&call, since: began) { length in
            switch verdict {
            case .success: .succeeded(took: length, attempts: attempts)
            case _ where Task.isCancelled, .cancelled: .cancelled(took: length, attempts: attempts)
            case .rejected: .rejected(took: length, attempts: attempts)
            case .transient, .throttled, .uncertain, .permanent: .failed(verdict, took: length, attempts: attempts)
            }
        }
    }

    @usableFromInline func ended(_ call: inout PolicyCall, error: any Error) {
        ended(&call, call.settled ?? call.core.classifier.verdict(for: error))
    }

    private func tell(
        _ call: inout PolicyCall, since began: MonotonicInstant, _ event: (_ took: Duration) -> Pipeline.Event
    ) {
        guard call.isObserved() else { return }
        call.reading = nil
        let event = event(began.duration(to: call.now))
        call.emit(event, from: Pipeline.Event.source)
    }
}

extension Pipeline {
    /// What a pipeline tells its observers of its calls, beside what its policies tell of what they do: for metrics and logs.
    ///
    /// As these events tell it, the policy is "call": a pipeline has a name of its own.
    public enum Event: PolicyEventDetail, Equatable {
        /// The operation returned in this attempt, and it took that long.
        case attemptSucceeded(Int, took: Duration)
        /// The operation threw in this attempt, or returned something that means failure.
        case attemptFailed(Int, Verdict, took: Duration)
        /// The call succeeded. It took that long with all its attempts and waits, and the operation ran so many times.
        case succeeded(took: Duration, attempts: Int)
        case failed(Verdict, took: Duration, attempts: Int)
        /// A policy refused it, or the operation's error is a ``Rejection``.
        case rejected(took: Duration, attempts: Int)
        case cancelled(took: Duration, attempts: Int)

        static var source: String { "call" }

        public var kind: String {
            switch self {
            case .attemptSucceeded: "attemptSucceeded"
            case .attemptFailed: "attemptFailed"
            case .succeeded: "succeeded"
            case .failed: "failed"
            case .rejected: "rejected"
            case .cancelled: "cancelled"
            }
        }

        public var description: String {
            switch self {
            case .attemptSucceeded(let number, let length): "attempt \(number) succeeded after \(length.text)"
            case .attemptFailed(let number, let verdict, let length):
                "attempt \(number) failed after \(length.text) (\(verdict))"
            case .succeeded(let length, let attempts): "succeeded after \(Self.text(length, attempts))"
            case .failed(let verdict, let length, let attempts):
                "failed after \(Self.text(length, attempts)) (\(verdict))"
            case .rejected(let length, let attempts): "rejected after \(Self.text(length, attempts))"
            case .cancelled(let length, let attempts): "cancelled after \(Self.text(length, attempts))"
            }
        }

        private static func text(_ length: Duration, _ attempts: Int) -> String {
            "\(length.text), \(attempts) attempt\(attempts == 1 ? "" : "s")"
        }
    }
}
