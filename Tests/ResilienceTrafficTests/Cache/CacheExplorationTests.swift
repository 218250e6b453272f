import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

/// A cache compared with a list of each key's state. The list learns only evictions from the machine.
private struct ListedValues: ExplorableMachine {
    enum Input: Hashable {
        case look(Int)
        /// The load of the call at this place in the list ends.
        case end(call: Int, Outcome)
        /// The call at this place in the list is over.
        case leave(call: Int)
        case store(Int)
        case remove(Int)
        case removeAll
        case wait(Int64)
    }

    enum Outcome: Hashable, CaseIterable { case value, outage, namedWait, other, answer, keptAnswer }

    private struct Known: Sendable {
        var value: Int?
        var since: MonotonicInstant
        var pausedUntil = MonotonicInstant.distantPast
        /// How long a failure is kept.
        var lasts: Int64 = 2
        /// No load begins before this.
        var heldUntil = MonotonicInstant.distantPast
    }

    private struct Call: Sendable {
        let key: Int
        let load: CacheStateMachine<Int, Int>.Load
        var isOutdated = false
        var isOver = false
    }

    private struct Down: Error, VerdictConvertible { var verdict: Verdict { .transient } }

    private static let lifetime = CacheLifetime(
        freshFor: .nanoseconds(3), staleWhileRevalidate: .nanoseconds(2), staleIfError: .nanoseconds(4))

    private var machine: CacheStateMachine<Int, Int>
    private let maxCount: Int
    private var now: MonotonicInstant
    private var known: [Int: Known] = [:]
    private var calls: [Call] = []
    private var next = 0

    /// - Parameter age: The age of key 1's initial value; nil if there is none.
    init(start: Int64, maxCount: Int, age: Int64?) {
        now = MonotonicInstant(nanoseconds: start)
        self.maxCount = maxCount
        machine = CacheStateMachine(maxCount: maxCount, maxCost: 2 * maxCount, pauseAfterError: .nanoseconds(1))
        guard let age else { return }
        _ = machine.store(0, for: 1, cost: 1, lifetime: Self.lifetime, at: now)
        known[1] = Known(value: 0, since: now)
        now = now + .nanoseconds(age)
    }

    var inputs: [Input] {
        var inputs: [Input] = [.look(1), .look(2), .store(3), .store(1), .remove(1), .removeAll, .wait(1), .wait(2)]
        for call in calls.indices.suffix(3) where !calls[call].isOver {
            for outcome in Outcome.allCases { inputs.append(.end(call: call, outcome)) }
            inputs.append(.leave(call: call))
        }
        return inputs
    }

    private mutating func outdate(_ key: Int) {
        for index in calls.indices where calls[index].key == key { calls[index].isOutdated = true }
    }

    /// Whether a call that looked after the latest write loads the key.
    private func isLoading(_ key: Int) -> Bool { calls.contains { $0.key == key && !$0.isOutdated && !$0.isOver } }

    private mutating func keep(_ value: Int?, for key: Int, _ gone: CacheStateMachine<Int, Int>.Gone) throws {
        for entry in gone.entries where entry.key != key {
            try require(known.removeValue(forKey: entry.key) != nil, "it evicts what is not there")
        }
        try require(
            gone.entries.count { $0.key == key }, is: known[key] == nil ? 0 : 1, "how often the old one is handed back")
        known[key] = Known(value: value, since: now)
    }

    private mutating func pause(_ key: Int, until end: MonotonicInstant) {
        let present = known[key]?.pausedUntil ?? end
        known[key]?.pausedUntil = max(present, end)
    }

    private mutating func look(_ key: Int) throws {
        let wasLoading = isLoading(key)
        let found = machine.look(for: key, at: now)
        let age = known[key].map { $0.since.duration(to: now).saturatedNanoseconds }
        let isPaused = known[key].map { now < $0.pausedUntil } ?? false
        switch (found, known[key]?.value, age) {
        case (.fresh(let value), let expected?, let age?):
            try require(value == expected && age < 3, "a value of \(age) ns is not fresh")
        case (.stale(let value, let load, _), let expected?, let age?):
            try require(value == expected && age >= 3 && age < (isPaused ? 7 : 5), "a value of \(age) ns is not stale")
            try require(load != nil, is: !wasLoading && !isPaused, "whether to load")
            if let load { calls.append(Call(key: key, load: load)) }
        case (.failed, nil, let age?):
            try require(age < known[key]?.lasts ?? 0, "a failure of \(age) ns is no longer kept")
        case (.failed, _?, let age?):
            try require(known[key].map { now < $0.heldUntil } == true, "nothing holds a load")
            try require(age >= (isPaused ? 7 : 5), "a value of \(age) ns is not returned")
        case (.missing(let load), let expected, let age):
            let isHeld = known[key].map { now < $0.heldUntil } ?? false
            let lasts = known[key]?.lasts ?? 0
            let isOver = age.map { expected == nil ? $0 >= lasts : $0 >= (isPaused ? 7 : 5) && !isHeld } ?? true
            try require(isOver, "what is known is not found")
            let isNew = !calls.contains { $0.load == load && ($0.key != key || $0.isOutdated) }
            try require(isNew, "it joins a load of another key, or from before a write")
            calls.append(Call(key: key, load: load))
            let mayFallBack = expected != nil && age.map { $0 < 7 } == true
            try require(
                machine.afterError(key, pausing: true, at: now), is: mayFallBack ? expected : nil,
                "the value from before")
            if mayFallBack { pause(key, until: now + .nanoseconds(1)) }
        default: throw BrokenInvariant("\(found) for \(known[key] as Any)")
        }
    }

