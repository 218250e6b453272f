// Mutation testing with one build. In a copy of the package, each place of a machine's source that could be wrong
// becomes a switch on a number read from the environment:
//
//     guard share <= tolerance else { return nil }
//     guard mutantCondition(212, share ∁∀∁ tolerance) else { return nil }
//
// where MUTANT=212 takes the condition for true, 213 for false, and the operator, made for this place, has numbers of its
// own. The tests then run once for each number. A change that no test notices must have an answer in mutants.answers, the
// reason why none can.
//
// In shells, statements are also swapped, preconditions dropped, and values made without one of their fields.
//
// A change can make a loop endless, or a test wait for ever. So the tests get five times the processor time and the time
// that they took without any change. What used that up is run once more at the end, alone, and listed apart.

import Foundation
import Synchronization

/// The machines, each with the tests that are asked first, and those that take long and are asked last: regular
/// expressions. In between come the other short ones of the same folder. Those of many threads are left out.
let machines = [
    (
        "Sources/Resilience/Bulkhead/BulkheadStateMachine.swift", "Bulkhead(Order|Wait|Limit)?StateMachineTests",
        "BulkheadExplorationTests"
    ),
    ("Sources/Resilience/Bulkhead/FreePermits.swift", "FreePermitsTests", ""),
    ("Sources/Resilience/Waiting/TicketLine.swift", "TicketLineTests", ""),
    (
        "Sources/Resilience/CircuitBreaker/ThreeStateCircuit.swift",
        "ThreeStateCircuit(Input)?Tests|RampTests|ProbeTests|WatchedCallsTests", "CircuitExplorationTests"
    ),
    ("Sources/Resilience/CircuitBreaker/BackoffGate.swift", "BackoffGateTests", "BackoffGateExplorationTests|/walk\\("),
    (
        "Sources/Resilience/CircuitBreaker/Circuit.swift",
        "\\.CircuitTests|ModeTests|CircuitSnapshotTests|WatchedCallsTests",
        "CircuitWalkTests|\\.CircuitExplorationTests"
    ),
    ("Sources/Resilience/CircuitBreaker/FreePass.swift", "FreePassTests", ""),
    ("Sources/Resilience/CircuitBreaker/BreakDuration.swift", "BreakDurationTests", ""),
    ("Sources/Resilience/CircuitBreaker/Rules/ConsecutiveFailures.swift", "TripRuleTests", "TripRuleExplorationTests"),
    (
        "Sources/Resilience/CircuitBreaker/Rules/FailuresInWindow.swift", "FailuresInWindowTests",
        "WindowExplorationTests"
    ),
    ("Sources/Resilience/CircuitBreaker/Rules/OutcomeWindow.swift", "FailuresInWindowTests", "WindowExplorationTests"),
    (
        "Sources/Resilience/CircuitBreaker/Rules/SlowCalls.swift", "SlowCallsTests|WatchedCallsTests",
        "WindowExplorationTests"
    ),
    ("Sources/Resilience/CircuitBreaker/Rules/CombinedRule.swift", "CombinedRuleTests", ""),
    (
        "Sources/Resilience/Throttle/ThrottleStateMachine.swift", "Throttle(Gate|Ramp)?StateMachineTests|RateTests",
        "ThrottleExplorationTests"
    ),
    (
        "Sources/Resilience/Throttle/ThrottleStateMachine+Calls.swift",
        "ThrottleCallsStateMachineTests|Throttle(Edges|Gate|Hold|Settings|Steps)?Tests|LateWakeTests",
        "\(shipped)/throttle"
    ),
    ("Sources/Resilience/Throttle/ThrottleStatus.swift", "ThrottleStateMachineTests", "ThrottleExplorationTests"),
    ("Sources/Resilience/Throttle/ThrottleLine.swift", "ThrottleStateMachineTests", "ThrottleExplorationTests"),
    (
        "Sources/Resilience/Throttle/Limiter.swift", "Throttle(Window|Ramp)?StateMachineTests",
        "Throttle(Limiter)?ExplorationTests"
    ),
    (
        "Sources/Resilience/Throttle/TokenBucket.swift", "Throttle(Ramp|RateChange)?StateMachineTests",
        "Throttle(Limiter)?ExplorationTests|/rounding\\("
    ),
    (
        "Sources/Resilience/Throttle/ThrottleWindow.swift", "ThrottleWindowStateMachineTests",
        "ThrottleLimiterExplorationTests"
    ),
    ("Sources/Resilience/Retry/RetryStateMachine.swift", "RetryStateMachineTests", "RetryExplorationTests"),
    (
        "Sources/Resilience/Retry/RetryBudgetStateMachine.swift", "RetryBudgetStateMachineTests",
        "RetryBudgetExplorationTests"
    ),
    ("Sources/Resilience/Timeout/TimeoutStateMachine.swift", "TimeoutStateMachineTests", "TimeoutExplorationTests"),
    (
        "Sources/Resilience/Timeout/AbandoningStateMachine.swift", "AbandoningStateMachineTests",
        "AbandoningExplorationTests"
    ),
    (
        "Sources/Resilience/Backoff/Backoff.swift", "Backoff(Input|Walk)?Tests|SaturatingArithmeticTests",
        "BackoffExplorationTests"
    ),
    ("Sources/Resilience/Fallback/LastGoodStateMachine.swift", "LastGoodStateMachineTests", "LastGoodExplorationTests"),
    ("Sources/Resilience/Events/EventCounter.swift", "EventCounterTests", ""),
    ("Sources/Resilience/Time/AlarmQueue.swift", "AlarmQueueTests", "AlarmQueueExplorationTests"),
    ("Sources/ResilienceSync/Store/SenderStateMachine.swift", "SenderExplorationTests", "SharedStoreTests"),
    ("Sources/ResilienceSync/Pace/WidthSearch.swift", "WidthSearchTests", "SendPaceExplorationTests"),
    ("Sources/ResilienceSync/Queue/LaneThrottles.swift", "LaneThrottlesTests", "FairnessTests"),
    ("Sources/ResilienceSync/Queue/FlushStateMachine.swift", "FlushStateMachineTests", "FlushExplorationTests"),
    (
        "Sources/ResilienceSync/Pace/SendPace.swift", "SendPaceStateMachineTests",
        "SendPace(Exploration|Simulation)Tests"
    ),
    (
        "Sources/ResilienceSync/Pace/RateSearch.swift", "RateSearchStateMachineTests",
        "SendPace(Exploration|Simulation)Tests"
    ),
    (
        "Sources/ResilienceSync/Queue/LanesStateMachine.swift", "LanesStateMachineTests",
        "LanesExplorationTests|FairnessTests"
    ),
    (
        "Sources/ResilienceSync/Queue/FailureWitnesses.swift", "FailureWitnessesTests|SyncEndsStateMachineTests",
        "OutageTests"
    ),
    ("Sources/ResilienceSync/Queue/SyncStateMachine.swift", "Sync(Ends)?StateMachineTests", "SyncExplorationTests"),
    ("Sources/ResilienceSync/Queue/SyncStateMachine+Round.swift", "SyncStateMachineTests", "SyncExplorationTests"),
    ("Sources/ResilienceSync/Queue/SyncStateMachine+Ends.swift", "SyncEndsStateMachineTests", "SyncExplorationTests"),
]

