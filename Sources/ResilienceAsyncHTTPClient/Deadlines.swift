#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import NIOHTTP1
    import Resilience
    import ResilienceHTTP

    extension TimeBase {
        /// The instant of a deadline of NIO. The two clocks are compared by what is left.
        func instant(_ deadline: NIODeadline) -> MonotonicInstant {
            deadline == .distantFuture ? .distantFuture : now + Duration.nanoseconds((deadline - .now()).nanoseconds)
        }
    }

    extension DeadlineField {
        /// Tells the server how long an attempt may take, unless the request names a shorter time itself.
        func write(_ attempt: CallAttempt, on timeBase: any TimeBase, to request: inout HTTPClientRequest) throws {
            guard attempt.deadline != .distantFuture else { return }
            let left = attempt.remaining(on: timeBase)
            guard let value = value(for: left, over: request.headers.first(name: name)) else { return }
            if value == "0" { throw HTTPClientError.deadlineExceeded }
            request.headers.replaceOrAdd(name: name, value: value)
        }
    }

    extension NIODeadline {
        /// The deadline of an attempt, as the client takes it. This reads the pipeline's time first, so the deadline is
        /// never the earlier one: what the client throws then is thrown at the attempt's deadline or later.
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
