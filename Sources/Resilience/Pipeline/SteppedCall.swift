/// A call without a task: its owner runs the operation, ends the waits, and reports both.
///
/// It takes the driver's steps through the same policies. No timeout has a task: each shares its limit with all that
/// runs inside, as outer timeouts do in other calls too, and the owner ends the operation at the limit. It belongs to
/// one thread.
package final class SteppedCall {
    package enum Step {
        /// Run the operation, and end it with an error at `limit`; then call ``returned(_:)`` or ``threw(_:)``.
        case operation(CallAttempt, limit: MonotonicInstant)
        /// Wait until the waiter is resumed or the instant comes; then call ``waitEnded(_:)``.
        case wait(PolicyWaiter, until: MonotonicInstant)
        /// The call has ended: with an error, or with the operation's last result.
        case ended(Verdict, (any Error)?)
    }

    /// A call as the inside of a timeout sees it.
    private final class Inside {
        var call: PolicyCall

        init(_ call: consuming PolicyCall) { self.call = call }
    }

    /// The policies of one segment, which the call has entered.
    private final class Layer {
        let segment: PipelineSegment
        var frame = Frame()
        /// The verdict of the latest result.
        var last: Verdict?

        init(_ segment: PipelineSegment) { self.segment = segment }

        /// The inside has ended.
        func left(by ending: Ending, _ call: inout PolicyCall) -> Resilience.Step {
            call.reading = nil
            switch ending {
            case .returned(let verdict):
                last = verdict
                return segment.returned(verdict, &call, &frame)
            case .threw(let error):
                return segment.threw(error, &call, &frame, isEndedByClient: call.core.isEndedByClient)
            }
        }

        /// The end of the layer itself, after ``Step/done`` or ``Step/failed``.
        func ending(_ step: Resilience.Step) -> Ending {
            if step == .failed { return .threw(frame.takeError()) }
            guard let last else { preconditionFailure("done without a result") }
            return .returned(last)
        }
    }

    private enum Place {
        case segment(Layer)
        /// A timeout, and the call outside of it.
        case timeout(any SharingTimeLimit, length: Int64, outside: Inside)
    }

    private enum Ending {
        case returned(Verdict)
        case threw(any Error)
    }

    private let core: PipelineCore
    private var inside: Inside
    /// What the call is in, outermost first.
    private var places: [Place] = []
    private var record: CallRecord
    private let began: MonotonicInstant
    /// The caller's.
    private let deadline: MonotonicInstant
    private var waitBegan: MonotonicInstant?

    /// The pipeline's hedge; nil if it has none.
    private let halves: HedgedHalves?
    private let isCopy: Bool

    /// - Parameter pipeline: ``unsteppable(_:)`` returns nil for it.
    package init(_ pipeline: Pipeline, _ options: RunOptions) {
        halves = pipeline.core.halves
        isCopy = false
        core = halves?.outer ?? pipeline.core
        inside = Inside(PolicyCall(core, options))
        record = CallRecord(of: &inside.call)
        began = inside.call.now
        deadline = inside.call.deadline
    }

    /// A copy of a call, which goes through the inner policies of a hedge.
    private init(copy call: consuming PolicyCall, in core: PipelineCore) {
        halves = nil
        isCopy = true
        self.core = core
        inside = Inside(call)
        record = CallRecord()
        began = inside.call.now
        deadline = .distantFuture
    }

    deinit { inside.call.endNotes() }

    /// Returns the first policy of a pipeline that needs a task.
    package static func unsteppable(_ pipeline: Pipeline) -> Pipeline.Element? {
        pipeline.elements.first { element in
            if case .policy = element.kind { return false }
            if case .around(let policy) = element.kind { return !(policy is any SharingTimeLimit) }
            return true
        }
    }

    // MARK: What the owner reports

    package func begin() -> Step {
        if inside.call.isOver { return ended(.threw(DeadlinePassed())) }
        if core.isEndedByClient { record.began = began }
        inside.call.sharedLimit = SharedLimit(expiry: core.isEndedByClient ? .distantFuture : deadline)
        return enter(core.way)
    }

    /// The operation has returned.
    package func returned(_ verdict: Verdict) -> Step {
        inside.call.reading = nil
        if record.isWatched {
            record.attemptEnded(&inside.call, verdict, error: nil, isCancelled: inside.call.isCancelled)
        }
        return leave(.returned(verdict))
    }

    /// The operation has thrown.
    package func threw(_ error: any Error) -> Step {
        inside.call.reading = nil
        if record.isWatched || !inside.call.hasRun {
            record.attemptEnded(&inside.call, error: error, isCancelled: inside.call.isCancelled)
        }
        return leave(.threw(error))
    }

    /// The wait has ended.
    package func waitEnded(_ wake: PolicyWaiter.Wake) -> Step {
        guard case .segment(let layer) = places.last else { preconditionFailure("the call does not wait") }
        return goOn(layer.segment.waitEnded(wake, since: waitBegan, &inside.call, &layer.frame), in: layer)
    }

    /// The caller is cancelled: after it, the operation ends with an error, or the wait as cancelled.
    package func cancel() { inside.call.noteCancelled() }

    // MARK: The way in and out

    private func enter(_ segment: PipelineSegment) -> Step {
        if segment.nodes.isEmpty { return enterInside(of: segment) }
        let layer = Layer(segment)
        places.append(.segment(layer))
        return goOn(segment.walkIn(&inside.call, &layer.frame), in: layer)
    }

    private func enterInside(of segment: PipelineSegment) -> Step {
        guard let inner = segment.inner else {
            record.attemptBegins(&inside.call)
            return .operation(CallAttempt(inside.call), limit: inside.call.sharedLimit?.expiry ?? .distantFuture)
        }
        guard let timeout = segment.timeLimit else { return enter(inner) }
        do {
            let (expiry, length) = try timeout.begin(&inside.call)
            // An outer limit that comes first ends the call; at the same instant the outer one was set first.
            if let outer = inside.call.sharedLimit, outer.expiry <= expiry { return enter(inner) }
            let outside = inside
            places.append(.timeout(timeout, length: length, outside: outside))
            inside = Inside(PolicyCall(inside: &outside.call, until: expiry))
            return enter(inner)
        } catch {
            return leave(.threw(error))
        }
    }

    /// Follows the answer of the layer's policies; the layer is the innermost place.
    private func goOn(_ step: Resilience.Step, in layer: Layer) -> Step {
        switch step {
        case .operation: return enterInside(of: layer.segment)
        case .wait: return wait(in: layer)
        case .done, .failed:
            places.removeLast()
            return leave(layer.ending(step))
        }
    }

    private func wait(in layer: Layer) -> Step {
        waitBegan = layer.segment.waitBegins(&inside.call)
        let wait = layer.frame.wait(of: inside.call)
        return .wait(wait.waiter, until: wait.ends)
    }

    /// Leaves the places, innermost first, until a policy asks for another round.
    private func leave(_ ending: Ending) -> Step {
        var ending = ending
        while let place = places.popLast() {
            switch place {
            case .segment(let layer):
                let step = layer.left(by: ending, &inside.call)
                if step == .wait {
                    places.append(place)
                    return wait(in: layer)
                }
                ending = layer.ending(step)
            case .timeout(let timeout, let length, let outside):
                if case .threw(let error) = ending {
                    ending = .threw(outside.call.error(error, leaving: &inside.call, of: timeout, length))
                }
                outside.call.left(&inside.call)
                inside = outside
            }
        }
        return ended(ending)
    }

    private func ended(_ ending: Ending) -> Step {
        switch ending {
        case .returned(let verdict):
            if record.isWatched { record.ended(&inside.call) }
            return .ended(verdict, nil)
        case .threw(let error) where isCopy:
            return .ended(inside.call.settled ?? core.classifier.verdict(for: error), error)
        case .threw(var error):
            if !core.isEndedByClient, inside.call.sharedLimit != nil {
                error = core.error(error, &inside.call, since: began, deadline, hasBegun: record.attempts > 0)
            }
            error = core.ended(by: error, &inside.call, record)
            return .ended(inside.call.settled ?? core.classifier.verdict(for: error), error)
        }
    }

    // MARK: Copies

    package var hasHedge: Bool { halves != nil }

    /// The race of the copies of a call whose operation is to begin; nil without a hedge.
    package func race() -> SteppedCopies? {
        halves.map { SteppedCopies($0.hedge.steppedRace(&inside.call, inside: $0.inner), of: self, in: $0.inner) }
    }

    /// The copies of one call.
    package final class SteppedCopies {
        private let race: any SteppedRace
        private let outside: SteppedCall
        private let inner: PipelineCore

        fileprivate init(_ race: any SteppedRace, of outside: SteppedCall, in inner: PipelineCore) {
            (self.race, self.outside, self.inner) = (race, outside, inner)
        }

        /// - Parameter isCancelled: Whether the call is cancelled: then no further copy begins.
        package func next(isCancelled: Bool) -> SteppedRaceStep {
            outside.inside.call.reading = nil
            return race.next(&outside.inside.call, isCancelled: isCancelled)
        }

        package func begin(_ copy: Int) -> SteppedCall { SteppedCall(copy: race.begin(copy), in: inner) }

        /// Whether no copy may reach its operation any more.
        package var isDecided: Bool { race.isDecided }

        /// A copy has ended.
        /// - Parameter hasRun: Whether it reached its operation.
        package func ended(
            _ copy: Int, _ call: SteppedCall, _ verdict: Verdict, _ error: (any Error)?, hasRun: Bool
        ) {
            call.inside.call.reading = nil
            race.ended(
                copy, verdict, error, hasRun: hasRun, isCancelled: call.inside.call.isCancelled, &call.inside.call)
        }

        /// All copies have ended, so the call's operation has.
        package func end(isCancelled: Bool) -> Step {
            outside.inside.call.reading = nil
            let (verdict, error) = race.end(&outside.inside.call, isCancelled: isCancelled)
            return error.map(outside.threw) ?? outside.returned(verdict)
        }
    }
}

package enum SteppedRaceStep {
    /// Begin this copy; 0 is the first.
    case begin(Int)
    /// Wait until a copy has ended, or until this instant.
    case wait(until: MonotonicInstant)
    /// The call's end is certain: cancel the copies that run.
    case end
}

/// The copies of one call, without tasks.
package protocol SteppedRace: AnyObject {
    var isDecided: Bool { get }
    func next(_ call: inout PolicyCall, isCancelled: Bool) -> SteppedRaceStep
    func begin(_ copy: Int) -> PolicyCall
    func ended(
        _ copy: Int, _ verdict: Verdict, _ error: (any Error)?, hasRun: Bool, isCancelled: Bool,
        _ call: inout PolicyCall)
    /// - Returns: The call's verdict and error.
    func end(_ call: inout PolicyCall, isCancelled: Bool) -> (Verdict, (any Error)?)
}