/// What is around the machines, in the same way: shells, glue, the testing kit.
let shells = [
    (
        "Sources/Resilience/Pipeline/Driver.swift", "Driver(Walk)?Tests|RejectedLaterTests|VerdictAndCancellationTests",
        ""
    ),
    ("Sources/Resilience/Pipeline/Frame.swift", "Driver(Walk)?Tests|RejectedLaterTests", ""),
    ("Sources/Resilience/Pipeline/Node.swift", "PipelineCompositionTests|DriverTests", shipped),
    ("Sources/Resilience/Pipeline/PolicyTraits.swift", "PipelineDescriptionTests", ""),
    (
        "Sources/Resilience/Pipeline/PipelineSegment.swift", "PipelineCompositionTests|IsolationTests|RunOptionsTests",
        ""
    ),
    ("Sources/Resilience/Pipeline/PipelineCore.swift", "DeadlineTests|CallEventTests|PipelineCompositionTests", ""),
    ("Sources/Resilience/Pipeline/PolicyPermit.swift", "PermitTests|BulkheadOrderTests", ""),
    (
        "Sources/Resilience/Bulkhead/Bulkhead.swift",
        "Bulkhead(Order|Wait|Limit|Input|Steps)?Tests|PipelineCompositionTests", "\(shipped)/bulkhead"
    ),
    ("Sources/Resilience/Bulkhead/BulkheadSlot.swift", "Bulkhead(Order|Wait|Steps)?Tests", ""),
    (
        "Sources/Resilience/CircuitBreaker/CircuitBreaker.swift",
        "CircuitBreaker(Event)?Tests|ExcessTests|WaitingForProbesTests|PipelineCompositionTests|ModeTests|HealthCheckTests|TrippedByHandTests|TransitionTests",
        "\(shipped)/(breaker|gate)"
    ),
    (
        "Sources/Resilience/CircuitBreaker/CircuitBreaker+ByHand.swift",
        "ModeTests|TrippedByHandTests|HealthCheckTests",
        ""
    ),
    (
        "Sources/Resilience/CircuitBreaker/CircuitBreaker+Snapshot.swift",
        "CircuitSnapshotTests|ModeTests|HealthCheckTests",
        ""
    ),
    (
        "Sources/Resilience/CircuitBreaker/CircuitBreakerSlot.swift",
        "CircuitBreaker(Event)?Tests|ExcessTests|WaitingForProbesTests|ProbeTests|WatchedCallsTests", ""
    ),
    ("Sources/Resilience/CircuitBreaker/CircuitBreaker+Plan.swift", "HealthCheckTests|TransitionTests", ""),
    ("Sources/Resilience/CircuitBreaker/CircuitBreaker+Transitions.swift", "TransitionTests", ""),
    ("Sources/Resilience/CircuitBreaker/CircuitHealthCheck.swift", "HealthCheckTests", ""),
    (
        "Sources/Resilience/Throttle/Throttle.swift",
        "Throttle(Edges|Gate|Hold|Settings|Steps)?Tests|LateWakeTests|Pipeline(Composition|Description)Tests|PermitTests",
        "\(shipped)/throttle|\(registry)"
    ),
    (
        "Sources/Resilience/Throttle/Throttle+Registry.swift",
        "Throttle(Edges|Gate|Hold|Settings|Steps)?Tests", registry
    ),
    ("Sources/Resilience/Throttle/ThrottleSlot.swift", "Throttle(Edges|Gate|Hold|Steps)?Tests|LateWakeTests", ""),
    ("Sources/Resilience/Registry/PolicyRegistry+Settings.swift", registry, ""),
    ("Sources/Resilience/Registry/PolicyRegistry+Snapshots.swift", registry, ""),
    ("Sources/Resilience/Registry/PolicyRegistry+Status.swift", registry, ""),
    ("Sources/Resilience/Registry/PolicyRegistry+Transitions.swift", registry, ""),
    ("Sources/Resilience/Registry/PolicyRegistry.swift", registry, ""),
    ("Sources/Resilience/Registry/RegistryEntry.swift", registry, ""),
    ("Sources/Resilience/Pipeline/Pipeline+Registry.swift", registry, ""),
    ("Sources/Resilience/Bulkhead/Bulkhead+Registry.swift", "Bulkhead(Limit|Input)?Tests", registry),
    ("Sources/Resilience/CircuitBreaker/CircuitBreaker+Registry.swift", registry, ""),
    ("Sources/Resilience/Registry/RegistryTable.swift", registry, ""),
    ("Sources/Resilience/Timeout/Timeout.swift", "TimeoutTests", "\(shipped)/timeout"),
    ("Sources/Resilience/Timeout/TimeoutRace.swift", "TimeoutTests|TimeoutCancellationTests", "\(shipped)/timeout"),
    ("Sources/Resilience/Timeout/AbandoningTimeout.swift", "AbandoningTimeoutTests", ""),
    (
        "Sources/Resilience/Retry/Retry.swift", "Retry(Hook|Cancellation|Budget)?Tests|RejectedLaterTests",
        "\(shipped)/retry"
    ),
    (
        "Sources/Resilience/Retry/RetrySlot.swift", "Retry(Hook|Cancellation|Budget)?Tests|RejectedLaterTests",
        "\(shipped)/retry"
    ),
    ("Sources/Resilience/Retry/RetryBudget.swift", "RetryBudgetTests", "\(shipped)/retryBudgets"),
    ("Sources/Resilience/Fallback/Fallback.swift", "Fallback(Isolation)?Tests", ""),
    ("Sources/Resilience/Fallback/LastGood.swift", "LastGoodTests", ""),
    ("Sources/Resilience/Time/SystemTimeBase.swift", "SystemTimeBaseTests|TimeBaseSleepTests", ""),
    ("Sources/Resilience/Time/DueActions.swift", "DueActionsTests", ""),
    ("Sources/Resilience/Waiting/PolicyWaiter.swift", "WaiterTests", "DriverTests"),
    ("Sources/ResilienceHTTP/FieldCursor.swift", "RetryAfterTests|RequestSemanticsTests", "WalkTests"),
    ("Sources/ResilienceHTTP/HTTPDate.swift", "RetryAfterTests", "WalkTests"),
    ("Sources/ResilienceHTTP/HTTPVerdict.swift", "HTTPVerdictTests", ""),
    ("Sources/ResilienceHTTP/RequestSemantics.swift", "RequestSemanticsTests", ""),
    ("Sources/ResilienceHTTP/RetryAfter.swift", "RetryAfterTests", "WalkTests"),
    ("Sources/ResilienceHTTP/URLSessionVerdicts.swift", "URLSessionVerdictsTests", ""),
    (
        "Sources/ResilienceSync/Queue/SyncQueue.swift",
        "EnqueueTests|DrainTests|TriggerTests|StopTests|LimitTests|StatusStreamTests", "KillTests"
    ),
    ("Sources/ResilienceSync/Queue/SyncQueue+Clear.swift", "ClearTests|StopTests|DrainTests", ""),
    ("Sources/ResilienceSync/Queue/SyncQueue+Dead.swift", "DeadTests", ""),
    (
        "Sources/ResilienceSync/Queue/SyncQueue+Flight.swift",
        "TriggerTests|CancellationTests|PauseTests|DeadTests|ClearTests",
        "KillTests"
    ),
    ("Sources/ResilienceSync/Queue/SyncQueue+Pause.swift", "Pause(OverRestarts)?Tests|SyncPassTests", "KillTests"),
    (
        "Sources/ResilienceSync/Queue/SyncQueue+Requests.swift",
        "HandlerTests|RateLimitTests|LanesTests|QueueHealthCheckTests|SyncPassTests", "KillTests"
    ),
    ("Sources/ResilienceSync/Queue/SyncStatus.swift", "StatusTests", ""),
    ("Sources/ResilienceSync/Queue/SyncHandler.swift", "HandlerTests", ""),
    ("Sources/ResilienceSync/Queue/SyncQueue+Outbox.swift", "Outbox(Commit)?Tests|SyncPassTests", ""),
    ("Sources/ResilienceSync/Queue/SyncQueueConfiguration.swift", "EnqueueTests|PauseTests", ""),
    ("Sources/ResilienceSync/Service/SyncService.swift", "SyncServiceTests", ""),
    ("Sources/ResilienceSync/Store/Appending.swift", memory, "KillTests"),
    ("Sources/ResilienceSync/Store/Coalescing.swift", "CoalescingTests", ""),
    ("Sources/ResilienceSync/Store/MemoryStore.swift", memory, "KillTests"),
    ("Sources/ResilienceSync/Store/MemoryTable.swift", "MemoryTableTests|\(memory)", "KillTests"),
    ("Sources/ResilienceSync/Store/MutationStore.swift", memory, "KillTests"),
    ("Sources/ResilienceSync/Store/SQLiteSchema.swift", files, "KillTests"),
    ("Sources/ResilienceSync/Store/SQLiteStore.swift", files, "KillTests"),
    ("Sources/ResilienceSync/Store/SQLiteStore+Access.swift", files, "KillTests"),
    ("Sources/ResilienceSync/Store/SQLiteStore+Opening.swift", files, "KillTests"),
    ("Sources/ResilienceSync/Store/SQLiteTable.swift", files, "KillTests"),
    ("Sources/ResilienceSync/Store/SenderFile.swift", "SenderFileTests|SharedStoreTests", ""),
    ("Sources/ResilienceSync/Store/SortedPositions.swift", "SortedPositionsTests|MemoryTableTests", memory),
    ("Sources/ResilienceSync/Pass/SyncPass.swift", "SyncPassTests", ""),
    ("Sources/ResilienceSync/Pass/SyncPull.swift", "SyncPassTests|OutboxTests", "DurableOutboxGuide"),
    ("Sources/ResilienceTesting/Clock/ManualClock.swift", "ManualClock(Run|SecondUse|AsClock)?Tests", ""),
    (
        "Sources/ResilienceTesting/Clock/ManualClock+Run.swift",
        "ManualClock(Run|SecondUse)Tests|UnstructuredTasksTests", ""
    ),
    ("Sources/ResilienceTesting/Clock/ManualClock+Sleepers.swift", "SleepersTests|ManualClockSecondUseTests", ""),
    (
        "Sources/ResilienceTesting/Clock/SteppedExecutor.swift",
        "ManualClock(Run|SecondUse)Tests|UnstructuredTasksTests", "(Policy|Interruptions)ContractTests"
    ),
    ("Sources/ResilienceTesting/Contract/ContractCrowd.swift", "ContractTests", ""),
    ("Sources/ResilienceTesting/Contract/ContractInterruptions.swift", "ContractTests", ""),
    ("Sources/ResilienceTesting/Contract/ContractProps.swift", "ContractTests", ""),
    ("Sources/ResilienceTesting/Contract/ContractStage.swift", "ContractTests", ""),
    ("Sources/ResilienceTesting/Contract/ContractTrials.swift", "ContractTests", ""),
    ("Sources/ResilienceTesting/EventRecorder.swift", "EventRecorderTests", ""),
    ("Sources/ResilienceTesting/Scripted/ScriptedCall.swift", "Scripted", ""),
    ("Sources/ResilienceTesting/Scripted/ScriptedProperty.swift", "Scripted", ""),
    ("Sources/ResilienceTesting/CountWaiters.swift", "CountWaitersTests|ScriptedSecondUseTests", "SleepersTests"),
]
private let memory = "StoreConformanceTests/memory|\\.(Coalescing|Enqueue|Limit|Dead)Tests"
private let files =
    "StoreConformanceTests/file|(SQLite(Refusal|Migration|Settings|Durability|Erasure|Atomicity|Life|Failure|Plan)|Outbox)Tests"
