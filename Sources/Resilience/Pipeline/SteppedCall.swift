/// A call without a task: its owner runs the operation, ends the waits, and reports both.
///
/// It takes the driver's steps through the same policies. No timeout has a task: each shares its limit with all that
/// runs inside, as outer timeouts do in other calls too, and the owner ends the operation at the limit. It belongs to
/// one thread, and can be used again when it has ended. The owner calls ``endNotes()`` last.
package struct SteppedCall: ~Copyable {
    package enum Step {
        /// Run the operation, and end it with an error at `limit`; then call ``returned(_:)`` or ``threw(_:)``.
        case operation(CallAttempt, limit: MonotonicInstant)
        /// Wait until the waiter is resumed or the instant comes; then call ``waitEnded(_:)``.
        case wait(PolicyWaiter, until: MonotonicInstant)
        /// The call has ended: with an error, or with the operation's last result.
        case ended(Verdict, (any Error)?)
    }

    /// A segment of the pipeline, as the call goes through it.
    private struct Layer {
        let segment: PipelineSegment
        /// The timeout before it; nil if there is none.
        let limit: Limit?
        /// Whether the call has entered it through the timeout's limit: an outer limit may come first.
        var isLimited = false
        var frame = Frame()
        /// The verdict of the latest result.
        var last: Verdict?

        init(_ segment: PipelineSegment, in core: PipelineCore, after timeout: (any SharingTimeLimit)? = nil) {
            self.segment = segment
            limit = timeout.map { Limit($0, PolicyCall(core)) }
        }

        /// Keeps nothing of the call that leaves it: an error may hold anything.
        mutating func clear() { (frame, last) = (Frame(), nil) }

        /// The end of the layer's policies, after ``Step/done`` or ``Step/failed``.
        mutating func ending(_ step: Resilience.Step) -> Ending {
            if step == .failed { return .threw(frame.takeError()) }
            guard let last else { preconditionFailure("done without a result") }
            return .returned(last)
        }
    }

    /// A timeout, and the call outside of it. Only the call it belongs to works on it, one access after the other.
    private final class Limit {
        let timeout: any SharingTimeLimit
        @exclusivity(unchecked) var length: Int64 = 0
        @exclusivity(unchecked) var outside: PolicyCall

        init(_ timeout: any SharingTimeLimit, _ outside: consuming PolicyCall) {
            self.timeout = timeout
            self.outside = outside
        }

        /// Enters the timeout.
        /// - Returns: Whether the call is limited now; false if an outer limit comes first.
        func begin(_ call: inout PolicyCall) throws -> Bool {
            let (expiry, length) = try timeout.begin(&call)
            // At the same instant the outer one was set first.
            if let outer = call.sharedLimit, outer.expiry <= expiry { return false }
            self.length = length
            outside = PolicyCall(inside: &call, until: expiry)
            swap(&call, &outside)
            return true
        }

        /// Leaves the timeout.
        func end(_ call: inout PolicyCall, _ ending: Ending) -> Ending {
            var ending = ending
            if case .threw(let error) = ending {
                ending = .threw(outside.error(error, leaving: &call, of: timeout, length))
            }
            outside.left(&call)
            swap(&call, &outside)
            return ending
        }
    }

    private enum Ending {
        case returned(Verdict)
        case threw(any Error)
    }

    private let core: PipelineCore
    /// The pipeline's hedge; nil if it has none.
    private let halves: HedgedHalves?
    /// The number of the copy; nil for a call of its own.
    fileprivate let copy: Int?
    /// The call as the innermost layer sees it.
    fileprivate var call: PolicyCall
    /// All of the pipeline, the outermost first.
    private var layers: [Layer]
    /// How many of them the call is in.
    private var depth = 0
    private var record: CallRecord
    private var began: MonotonicInstant
    /// The caller's.
    private var deadline: MonotonicInstant
    private var waitBegan: MonotonicInstant?

    /// - Parameter pipeline: ``unsteppable(_:)`` returns nil for it.
    package init(_ pipeline: Pipeline, _ options: RunOptions) {
        halves = pipeline.core.halves
        copy = nil
        core = halves?.outer ?? pipeline.core
        layers = Self.layers(of: core)
        call = PolicyCall(core, options)
        record = CallRecord(of: &call)
        began = call.now
        deadline = call.deadline
    }

    /// A copy of a call, which goes through the inner policies of a hedge.
    fileprivate init(copy number: Int, _ call: consuming PolicyCall, in core: PipelineCore) {
        halves = nil
        copy = number
        self.core = core
        layers = Self.layers(of: core)
        self.call = call
        record = CallRecord()
        began = self.call.now
        deadline = .distantFuture
    }

    private static func layers(of core: PipelineCore) -> [Layer] {
        var layers = [Layer(core.way, in: core)]
        var segment = core.way
        while let inner = segment.inner {
            layers.append(Layer(inner, in: core, after: segment.timeLimit))
            segment = inner
        }
        return layers
    }

    /// Prepares another call through the same pipeline, after ``Step/ended``.
    package mutating func reset(_ options: RunOptions) {
        call = PolicyCall(core, options)
        record = CallRecord(of: &call)
        began = call.now
        deadline = call.deadline
    }

    /// Returns the first policy of a pipeline that needs a task.
    package static func unsteppable(_ pipeline: Pipeline) -> Pipeline.Element? {
        pipeline.elements.first { element in
            if case .around(let policy) = element.kind { !(policy is any SharingTimeLimit) } else { false }
        }
    }

    package mutating func endNotes() { call.endNotes() }

    // MARK: What the owner reports

    package mutating func begin() -> Step {
        if call.isOver { return ended(.threw(DeadlinePassed())) }
        if core.isEndedByClient { record.began = began }
        call.sharedLimit = SharedLimit(expiry: core.isEndedByClient ? .distantFuture : deadline)
        return enter()
    }

    /// The operation has returned.
    package mutating func returned(_ verdict: Verdict) -> Step {
        call.reading = nil
        if record.isWatched { record.attemptEnded(&call, verdict, error: nil, isCancelled: call.isCancelled) }
        return leave(.returned(verdict))
    }

    /// The operation has thrown.
    package mutating func threw(_ error: any Error) -> Step {
        call.reading = nil
        if record.isWatched || !call.hasRun {
            record.attemptEnded(&call, error: error, isCancelled: call.isCancelled)
        }
        return leave(.threw(error))
    }

    /// The wait has ended.
    package mutating func waitEnded(_ wake: PolicyWaiter.Wake) -> Step {
        let last = depth - 1
        return goOn(layers[last].segment.waitEnded(wake, since: waitBegan, &call, &layers[last].frame))
    }

    /// The caller is cancelled: after it, the operation ends with an error, or the wait as cancelled.
    package mutating func cancel() { call.noteCancelled() }

    // MARK: The way in and out

    private mutating func enter(isLimited: Bool = false) -> Step {
        let next = depth
        depth += 1
        layers[next].isLimited = isLimited
        return goOn(layers[next].segment.walkIn(&call, &layers[next].frame))
    }

    private mutating func enterInside() -> Step {
        guard depth < layers.count else {
            record.attemptBegins(&call)
            return .operation(CallAttempt(call, hedge: copy ?? 0), limit: call.sharedLimit?.expiry ?? .distantFuture)
        }
        do {
            return enter(isLimited: try layers[depth].limit?.begin(&call) ?? false)
        } catch {
            return leave(.threw(error))
        }
    }

    /// Follows the answer of the innermost layer's policies.
    private mutating func goOn(_ step: Resilience.Step) -> Step {
        let last = depth - 1
        switch step {
        case .operation: return enterInside()
        case .wait:
            waitBegan = layers[last].segment.waitBegins(&call)
            let wait = layers[last].frame.wait(of: call)
            return .wait(wait.waiter, until: wait.ends)
        case .done, .failed: return leave(leftInnermost(by: layers[last].ending(step)))
        }
    }

    /// Leaves the layers, innermost first, until a policy asks for another round.
    private mutating func leave(_ ending: Ending) -> Step {
        var ending = ending
        while depth > 0 {
            let last = depth - 1
            if !layers[last].segment.nodes.isEmpty {
                call.reading = nil
                let segment = layers[last].segment
                let step: Resilience.Step
                switch ending {
                case .returned(let verdict):
                    layers[last].last = verdict
                    step = segment.returned(verdict, &call, &layers[last].frame)
                case .threw(let error):
                    step = segment.threw(error, &call, &layers[last].frame, isEndedByClient: core.isEndedByClient)
                }
                if step == .wait { return goOn(step) }
                ending = layers[last].ending(step)
            }
            ending = leftInnermost(by: ending)
        }
        return ended(ending)
    }

    /// The innermost layer's policies have been exited.
    private mutating func leftInnermost(by ending: Ending) -> Ending {
        depth -= 1
        layers[depth].clear()
        guard layers[depth].isLimited, let limit = layers[depth].limit else { return ending }
        return limit.end(&call, ending)
    }

    private mutating func ended(_ ending: Ending) -> Step {
        switch ending {
        case .returned(let verdict):
            if record.isWatched { record.ended(&call) }
            return .ended(verdict, nil)
        case .threw(let error) where copy != nil:
            return .ended(call.settled ?? core.classifier.verdict(for: error), error)
        case .threw(var error):
            if !core.isEndedByClient, call.sharedLimit != nil {
                error = core.error(error, &call, since: began, deadline, hasBegun: record.attempts > 0)
            }
            error = core.ended(by: error, &call, record)
            return .ended(call.settled ?? core.classifier.verdict(for: error), error)
        }
    }
}

