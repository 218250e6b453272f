import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceFleet

private let lease = Duration.milliseconds(100)

/// Two processes that each have a part of a limit. Their engine may be away at any time, loses answers and gets
/// questions late. Its clock is 1 % faster than theirs.
private struct SharedParts: ExplorableMachine {
    enum Input: Hashable {
        /// As many calls as allowed, and one more.
        case began(Int)
        /// All calls, or all but one.
        case ended(Int, left: Int)
        case asks(Int)
        /// The engine gets the question.
        case ran(Int)
        case answered(Int)
        /// The process gives up the question; the engine may have received it.
        case failed(Int)
        /// The engine gets an abandoned question.
        case strayed(Int)
        case wait(milliseconds: Int64)
        /// The engine is back, and nothing happens for a while.
        case settled
    }

    private struct Member {
        var machine: PartStateMachine
        /// How many permits the process may use.
        var permits = 0
        var used = 0
        var asked: PartStateMachine.Ask?
        var answer: (part: Int, members: Int)?
        var stray: PartStateMachine.Ask?
        var notBefore = MonotonicInstant.distantPast
    }

    private struct Entry {
        var has, wants, number: Int
        var ends: Int64
    }

    private static let limit = 4
    private var members: [Member]
    private var engine: [Entry?] = [nil, nil]
    private var now = MonotonicInstant(nanoseconds: 3_600_000_000_000)
    /// Whether calls may still run after their part has ended.
    private var areLate = false

    init(fallback: FleetFallback) {
        let machine = PartStateMachine(limit: Self.limit, lease: lease, fallback: fallback, at: now)
        members = [Member(machine: machine), Member(machine: machine)]
    }