private let shipped = "ShippedPoliciesContractTests"
private let registry =
    "CircuitBreakerRegistryTests|KeyedPoliciesTests|Registry(Aging|AllOrNothing|Eviction|Race|Reentrancy|Settings|Status)Tests"

/// Tests that take long.
let long = "StoreContractTests|Exploration|SimulationTests|WalkTests|/walk\\(|/rounding\\("

/// Answers that a machine could mix up.
let answers = [
    "enter": "reject", "reject": "enter", "tooLate": "reject", "go": "probe", "probe": "go", "never": "go",
    "again": "rest", "rest": "again",
    "start": "join", "join": "start", "clearing": "start", "cancelInside": "nothing", "nothing": "cancelInside",
    "expired": "cancelled", "cancelled": "expired", "running": "ended", "ended": "running",
    "attemptsExhausted": "deadlineTooNear", "retryAfterTooLong": "deadlineTooNear",
    "deadlineTooNear": "attemptsExhausted", "notMine": "giveUp(.attemptsExhausted)", "late": "recorded(nil)",
    "closed": "open", "open": "closed", "halfOpen": "open", "healthy": "failing", "failing": "healthy",
    "takeResult": "abandon", "abandon": "takeResult", "abandoned": "ended", "endedLate": "ended",
]

/// Calls that compute, and what they could compute instead.
let calls = [
    "min(": ["max", "first", "second"], "max(": ["min", "first", "second"],
    "saturatingAdding(": ["saturatingSubtracting", "&+", "left out"],
    "saturatingSubtracting(": ["saturatingAdding", "&-", "left out"],
    "saturatingMultiplied(": ["&*", "left out"],
]