// MARK: Copies

extension SteppedCall {
    /// Whether the pipeline has a hedge.
    package var hasHedge: Bool { halves != nil }

    /// The race of the copies of a call whose operation is to begin; nil without a hedge.
    package mutating func race() -> SteppedCopies? {
        guard let halves else { return nil }
        return SteppedCopies(halves.hedge.steppedRace(&call, inside: halves.inner), in: halves.inner)
    }
}

/// The copies of one call.
package struct SteppedCopies {
    private let race: any SteppedRace
    private let inner: PipelineCore

    fileprivate init(_ race: any SteppedRace, in inner: PipelineCore) { (self.race, self.inner) = (race, inner) }

    /// - Parameter isCancelled: Whether the call is cancelled: then no further copy begins.
    package func next(_ outside: inout SteppedCall, isCancelled: Bool) -> SteppedRaceStep {
        outside.call.reading = nil
        return race.next(&outside.call, isCancelled: isCancelled)
    }

    package func begin(_ copy: Int) -> SteppedCall { SteppedCall(copy: copy, race.begin(copy), in: inner) }

    /// Whether no copy may reach its operation any more.
    package var isDecided: Bool { race.isDecided }

    /// A copy has ended.
    /// - Parameter hasRun: Whether it reached its operation.
    package func ended(
        _ copy: inout SteppedCall, _ verdict: Verdict, _ error: (any Error)?, hasRun: Bool
    ) {
        guard let number = copy.copy else { preconditionFailure("not a copy") }
        copy.call.reading = nil
        race.ended(number, verdict, error, hasRun: hasRun, isCancelled: copy.call.isCancelled, &copy.call)
    }

    /// All copies have ended, so the call's operation has.
    package func end(_ outside: inout SteppedCall, isCancelled: Bool) -> SteppedCall.Step {
        outside.call.reading = nil
        let (verdict, error) = race.end(&outside.call, isCancelled: isCancelled)
        if let error { return outside.threw(error) }
        return outside.returned(verdict)
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