    var inputs: [Input] {
        var inputs: [Input] = [.settled] + [55, 300, 906].map { .wait(milliseconds: $0) }
        for (index, member) in members.enumerated() {
            inputs += [.began(index), .ended(index, left: 0), .ended(index, left: 1)]
            inputs += member.asked == nil ? [.asks(index)] : [.failed(index)]
            if member.asked != nil, member.answer == nil { inputs.append(.ran(index)) }
            if member.answer != nil { inputs.append(.answered(index)) }
            if member.stray != nil { inputs.append(.strayed(index)) }
        }
        return inputs
    }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .began(let index):
            members[index].used = max(members[index].used, members[index].permits)
            let isFirst = members[index].machine.miss()
            try require(isFirst || members[index].machine.due <= now + lease / 2, "a call that was missed waits")
        case .ended(let index, let left): members[index].used = min(members[index].used, left)
        case .asks(let index): try ask(index)
        case .ran(let index): members[index].answer = members[index].asked.map { run($0, of: index) }
        case .answered(let index): try answer(index)
        case .failed(let index): try fail(index)
        case .strayed(let index): if let ask = members[index].stray.take() { _ = run(ask, of: index) }
        case .wait(let length): now = now + .milliseconds(length)
        case .settled: try settle()
        }
        let leased = members.filter { now < $0.machine.ends }
        if members.contains(where: { $0.used > 0 && $0.machine.ends <= now }) { areLate = true }
        let permits = leased.reduce(0) { $0 + $1.permits }
        try require(permits <= Self.limit, "\(permits) permits are leased")
        let used = leased.reduce(0) { $0 + max($1.used, $1.permits) }
        try require(areLate || used <= Self.limit, "\(used) calls run or may run")
    }

    private mutating func ask(_ index: Int) throws {
        let due = members[index].machine.due
        guard due <= now else { return }
        try require(members[index].notBefore <= now, "it asks before half a lease is over")
        let (used, isLeased) = (members[index].used, now < members[index].machine.ends)
        let ask = members[index].machine.ask(used: used, queued: 0, at: now)
        let most = isLeased ? max(used, members[index].permits) : used
        try require(ask.held >= min(Self.limit, most), "calls may begin while the question is on its way")
        members[index].asked = ask
    }

    private mutating func answer(_ index: Int) throws {
        guard let ask = members[index].asked, let (part, count) = members[index].answer else { return }
        // The fleet does not wait longer.
        guard now <= ask.time + lease / 2 else { return try fail(index) }
        (members[index].asked, members[index].answer) = (nil, nil)
        members[index].machine.answered(part: part, members: count, to: ask, at: now)
        (members[index].permits, members[index].notBefore) = (part, now + lease / 2)
        let isGivingUp = max(part, ask.used) < ask.held
        try require(
            !isGivingUp || members[index].machine.due <= now + lease / 2, "what it has given up is not said to be free")
        try require(members[index].machine.ends <= ask.time + (ask.valid - lease), "no lease of safety is left")
    }

    private mutating func fail(_ index: Int) throws {
        guard let ask = members[index].asked.take() else { return }
        if members[index].answer.take() == nil { members[index].stray = ask }
        let (ends, part) = (members[index].machine.ends, members[index].machine.part)
        let permits = members[index].machine.failed(sharedBy: 2, at: now)
        if now < ends {
            try require(permits, is: part, "the permits before the part has ended")
            try require(members[index].machine.due <= max(ends, now + lease / 2), "it does not look when its part ends")
        } else {
            try require(permits, is: Self.limit / 2, "the permits after the part has ended")
        }
        (members[index].permits, members[index].notBefore) = (permits, now + lease / 2)
    }

    private var engineTime: Int64 { now.nanoseconds / 100 * 101 }

    private mutating func run(_ ask: PartStateMachine.Ask, of index: Int) -> (part: Int, members: Int) {
        if let mine = engine[index], mine.number > ask.number { return (0, 1) }
        let other = engine[1 - index].flatMap { $0.ends > engineTime ? $0 : nil }
        let wants = ask.need + ask.spare
        let share = max(Self.limit / 2, Self.limit - (other?.wants ?? 0))
        let granted = max(0, min(wants, share, Self.limit - (other?.has ?? 0)))
        engine[index] = Entry(
            has: max(granted, ask.held), wants: wants, number: ask.number,
            ends: engineTime + Int64(ask.valid / .nanoseconds(1)))
        return (granted, other == nil ? 1 : 2)
    }

    /// Asks and answers like the link, for ten seconds.
    private mutating func settle() throws {
        let end = now + .seconds(10)
        var questions = 0
        while let index = members.indices.min(by: { due($0) < due($1) }), due(index) < end {
            now = max(now, due(index))
            if members[index].asked == nil { try ask(index) }
            if members[index].answer == nil { members[index].answer = members[index].asked.map { run($0, of: index) } }
            try answer(index)
            questions += 1
            try require(questions <= 420, "it asks again and again")
        }
        now = end
        try require(questions >= 2, "nobody asks")
        for (index, member) in members.enumerated() {
            try require(now < member.machine.ends, "a part ends while the engine is there")
            // Permits in use by the other member's calls stay with it.
            let enough = min(max(1, member.used), Self.limit / 2, Self.limit - members[1 - index].used)
            try require(member.permits >= enough, "\(member.permits) permits, where \(enough) are its own")
        }
        if members.allSatisfy({ $0.used == 0 }) { try require(questions <= 60, "idle ones ask often") }
        areLate = members.contains { $0.used > $0.permits }
    }

    private func due(_ index: Int) -> MonotonicInstant {
        members[index].asked == nil ? members[index].machine.due : now
    }
}

/// Two processes that hold tokens of one budget. Their engine may be away at any time, and loses answers.
private struct SharedTokens: ExplorableMachine {
    enum Input: Hashable {
        case succeeded(Int), withdraw(Int)
        case asks(Int)
        case answered(Int)
        /// The engine received the question, or did not.
        case failed(Int, ran: Bool)
        case wait(milliseconds: Int64)
        /// The engine is back, and nothing happens for a while.
        case settled
    }

    private struct Member {
        var tokens = LeasedTokens(capacity: 20, cost: 3, throttledCost: 2)
        var machine = TokenStateMachine(
            TokenStateMachine.Settings(capacity: 20, cost: 3, throttledCost: 2), lease: lease)
        var asked: TokenStateMachine.Ask?
        /// The engine's number.
        var has = 0
        var notBefore = MonotonicInstant.distantPast
    }

    private var members = [Member(), Member()]
    private var level = 20
    private var now = MonotonicInstant(nanoseconds: 0)