/// What stands in SQL, and what could stand there instead.
let changesOfSQL: [(pattern: String, changes: @Sendable (String) -> [String])] = [
    (
        #"(?<= )(<=|>=|<>|<|>)(?= )"#,
        { ["<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"]][$0] ?? ["="] }
    ),
    (#" AND [\w.]+ (=|<|>|<=|>=) (\?\d?|\d+|[a-z_]+\.\w+)(?= |$|\))"#, { _ in [" "] }),
    (#"(?<=WHERE )[\w.]+ (=|<|>|<=|>=) (\?\d?|\d+) AND "#, { _ in [" "] }),
    (#"NOT EXISTS|NOT IN"#, { [String($0.dropFirst(4))] }),
    (#"(?<!NOT )EXISTS"#, { ["NOT \($0)"] }),
    (#" DESC\b"#, { _ in [" "] }),
    (#"ORDER BY \w+(, \w+)*(?! DESC)\b"#, { ["\($0) DESC", " "] }),
    (#"\b(MIN|MAX)(?=\()"#, { [$0 == "MIN" ? "MAX" : "MIN"] }),
    (#"(?<= )[-+](?= )"#, { [$0 == "+" ? "-" : "+"] }),
    // Nobody reads what is selected of what exists.
    (#"(?<!LIMIT )(?<!SELECT )(?<![\w?.:'])\d{1,6}(?![\w'])"#, { ["\((Int($0) ?? 0) + 1)"] }),
    (#"\b(OR REPLACE|UNIQUE|AUTOINCREMENT)\b"#, { _ in [" "] }),
    (#"\w+ = (\d+|NULL), "#, { _ in [" "] }),
    (#"\bOF state, payload\b"#, { _ in ["OF state", "OF payload"] }),
    (#"(?<= = )(FULL|ON|WAL)\b"#, { ["FULL": ["NORMAL"], "ON": ["OFF"]][$0] ?? ["DELETE"] }),
]

let comparison = "<T: Comparable>(a: T, b: T) -> Bool"
let equality = "<T: Equatable>(a: T, b: T) -> Bool"
let logic = "(a: Bool, b: @autoclosure () -> Bool) -> Bool"
let sum = "<T: AdditiveArithmetic>(a: T, b: T) -> T"
let integers = "<T: BinaryInteger>(a: T, b: T) -> T"
let wrapping = "<T: FixedWidthInteger>(a: inout T, b: T)"

/// Where one of these stands between spaces, it takes its first form, and can take the others.
let operators: [String: (precedence: String, signatures: [String], forms: [String])] = [
    "<": ("Comparison", [comparison], ["a < b", "a <= b", "a >= b"]),
    "<=": ("Comparison", [comparison], ["a <= b", "a < b", "a > b"]),
    ">": ("Comparison", [comparison], ["a > b", "a >= b", "a <= b"]),
    ">=": ("Comparison", [comparison], ["a >= b", "a > b", "a < b"]),
    "==": ("Comparison", [equality], ["a == b", "a != b"]),
    "!=": ("Comparison", [equality], ["a != b", "a == b"]),
    "&&": ("LogicalConjunction", [logic], ["a && b()", "a || b()", "a", "b()"]),
    "||": ("LogicalDisjunction", [logic], ["a || b()", "a && b()", "a", "b()"]),
    "+": (
        "Addition", [sum, "(a: MonotonicInstant, b: Duration) -> MonotonicInstant"], ["a + b", "a + (.zero - b)", "a"]
    ),
    "-": ("Addition", [sum], ["a - b", "a + b", "a"]),
    "*": ("Multiplication", ["<T: Numeric>(a: T, b: T) -> T"], ["a * b", "a + b", "a"]),
    "/": ("Multiplication", [integers], ["a / b", "a * b", "a"]),
    "&": ("Multiplication", [integers], ["a & b", "a | b"]),
    "<<": ("BitwiseShift", [integers], ["a << b", "a >> b", "a"]),
    "+=": ("Assignment", ["<T: AdditiveArithmetic>(a: inout T, b: T)"], ["a += b", "a -= b"]),
    "-=": ("Assignment", ["<T: AdditiveArithmetic>(a: inout T, b: T)"], ["a -= b", "a += b"]),
    "*=": ("Assignment", ["<T: Numeric>(a: inout T, b: T)"], ["a *= b", "a += b"]),
    ">>=": ("Assignment", ["<T: BinaryInteger>(a: inout T, b: T)"], ["a >>= b", "a <<= b"]),
    "&+=": ("Assignment", [wrapping], ["a &+= b", "a &-= b"]),
]

/// A place that can be changed.
struct Site {
    let range: Range<Int>
    /// Put before the range, with the mutant's number for `#` and the operator of its own for `@`.
    let before: String
    /// Put after the range; nil if `before` replaces it.
    var after: String?
    let from: String
    let to: [String]

    var source = ""
    var line = 0
    /// The text of the line, to know the place by.
    var text = ""
    /// The number of the first change.
    var first = 0

    init(_ range: Range<Int>, _ before: String, _ after: String? = nil, from: String, to: [String]) {
        (self.range, self.before, self.after, self.from, self.to) = (range, before, after, from, to)
    }

    var key: String { "\(source) | \(text) | \(from)" }

    /// The other half of a change in two places: it has the number and the key of the first.
    var isTwin: Bool { to.isEmpty }

    var mutants: [Mutant] {
        to.enumerated().map { Mutant(number: first + $0, line: line, key: "\(key) → \($1)") }
    }
}

struct Mutant {
    let number: Int
    let line: Int
    /// Survives changes to other lines of the source.
    let key: String
    var shown: String { "\(number) \(key.replacing(" | ", with: ":\(line) | ", maxReplacements: 1))" }
}

/// A line of source, its strings and comments blanked out.
struct Line {
    let text: [Character]
    let code: String

    init(_ line: Substring) {
        text = Array(line)
        var code = ""
        var inString = false
        /// Parentheses open in each interpolation that is being read; they are in strings too, and hold strings.
        var interpolations: [Int] = []
        for (index, character) in text.enumerated() {
            if !inString, line.dropFirst(index).hasPrefix("//") { break }
            switch character {
            case "\"": inString.toggle()
            case "(" where inString && index > 0 && text[index - 1] == "\\":
                interpolations.append(0)
                inString = false
            case "(" where !inString && !interpolations.isEmpty: interpolations[interpolations.count - 1] += 1
            case ")" where !inString && interpolations.last == 0:
                interpolations.removeLast()
                inString = true
            case ")" where !inString && !interpolations.isEmpty: interpolations[interpolations.count - 1] -= 1
            default: break
            }
            let isCode = !inString && interpolations.isEmpty && character.isASCII
            code.append(isCode ? character : " ")
        }
        self.code = code.padding(toLength: text.count, withPad: " ", startingAt: 0)
    }

    func matches(_ pattern: String, group: Int = 0) -> [Range<Int>] {
        let expression = try! NSRegularExpression(pattern: pattern)  // the patterns are all below
        return expression.matches(in: code, range: NSRange(location: 0, length: text.count))
            .compactMap { Range($0.range(at: group)) }
    }

    /// Where `end` first stands after `start` outside all brackets. The end of the line counts as a closing brace.
    func find(_ end: String, after start: Int) -> Int? {
        var depth = 0
        let characters = Array(code + "}")
        for index in start..<characters.count {
            if depth == 0, String(characters[index...]).hasPrefix(end) { return index }
            if "([{".contains(characters[index]) { depth += 1 }
            if ")]}".contains(characters[index]) { depth -= 1 }
        }
        return nil
    }

    subscript(_ range: Range<Int>) -> String { String(text[range]) }
}

/// The places of a source that can be changed, in order; of two that begin together the wider one first.
func sites(in source: String, named path: String) -> [Site] {
    let lines = source.split(separator: "\n", omittingEmptySubsequences: false).map(Line.init)
    let constants = lines.flatMap { line in line.matches(#"\blet (\w+):"#, group: 1).map { line[$0] } }
    var initializer: String?
    // Lines of a text, and the indentation of an enum whose raw values are SQL.
    var isText = false
    var enumeration: String?
    // Statements in another order, and the like, are tried where order is what a source is about.
    let isShell = shells.contains { $0.0 == path }
    var all: [Site] = []
    var seen: [String: Int] = [:]
    // A statement that fills its line, and what is to be done with the next one that does.
    var last: (line: Int, statement: Range<Int>)?
    for (index, line) in lines.enumerated() {
        let startsInitializer = !line.matches(#"^ *(\w+ )*init\("#).isEmpty
        if startsInitializer { initializer = line.indentation }
        if !line.matches(#"\benum \w+: String\b"#).isEmpty { enumeration = line.indentation }
        var found = line.sql(isText: isText, isConstant: enumeration != nil)
        var statements: [Site] = []
        if !isText {
            found += line.words() + line.conditions() + (isShell ? line.preconditions() + line.fields() : [])
            // What must be set, must be.
            statements = line.statements(isShell) { initializer == nil && !constants.contains($0) }
            found += statements
        }
        if String(line.text).contains("\"\"\"") { isText.toggle() }
        let whole = isShell ? statements.first { $0.range == line.filled }?.range : nil
        if let whole, let last, last.line == index - 1, last.statement.lowerBound == whole.lowerBound,
            Line.orderMatters(lines[index - 1][last.statement], line[whole])
        {
            all.append(
                Site(swapping: lines[index - 1], last.statement, with: line[whole], in: path, at: index, &seen))
            found.append(Site(twinOf: all[all.count - 1], whole, lines[index - 1][last.statement]))
        }
        last = whole.map { (index, $0) }
        if line.code.contains("#available") { found = [] }
        if !isText, line.code.trimmingCharacters(in: .whitespaces).hasPrefix("}") {
            if line.indentation == initializer { initializer = nil }
            if line.indentation == enumeration { enumeration = nil }
        }
        if startsInitializer && line.code.trimmingCharacters(in: .whitespaces).hasSuffix("}") { initializer = nil }
        found.sort { ($0.range.lowerBound, $1.range.upperBound) < ($1.range.lowerBound, $0.range.upperBound) }
        for var site in found {
            if site.isTwin {
                site.line = index + 1
                all.append(site)
                continue
            }
            (site.source, site.line) = (path, index + 1)
            site.text = String(line.text).trimmingCharacters(in: .whitespaces)
            seen[site.key, default: 0] += 1
            if let count = seen[site.key], count > 1 { site.text += " (\(count))" }
            all.append(site)
        }
    }
    return all.sorted {
        ($0.line, $0.range.lowerBound, $1.range.upperBound) < ($1.line, $1.range.lowerBound, $0.range.upperBound)
    }
}

extension Site {
    /// The statement of this line, done in the place of the next one.
    init(
        swapping line: Line, _ statement: Range<Int>, with next: String, in path: String, at number: Int,
        _ seen: inout [String: Int]
    ) {
        self.init(
            statement, "if mutantHolds(#) { ", " } else { \(next) }", from: "then \(next)", to: ["the other way round"])
        (source, self.line) = (path, number)
        text = String(line.text).trimmingCharacters(in: .whitespaces)
        seen[key, default: 0] += 1
        if let count = seen[key], count > 1 { text += " (\(count))" }
    }

    /// The next statement, done in the place of this one.
    init(twinOf first: Site, _ statement: Range<Int>, _ previous: String) {
        self.init(statement, "if mutantHolds(#) { ", " } else { \(previous) }", from: first.from, to: [])
        (source, text) = (first.source, first.text)
    }
}

extension Line {
    /// Operators, literals, names.
    func words() -> [Site] {
        var sites: [Site] = []
        for range in matches(#"(?<= )[-+*/<>=!&|]+(?= )"#) {
            guard let known = operators[self[range]], !code.hasPrefix("extension"), !code.contains("static func ")
            else {
                continue
            }
            sites.append(Site(range, "@", from: known.forms[0], to: Array(known.forms[1...])))
        }
        for range in matches(#"(?<![\w.$])\d+(?![\w.])"#) {
            guard let number = Int(self[range]) else { continue }
            sites.append(Site(range, "mutantNumber(#, ", ")", from: "\(number)", to: ["\(number + 1)"]))
        }
        // What stands before the colon or the equals sign of a case is a pattern.
        let patterns = matches(#"\bcase "#).map { word in
            word.upperBound..<(find(":", after: word.upperBound) ?? find(" = ", after: word.upperBound) ?? text.count)
        }
        for range in matches(#"(?<![\w.])(?<!while )(true|false)\b"#)
        where !patterns.contains(where: { $0.overlaps(range) }) {
            sites.append(Site(range, "mutantNot(#, ", ")", from: self[range], to: ["!\(self[range])"]))
        }
        for range in matches(#"(?<![\w.])(min|max)\(|(?<=\.)saturating\w+\("#) {
            guard let changes = calls[self[range]] else { continue }
            sites.append(Site(range, "\(self[range].dropLast())Mutant(#, ", from: self[range], to: changes))
        }
        for range in matches(#"(?<=return |[?:=] )\.\w+(?![\w(.])"#) {
            guard let other = answers[String(self[range].dropFirst())],
                !patterns.contains(where: { $0.overlaps(range) })
            else { continue }
            sites.append(
                Site(range, "mutantChoice(#, \(self[range]), .\(other))", from: self[range], to: [".\(other)"]))
        }
        return sites
    }

    /// Whether two statements could do something else the other way round: calls, and assignments of which one uses what the
    /// other sets.
    static func orderMatters(_ first: String, _ second: String) -> Bool {
        let assignment = #/^([\w.]+) (&?[-+*\/]|>>|<<)?= /#
        guard let set = first.prefixMatch(of: assignment), let then = second.prefixMatch(of: assignment) else {
            return true
        }
        return first.contains(then.1) || second.contains(set.1)
    }

    /// One that goes on in the next line; the others are left out as statements.
    func preconditions() -> [Site] {
        matches(#"^ *precondition\($"#).map {
            Site($0, "\(self[$0])!mutantHolds(#) || ", from: "precondition", to: ["left out"])
        }
    }

    /// Values that are made without one of their fields, where it has a default.
    func fields() -> [Site] {
        matches(#"(?<![\w.@#])[A-Z]\w*\("#).flatMap { name -> [Site] in
            guard let end = find(")", after: name.upperBound), !code.dropFirst(end + 1).hasPrefix(" {") else {
                return []
            }
            var arguments: [Range<Int>] = []
            var start = name.upperBound
            while start < end {
                let comma = min(find(", ", after: start) ?? end, end)
                arguments.append(start..<comma)
                start = comma + 2
            }
            guard arguments.count > 1 else { return [] }
            return arguments.filter { self[$0].contains(": ") }.map { argument in
                let others = arguments.filter { $0 != argument }.map { self[$0] }.joined(separator: ", ")
                return Site(
                    name.lowerBound..<end + 1, "(mutantHolds(#) ? ", " : \(self[name])\(others)))",
                    from: self[argument],
                    to: ["left out"])
            }
        }
    }

    var indentation: String { String(text.prefix { $0 == " " }) }

    /// What can be changed in a statement of SQL.
    ///
    /// - Parameters:
    ///   - isText: whether the whole line is part of one.
    ///   - isConstant: a text that the compiler must know holds its changes as comments, which `mutantSQL` reads.
    func sql(isText: Bool, isConstant: Bool) -> [Site] {
        let string = String(text)
        var parts: [Range<Int>] = []
        if isText {
            parts = [0..<text.count]
        } else if let match = string.firstMatch(
            of: #/"((?:SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|ALTER) [^"]*)"?/#)
        {
            let start = string.distance(from: string.startIndex, to: match.output.1.startIndex)
            parts = [start..<start + match.output.1.count]
        }
        return parts.flatMap { part -> [Site] in
            // Up to the first interpolation: what comes after it is seldom, and has quotes of its own.
            let characters = text[part]
            let statement = String(characters).components(separatedBy: "\\(")[0].components(separatedBy: "--")[0]
            return changesOfSQL.flatMap { pattern, changes -> [Site] in
                let expression = try! NSRegularExpression(pattern: pattern)  // the patterns are all below
                let whole = NSRange(location: 0, length: (statement as NSString).length)
                return expression.matches(in: statement, range: whole).compactMap { match in
                    guard let range = Range(match.range) else { return nil }
                    let found = (statement as NSString).substring(with: match.range)
                    let to = changes(found)
                    let place = part.lowerBound + range.lowerBound..<part.lowerBound + range.upperBound
                    let alternatives = to.map { isConstant ? "~\($0)" : ", \"\($0)\"" }.joined()
                    return Site(
                        place, isConstant ? "/*m#\(alternatives)*/" : "\\(mutantText(#, \"",
                        isConstant ? "/*m*/" : "\"\(alternatives)))", from: "SQL \(found)",
                        to: to.map { $0.allSatisfy { $0 == " " } ? "left out" : $0 })
                }
            }
        }
    }

    /// Where the line has text.
    var filled: Range<Int> {
        let start = text.prefix { $0 == " " }.count
        return start..<start + code.trimmingCharacters(in: .whitespaces).count
    }

    /// Each part of a condition is taken for true and for false; a binding for one that does not match.
    func conditions() -> [Site] {
        var sites: [Site] = []
        var conditions: [Range<Int>] = []
        for range in matches(#"\b(if|guard|while) "#) {
            let end = self[range] == "guard " ? " else {" : " {"
            if let end = find(end, after: range.upperBound) { conditions.append(range.upperBound..<end) }
        }
        for range in matches(#"^ *(case|for) .* where "#) {
            let end = find(code.contains("case ") ? ":" : " {", after: range.upperBound)
            if let end { conditions.append(range.upperBound..<end) }
        }
        for condition in conditions {
            var start = condition.lowerBound
            while start < condition.upperBound {
                let end = min(find(", ", after: start) ?? condition.upperBound, condition.upperBound)
                let part = self[start..<end]
                if ["let ", "var ", "case "].contains(where: part.hasPrefix) {
                    sites.append(Site(end..<end, ", mutantHolds(#)", from: part, to: ["no match"]))
                } else if part != "true" {
                    sites.append(Site(start..<end, "mutantCondition(#, ", ")", from: part, to: ["true", "false"]))
                }
                start = end + 2
            }
        }
        let ternary = #"(?:^ +|return |switch |[{:,] |(?<![=!<>])= |\()([a-z][\w.]*(\([^()]*\))?) \? "#
        for range in matches(ternary, group: 1) {
            sites.append(Site(range, "mutantNot(#, ", ")", from: self[range], to: ["!\(self[range])"]))
        }
        return sites
    }

    /// Assignments and calls are left out.
    ///
    /// - Parameter isShell: also what is done in a closure, and in a value that is part of a constant.
    func statements(_ isShell: Bool, maySet: (String) -> Bool) -> [Site] {
        var sites: [Site] = []
        var starts = matches(#"^ *|\{ "#).map(\.upperBound)
        for range in matches(#"^ *(case|default)\b"#) {
            if let colon = find(": ", after: range.upperBound) { starts.append(colon + 2) }
        }
        let isValue = !matches(#" -> .*\}|\bvar \w+: .* \{|\.map \{"#).isEmpty
        for start in Set(starts) {
            guard let end = find("}", after: start) else { continue }
            let length = code.dropFirst(start).prefix(end - start).trimmingCharacters(in: .whitespaces).count
            let statement = Line(self[start..<start + length][...])
            let set = statement.matches(#"^(?:self\.)?([a-z]\w*)[\w.\[\]]* (&?[-+*/]|>>|<<)?= "#, group: 1).first
            let call =
                isShell
                ? #"^(_ = )?(try )?(await )?(?!(min|max|private|if|for|guard|while|switch|return|case|let|var|func|init|get|set|defer|do|repeat|deinit|willSet|didSet)\b)[a-z][\w.\[\]?!]*(\(.*\)|(\(.*\))? ?\{ .* \})$"#
                : #"^(?!min|max|private)[a-z][\w.\[\]]*\(.*\)$"#
            let called = isValue ? [] : statement.matches(call)
            let isPart = isShell && !statement.matches(#"^(?:self\.)?+[a-z]\w*+[.\[]"#).isEmpty
            guard set.map({ maySet(isPart ? "" : statement[$0]) }) ?? !called.isEmpty else { continue }
            let text = String(statement.text)
            sites.append(Site(start..<start + length, "if mutantHolds(#) { ", " }", from: text, to: ["left out"]))
        }
        return sites
    }
}

/// The source with all its switches, and where each stands in it: line, column in bytes.
func instrumented(_ source: String, _ sites: [Site]) -> (text: String, places: [(Int, Int, Site)]) {
    var places: [(Int, Int, Site)] = []
    let byLine = Dictionary(grouping: sites, by: \.line)
    let lines = source.split(separator: "\n", omittingEmptySubsequences: false).enumerated().map { index, line in
        guard let sites = byLine[index + 1] else { return String(line) }
        let original = Array(line)
        var result = ""
        for position in 0...original.count {
            // Inner ones end first and begin last; a replacement hides what it replaces.
            for site in sites.reversed() where site.range.upperBound == position { result += site.after ?? "" }
            for site in sites where site.range.lowerBound == position {
                places.append((index + 1, result.utf8.count + 1, site))
                result += site.before.replacing("#", with: "\(site.first)").replacing("@", with: symbol(site.first))
            }
            let isReplaced = sites.contains { $0.after == nil && $0.range.contains(position) }
            if position < original.count, !isReplaced { result.append(original[position]) }
        }
        return result
    }
    // At the end, where it moves no line. A module may import itself nowhere.
    let ending = byLine.isEmpty || sites[0].source.hasPrefix("Sources/Resilience/") ? "" : "\nimport Resilience\n"
    // The one place where constant SQL is used.
    let text = lines.joined(separator: "\n").replacing("sql: sql.rawValue", with: "sql: mutantSQL(sql.rawValue)")
    return (text + ending, places)
}

/// An operator that no other place has.
func symbol(_ number: Int) -> String {
    String("\(number)".compactMap(\.wholeNumberValue).map { Array("∀∂∃∅∇∈∉∋∏∑")[$0] })
}

/// The declarations of the operators, and what else the switches need.
func support(_ sites: [Site]) throws -> String {
    try sites.reduce(into: String(contentsOf: URL(filePath: ".ci/mutants.runtime.swift"), encoding: .utf8)) {
        text, site in
        guard let known = operators.values.first(where: { site.before == "@" && $0.forms[0] == site.from }) else {
            return
        }
        let name = symbol(site.first)
        text += "infix operator \(name): \(known.precedence)Precedence\n"
        for signature in known.signatures {
            text += "public func \(name) \(signature) {\n"
            for (index, form) in known.forms.dropFirst().enumerated() {
                text += "    if mutant == \(site.first + index) { return \(form) }\n"
            }
            text += "    return \(known.forms[0])\n}\n"
        }
    }
}

@main enum Mutants {
    static let copy = URL(filePath: ".build-mutants/package")

    static func main() throws {
        let began = Date()
        let only = CommandLine.arguments.dropFirst()
        let chosen = (machines + shells).filter { only.isEmpty || only.contains(where: $0.0.contains) }
        guard !chosen.isEmpty else { stop("no source's path contains \(only.joined(separator: " or "))") }

        let (sites, skipped) = try build(chosen.map(\.0))
        let folder = try swift("build", "--show-bin-path").output.trimmingCharacters(in: .whitespacesAndNewlines)
        let runner = Runner(tests: URL(filePath: folder).appending(path: "swift-resiliencePackageTests.xctest"))
        let answered = try readAnswers().filter { key in
            chosen.contains { key.hasPrefix("\($0.0) |") }
        }

        say(row("source", "changes", "noticed", "survived", "by time", "skipped", "not tried"))
        let minutes = ProcessInfo.processInfo.environment["MINUTES"].flatMap { Double($0) }
        let wanted = try ProcessInfo.processInfo.environment["ONLY"].map { path in
            Set(try String(contentsOf: URL(filePath: path), encoding: .utf8).split(separator: "\n").map(String.init))
        }
        let unknown = (wanted ?? []).subtracting(sites.flatMap(\.mutants).map(\.key))
        for key in unknown.sorted() { say("no such change: \(key)") }
        let deadline = minutes.map { Date() + $0 * 60 } ?? .distantFuture
        var untried: Set<String> = []
        var survivors: [Mutant] = []
        var late: [(Mutant, [Stage])] = []
        for (path, first, last) in chosen {
            let mutants = sites.filter { $0.source == path }.flatMap(\.mutants)
                .filter { wanted?.contains($0.key) ?? true }
            if mutants.isEmpty || Date() > deadline {
                untried.formUnion(mutants.map(\.key))
                say(row(path.name, "\(mutants.count)", "", "", "", "", "\(mutants.count)"))
                continue
            }
            let stages = [
                runner.stage(filter: first, skip: long),
                runner.stage(filter: try path.folderTests(), skip: "\(first)|\(long)"),
                last.isEmpty ? nil : runner.stage(filter: last),
            ].compactMap(\.self)
            let results = zip(mutants, runner.results(of: mutants, stages, until: deadline))
            let alive = results.filter { $1 == .passed }.map(\.0)
            let timedOut = results.filter { $1 == .timedOut }.map(\.0)
            let rest = results.filter { $1 == .notTried }.map(\.0)
            untried.formUnion(rest.map(\.key))
            survivors += alive
            late += timedOut.map { ($0, stages) }
            say(
                row(
                    path.name, "\(mutants.count)",
                    "\(mutants.count - alive.count - timedOut.count - rest.count)", "\(alive.count)",
                    "\(timedOut.count)", "\(skipped.count { $0.source == path })", "\(rest.count)"))
            for mutant in alive where !answered.contains(mutant.key) { say("survives: \(mutant.shown)") }
        }
        for (mutant, stages) in late {
            let result = runner.result(of: mutant, stages)
            if result == .passed { survivors.append(mutant) }
            say("\(result == .timedOut ? "noticed by time" : "out of time, then \(result)"): \(mutant.shown)")
        }
        say("\(Int(Date().timeIntervalSince(began))) s\n")
        for site in skipped { say("does not compile: \(site.key)") }

        let unanswered = survivors.filter { !answered.contains($0.key) }
        let stale = answered.subtracting(survivors.map(\.key)).subtracting(untried).filter {
            wanted?.contains($0) ?? true
        }
        say("\(survivors.count - unanswered.count) survivors have an answer in .ci/mutants.answers.")
        for mutant in unanswered { say("survives: \(mutant.shown)") }
        for key in stale.sorted() { say("answers no survivor: \(key)") }
        if !unanswered.isEmpty || !stale.isEmpty || !unknown.isEmpty { exit(1) }
    }

    static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

    static func row(_ cells: String...) -> String {
        cells.enumerated().map { index, cell in
            let gap = String(repeating: " ", count: max(0, (index == 0 ? 28 : 10) - cell.count))
            return index == 0 ? cell + gap : gap + cell
        }.joined()
    }

    static func stop(_ message: String) -> Never {
        say(message)
        exit(2)
    }

    /// Answers that are followed by a reason.
    static func readAnswers() throws -> Set<String> {
        var answered: Set<String> = []
        var last: String?
        for line in try String(contentsOf: URL(filePath: ".ci/mutants.answers"), encoding: .utf8).split(separator: "\n")
        where !line.hasPrefix("#") {
            if line.hasPrefix(" ") {
                if let last { answered.insert(last) }
            } else {
                last = String(line)
            }
        }
        return answered
    }
}

extension String {
    var name: String { URL(filePath: self).deletingPathExtension().lastPathComponent }

    /// The tests of what lies in `Sources/X/Y` are in `Tests/XTests/Y`, and are known by their files.
    func folderTests() throws -> String {
        let parts = split(separator: "/")
        let folder = "Tests/\(parts[1])Tests\(parts.count > 3 ? "/\(parts[2])" : "")"
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder)
            .filter { $0.hasSuffix("Tests.swift") && $0.firstMatch(of: #/Linearizability|Stress|Concurrency/#) == nil }
            .map { URL(filePath: $0).deletingPathExtension().lastPathComponent }
        return "/(\(files.joined(separator: "|")))\\.swift:"
    }
}

extension Mutants {
    /// Builds the copy with every change of these sources that compiles.
    static func build(_ paths: [String]) throws -> (sites: [Site], skipped: [Site]) {
        try copyPackage(but: paths)
        let memory = URL(filePath: ".build-mutants/skipped")
        var refused = Set(
            ((try? String(contentsOf: memory, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init))
        let sources = try paths.map { ($0, try String(contentsOf: URL(filePath: $0), encoding: .utf8)) }
        let found = sources.flatMap { sites(in: $1, named: $0) }
        var erred: Set<String> = []
        while true {
            var sites = found.filter { !refused.contains($0.key) }
            let numbers = numbered(sites)
            for index in sites.indices { sites[index].first = numbers[sites[index].key] ?? 0 }
            var places: [(Int, Int, Site)] = []
            for (path, source) in sources {
                let (text, there) = instrumented(source, sites.filter { $0.source == path })
                try write(text, to: copy.appending(path: path))
                places += there
            }
            try write(try support(sites), to: copy.appending(path: "Sources/Resilience/Mutants.swift"))
            say("building with \(sites.reduce(0) { $0 + $1.to.count }) changes")
            let (status, output) = try swift(
                "build", "--build-tests", "--enable-all-traits", "-Xswiftc", "-continue-building-after-errors")
            if status == 0 { return (sites, found.filter { !$0.isTwin && refused.contains($0.key) }) }

            let before = refused.count
            for error in output.matches(of: #/(?m)^(.*\.swift):(\d+):(\d+): error: /#) {
                guard let line = Int(error.2), let column = Int(error.3) else { continue }
                let file = places.filter { error.1.hasSuffix($0.2.source) }
                let there = file.filter { $0.0 == line }
                // Without its only statement a function has no value, as it is told at its end.
                let place =
                    there.last { $0.1 <= column } ?? there.first
                    ?? file.last { $0.0 < line && $0.2.to == ["left out"] }
                // A line that fails again is left alone: one change at a time would take a build for each.
                if !erred.insert("\(error.1):\(error.2)").inserted { refused.formUnion(there.map(\.2.key)) }
                if let place { refused.insert(place.2.key) }
            }
            if refused.count == before {
                // What the error is about begins or ends at some other line: leave out what is near.
                for error in output.matches(of: #/(?m)^(.*\.swift):(\d+):\d+: error: /#) {
                    guard let line = Int(error.2) else { continue }
                    refused.formUnion(
                        places.filter { error.1.hasSuffix($0.2.source) && abs($0.0 - line) <= 9 }.map(\.2.key))
                }
            }
            if refused.count == before {
                stop(
                    Set(output.matches(of: #/(?m)^\S.*: error: .*$/#).map { $0.output }).sorted().joined(
                        separator: "\n"))
            }
            try write(refused.sorted().joined(separator: "\n"), to: memory)
        }
    }

    /// The same in every build: tests that are not compiled anew hold those of the default arguments that they use.
    static func numbered(_ sites: [Site]) -> [String: Int] {
        var taken: Set<Int> = []
        return sites.filter { !$0.isTwin }.reduce(into: [:]) { numbers, site in
            // FNV-1a, and room for the changes of one place.
            let hash = site.key.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
            var number = Int(hash % 1_000_000 + 1) * 10
            while !taken.insert(number).inserted { number += 10 }
            numbers[site.key] = number
        }
    }

    /// Brings the copy up to date, touching only what changed, so that the build does as little: also without the tests of
    /// other modules.
    static func copyPackage(but paths: [String]) throws {
        let files = FileManager.default
        var wanted: Set<String> = ["Package.swift", "Sources/Resilience/Mutants.swift"]
        for folder in ["Sources", "Tests", "Docs"] {
            wanted.formUnion(try files.subpathsOfDirectory(atPath: folder).map { "\(folder)/\($0)" })
            for path in (try? files.subpathsOfDirectory(atPath: copy.appending(path: folder).path)) ?? []
            where !wanted.contains("\(folder)/\(path)") {
                try? files.removeItem(at: copy.appending(path: "\(folder)/\(path)"))
            }
        }
        let tests = Set(paths.map { "\"\($0.split(separator: "/")[1])Tests\"" }).sorted().joined(separator: ", ")
        for path in wanted where !paths.contains(path) {
            // A folder has none; of what is kept for fuzzers not all is text.
            guard var data = try? Data(contentsOf: URL(filePath: path)) else { continue }
            if path == "Package.swift" {
                let without = """

                    package.targets.removeAll { $0.type == .executable || $0.type == .test && ![\(tests)].contains($0.name) }
                    package.products.removeAll { $0.name == "retry-storm" }
                    """
                data += Data(without.utf8)
            }
            try write(data, to: copy.appending(path: path))
        }
    }

    static func write(_ text: String, to file: URL) throws { try write(Data(text.utf8), to: file) }

    static func write(_ data: Data, to file: URL) throws {
        if let present = try? Data(contentsOf: file), present == data { return }
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try data.write(to: file, options: .atomic)
    }

    static func swift(_ arguments: String...) throws -> (status: Int32, output: String) {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["swift"] + arguments + ["--package-path", copy.path]
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: data, as: UTF8.self))
    }
}

/// Tests that run together, and what they may take.
struct Stage: Sendable {
    let arguments: [String]
    /// Of processor time, which other work on the machine does not use up, and of time.
    var limits = (work: 120.0, time: 240.0)
}

/// Runs the tests that were built.
struct Runner: Sendable {
    enum Result { case passed, failed, timedOut, notTried }

    let tests: URL
    /// Two at a time, or as many as `JOBS` says.
    private let jobs = ProcessInfo.processInfo.environment["JOBS"].flatMap { Int($0) } ?? 2

    init(tests: URL) { self.tests = tests }

    /// Tests that pass without any change, and five times what they took; nil if there are none.
    func stage(filter: String, skip: String? = nil) -> Stage? {
        var stage = Stage(arguments: ["--filter", filter] + (skip.map { ["--skip", $0] } ?? []))
        let (began, before) = (Date(), Self.workOfChildren())
        switch run(stage, mutant: 0) {
        case .passed: break
        case .notTried: return nil
        case .failed, .timedOut: Mutants.stop("\(filter) fails without any change")
        }
        stage.limits.work = max(4, (Self.workOfChildren() - before) * 5)
        stage.limits.time = max(60, Date().timeIntervalSince(began) * 5)
        return stage
    }

    private static func workOfChildren() -> Double {
        var usage = rusage()
        getrusage(RUSAGE_CHILDREN.rawValue, &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
    }

    func results(of mutants: [Mutant], _ stages: [Stage], until deadline: Date) -> [Result] {
        let next = Atomic(0)
        let results = Mutex(Array(repeating: Result.notTried, count: mutants.count))
        DispatchQueue.concurrentPerform(iterations: jobs) { _ in
            while true {
                let index = next.add(1, ordering: .relaxed).oldValue
                guard index < mutants.count, Date() < deadline else { return }
                let result = result(of: mutants[index], stages)
                results.withLock { $0[index] = result }
            }
        }
        return results.withLock { $0 }
    }

    /// Of the first stage that notices it.
    func result(of mutant: Mutant, _ stages: [Stage]) -> Result {
        stages.lazy.map { run($0, mutant: mutant.number) }.first { $0 != .passed } ?? .passed
    }

    /// Runs until the first issue, or until a limit is reached.
    private func run(_ stage: Stage, mutant: Int) -> Result {
        let process = Process()
        let output = Pipe()
        let ended = DispatchSemaphore(value: 0)
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments =
            [
                "-c", #"ulimit -c 0; ulimit -t \#(Int(stage.limits.work)); ulimit -v 8000000; exec "$0" "$@""#,
                tests.path,
                "--testing-library", "swift-testing",
            ] + stage.arguments
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["MUTANT": "\(mutant)", "SWIFT_BACKTRACE": "enable=no"], uniquingKeysWith: { $1 })
        process.standardOutput = output
        process.standardError = output
        process.terminationHandler = { _ in ended.signal() }
        do { try process.run() } catch { Mutants.stop("\(tests.path): \(error)") }
        let pid = process.processIdentifier
        let timeout = DispatchWorkItem { kill(pid, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + stage.limits.time, execute: timeout)
        // What came last, as long as the beginning of an issue may be in it: a line can be of any length.
        var tail = ""
        var issue: String?
        while issue == nil, case let data = output.fileHandleForReading.availableData, !data.isEmpty {
            tail += String(decoding: data, as: UTF8.self)
            if let start = tail.range(of: "recorded an issue")?.lowerBound {
                tail = String(tail[start...])
                issue = tail.range(of: "\n").map { String(tail[..<$0.lowerBound]) }
            } else {
                tail = String(tail.suffix(20))
            }
        }
        if issue != nil { kill(pid, SIGKILL) }
        ended.wait()
        timeout.cancel()
        if let issue { return issue.contains("Time limit was exceeded") ? .timedOut : .failed }
        switch (process.terminationReason, process.terminationStatus) {
        case (.exit, 0): return .passed
        // What the test library says where no test is left.
        case (.exit, EX_UNAVAILABLE): return .notTried
        case (.uncaughtSignal, SIGXCPU), (.uncaughtSignal, SIGKILL): return .timedOut
        default: return .failed
        }
    }
}