    private mutating func end(_ call: Call, _ outcome: Outcome) throws {
        let (key, load) = (call.key, call.load)
        next += 1
        let gone: CacheStateMachine<Int, Int>.Gone
        switch outcome {
        case .value: gone = machine.ended(load, of: key, with: next, cost: key, for: Self.lifetime, at: now)
        case .outage, .namedWait, .other, .answer, .keptAnswer:
            gone = machine.ended(
                load, of: key, with: Down(), isAnswer: outcome == .answer || outcome == .keptAnswer,
                isOutage: outcome == .outage || outcome == .namedWait,
                keepingFor: outcome == .answer ? .zero : .nanoseconds(2),
                wait: outcome == .namedWait ? .nanoseconds(4) : .zero, at: now)
        }
        guard !call.isOutdated else {
            return try require(gone.entries.isEmpty, "a load from before a write changes something")
        }
        switch outcome {
        case .value: try keep(next, for: key, gone)
        case .outage:
            try require(gone.entries.isEmpty, "an outage removes something")
            pause(key, until: now + .nanoseconds(1))
        case .namedWait:
            guard known[key]?.value != nil else {
                try keep(nil, for: key, gone)
                known[key]?.lasts = 4
                return
            }
            try require(gone.entries.map(\.key), is: [key], "a wait removes something")
            pause(key, until: now + .nanoseconds(4))
            known[key]?.heldUntil = now + .nanoseconds(4)
        case .other:
            try require(gone.entries.isEmpty, "a failure removes something")
            guard let since = known[key]?.since else { return }
            pause(key, until: min(now + .nanoseconds(1), since + .nanoseconds(5)))
        case .answer:
            try require(gone.entries.map(\.key), is: known[key] == nil ? [] : [key], "what an answer drops")
            known[key] = nil
        case .keptAnswer: try keep(nil, for: key, gone)
        }
    }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .look(let key): try look(key)
        case .end(let call, let outcome):
            // A shortened history may contain fewer calls.
            guard calls.indices.contains(call), !calls[call].isOver else { return }
            try end(calls[call], outcome)
        case .leave(let call):
            guard calls.indices.contains(call), !calls[call].isOver else { return }
            calls[call].isOver = true
            let key = calls[call].key
            let gone = machine.isOver(calls[call].load, of: key)
            let isLast = !calls[call].isOutdated && !isLoading(key)
            try require(gone.keys, is: isLast ? [key] : [], "whether the key is loaded no longer")
        case .store(let key):
            next += 1
            outdate(key)
            try keep(next, for: key, machine.store(next, for: key, cost: 1, lifetime: Self.lifetime, at: now))
        case .remove(let key):
            outdate(key)
            try require(
                machine.remove(key).entries.map(\.key), is: known[key] == nil ? [] : [key], "what is removed")
            known[key] = nil
        case .removeAll:
            for key in 1...3 { outdate(key) }
            try require(machine.removeAll().count, is: known.count, "how many are removed")
            known = [:]
        case .wait(let length):
            now = MonotonicInstant(nanoseconds: now.nanoseconds.saturatingAdding(length))
        }
        try require(machine.count, is: known.count, "the count")
        try require(machine.count <= maxCount, "there are too many")
        try require(machine.cost >= 0 && machine.cost <= 2 * maxCount, "they cost \(machine.cost)")
    }
}

@Suite(.heavy) struct CacheExplorationTests {
    @Test(
        "for any lookups, loads, stores and removals, the cache returns its model's values, and never exceeds its bounds",
        arguments: [0, -5, Int64.max - 1000], [1, 2, 3])
    func listed(start: Int64, maxCount: Int) throws {
        // At this age, a stale value's load may end before or after the time in which the value may be returned.
        for age in [nil, 4] as [Int64?] {
            let explorer = Explorer(
                ListedValues(start: start, maxCount: maxCount, age: age),
                code: "ListedValues(start: \(start), maxCount: \(maxCount), age: \(age as Any))")
            try explorer.exploreAll(depth: 4, transitions: 20_000 * Effort.level)
            for seed in UInt64(1)...50 { try explorer.exploreRandomly(length: 200, seed: seed) }
        }
    }
}
