#if Tracing
    import Resilience

    /// How a call or an attempt ended, in the words of span attributes.
    struct CallEnding {
        /// The same words as the kinds of `Pipeline.Event`.
        let outcome: String
        /// nil after a success.
        let verdict: String?
        /// OpenTelemetry's `error.type`, which must have few different values: the type of the error, or the verdict of
        /// a result that means failure.
        let errorType: String?
        let error: (any Error)?
        /// The failure; nil if there is none, or if it is unknown.
        var failure: FailureDetail?

        /// A cancelled call is not a failure.
        var isError: Bool { outcome == "failed" || outcome == "rejected" }

        /// The ending of a returned result.
        /// - Parameter hasBegun: Whether the operation ran: then a rejection came from inside the operation, and is a
        ///   failure.
        init(_ verdict: Verdict, hasBegun: Bool) {
            outcome = Self.outcome(of: verdict, isCancelled: false, hasBegun: hasBegun)
            self.verdict = verdict.kind == .success ? nil : "\(verdict.kind)"
            errorType = self.verdict
            error = nil
        }

        /// The ending of a thrown error.
        /// - Parameters:
        ///   - isCancelled: Whether the task was cancelled, other than by the call's deadline.
        ///   - deadlinePassed: Whether the call's deadline ended it: then the error only shows that the inner work was
        ///     cancelled.
        ///   - hasBegun: Whether the operation ran.
        init(_ error: any Error, _ verdict: Verdict, isCancelled: Bool, deadlinePassed: Bool, hasBegun: Bool) {
            outcome =
                deadlinePassed ? "failed" : Self.outcome(of: verdict, isCancelled: isCancelled, hasBegun: hasBegun)
            self.verdict = "\(deadlinePassed ? .transient : isCancelled ? .cancelled : verdict.kind)"
            errorType = deadlinePassed ? "\(TimedOut.self)" : "\(type(of: error))"
            self.error = outcome == "cancelled" ? nil : error
            if deadlinePassed { failure = FailureDetail("\(TimedOut.self)", policy: "deadline") }
        }

        private static func outcome(of verdict: Verdict, isCancelled: Bool, hasBegun: Bool) -> String {
            switch verdict.kind {
            case .success: "succeeded"
            case _ where isCancelled, .cancelled: "cancelled"
            case .rejected where !hasBegun: "rejected"
            case .rejected, .transient, .throttled, .uncertain, .permanent: "failed"
            }
        }
    }

    extension CallEnding {
        /// The ending of an error thrown in a call.
        init(_ error: any Error, of call: inout PolicyCall, _ verdict: Verdict, hasBegun: Bool) {
            let isCancelled = Task.isCancelled
            let isOver =
                isCancelled && call.deadline != .distantFuture && !(error is any Rejection)
                && call.timeBase.now >= call.deadline
            self.init(
                error, verdict, isCancelled: isCancelled && !isOver, deadlinePassed: isOver, hasBegun: hasBegun)
        }
    }
#endif
