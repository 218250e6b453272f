#if AsyncHTTPClient
    import NIOCore
    import Resilience

    extension TimeBase {
        /// The instant of a deadline of NIO. The two clocks are compared by remaining time.
        func instant(_ deadline: NIODeadline) -> MonotonicInstant {
            deadline == .distantFuture ? .distantFuture : now + Duration.nanoseconds((deadline - .now()).nanoseconds)
        }
    }

    extension NIODeadline {
        /// An attempt's deadline for the client. This reads the pipeline's time first, so the client's deadline is
        /// never earlier: its errors come at the attempt's deadline or later.
        init(_ attempt: CallAttempt, on timeBase: any TimeBase) {
            guard attempt.deadline != .distantFuture else {
                self = .distantFuture
                return
            }
            let (seconds, attoseconds) = attempt.remaining(on: timeBase).components
            let (nanoseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
            self =
                overflow
                ? .distantFuture : .now() + .nanoseconds(nanoseconds) + .nanoseconds(attoseconds / 1_000_000_000)
        }
    }
#endif