    var inputs: [Input] {
        var inputs: [Input] = [.wait(milliseconds: 50), .wait(milliseconds: 100), .wait(milliseconds: 950), .settled]
        for (index, member) in members.enumerated() {
            inputs += [.succeeded(index), .withdraw(index)]
            inputs +=
                member.asked == nil
                ? [.asks(index)] : [.answered(index), .failed(index, ran: true), .failed(index, ran: false)]
        }
        return inputs
    }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .succeeded(let index): for _ in 0..<7 { members[index].tokens.succeeded(after: .none, at: now) }
        case .withdraw(let index): _ = members[index].tokens.withdraw(.usual, at: now)
        case .asks(let index): _ = try ask(index)
        case .answered(let index): try answer(index)
        case .failed(let index, let ran):
            guard let ask = members[index].asked.take() else { break }
            if ran { _ = run(ask, of: index) }
            members[index].machine.failed(at: now)
            members[index].tokens.standAlone(share: 20 / 2)
            members[index].notBefore = now + lease
        case .wait(let length): now = now + .milliseconds(length)
        case .settled: try settle()
        }
        for member in members {
            try require(member.machine.deafUntil <= now + lease * 10, "it hears nothing for long")
            try require(
                !member.machine.isAway || member.machine.deafUntil <= now + lease, "it does not hear that all is well")
        }
    }

    private mutating func ask(_ index: Int) throws -> Bool {
        guard members[index].machine.next <= now else { return false }
        let report = members[index].tokens.takeReport()
        guard let ask = members[index].machine.ask(report) else {
            try require(
                report.missed == 0 && report.earned == 0 && !report.hasSpent && !members[index].machine.isAway,
                "the engine should learn \(report)")
            members[index].tokens.forgetFull()
            return false
        }
        try require(members[index].notBefore <= now, "it asks before a lease is over")
        try require(ask.held, is: report.tokens, "what is at hand")
        try require(ask.wanted, is: max(0, min(20, 6 + report.missed) - report.tokens), "what is wanted")
        members[index].asked = ask
        return true
    }

    private mutating func answer(_ index: Int) throws {
        guard let ask = members[index].asked.take() else { return }
        let wasAway = members[index].machine.isAway
        let (granted, level) = run(ask, of: index)
        let (dropped, areAllFull) = members[index].machine.answered(level: level, members: 2, to: ask, at: now)
        members[index].tokens.drop(dropped)
        try require(dropped, is: wasAway ? max(0, ask.held - ask.enough) : 0, "what is given up of its own")
        try require(areAllFull, is: level >= 20, "whether all are full")
        members[index].tokens.grant(granted, areAllFull: areAllFull)
        try require(!members[index].machine.isAway, "it is away after an answer")
        members[index].notBefore = now + lease
    }

    private mutating func run(_ ask: TokenStateMachine.Ask, of index: Int) -> (granted: Int, level: Int) {
        level = min(20, level + ask.earned)
        let granted = min(ask.wanted, level)
        level -= granted
        members[index].has = ask.held + granted
        return (granted, level)
    }

    /// Asks and answers like the link, until there is nothing to report.
    private mutating func settle() throws {
        for index in members.indices {
            var questions = 0
            var isBusy = true
            while isBusy {
                if members[index].asked != nil { try answer(index) }
                now = max(now, members[index].machine.deafUntil)
                isBusy = try ask(index)
                questions += 1
                try require(questions < 5, "it asks again and again")
            }
        }
    }
}

@Suite(.heavy) struct SharedExplorationTests {
    @Test("as far as the effort allows, leased parts never exceed the limit, even after many outages")
    func parts() throws {
        let explorer = Explorer(SharedParts(fallback: .localShare), code: "parts of a limit")
        try explorer.exploreAll(depth: 4)
        try explorer.exploreRandomly(length: 40_000, seed: 6)
    }

    @Test(
        "as far as the effort allows, a budget asks only for the tokens that it lacks, even after many outages"
    )
    func tokens() throws {
        let explorer = Explorer(SharedTokens(), code: "tokens of a budget")
        try explorer.exploreAll(depth: 4)
        try explorer.exploreRandomly(length: 40_000, seed: 7)
    }
}
