import ResilienceSync

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension StoreTrial {
    static var coalescing: [StoreTrial] {
        [
            StoreTrial("coalescing, each pair of operations") { stage in
                let operations: [Mutation.Operation?] = Mutation.Operation.allCases + [nil]
                for first in operations {
                    for second in operations {
                        let earlier = Mutation.trial("a1", first, payload: "one")
                        let later = Mutation.trial("a2", second, payload: "two")
                        let appended = [
                            try await stage.append([earlier], AppendRules()),
                            try await stage.append([later], AppendRules()),
                        ]
                        try await stage.reopen()
                        let found = try await stage.pending()
                        let name = "\(first.map { "\($0)" } ?? "nothing") and \(second.map { "\($0)" } ?? "nothing")"
                        let expected: [Mutation]
                        switch Coalescing.lastWriteWins.combine(earlier, later) {
                        case .apart: expected = [earlier, later]
                        case .merged(let merged): expected = [merged]
                        case .nothing: expected = []
                        }
                        stage.require(found.map(\.mutation) == expected, "\(name) become \(found.map(\.mutation))")
                        let merges =
                            expected.count == 2
                            ? [] : [AppendResult.Merge(id: "a2", into: "a1", cancelsOut: expected.isEmpty)]
                        stage.require(
                            appended[1].merges == merges && appended[1].added == (merges.isEmpty ? 1 : 0),
                            "\(name) are reported as \(appended[1])")
                        _ = try await stage.store.removePending()
                    }
                }
            },
            StoreTrial("coalescing keeps the earlier one's place and id, and restarts its time in the queue") { stage in
                try await stage.append([.trial("a1", .update), .trial("b1")])
                let before = try await stage.pending()
                _ = try await stage.store.append(
                    [.trial("a2", .update, payload: "new", key: "new key")], under: AppendRules(), at: stage.now + 60)
                let after = try await stage.pending()
                stage.require(after.map(\.position) == before.map(\.position), "the places have changed")
                stage.require(
                    after.map(\.queuedAt) == [stage.now + 60, before[1].queuedAt],
                    "the times are \(after.map(\.queuedAt))")
                stage.require(
                    after.first?.mutation.id == "a1" && after.first?.mutation.idempotencyKey == "new key",
                    "the id is the later one's, or the key the earlier one's")
                // The later mutation's id was not stored, so it is still free.
                try await stage.append([.trial("a2", .create)])
            },
            StoreTrial("nothing is coalesced into a mutation that may have been sent") { stage in
                for attempt in ["claimed", "failed", "revived"] {
                    try await stage.append([.trial("a1", .create)], AppendRules())
                    let position = try await stage.position(of: "a1")
                    if attempt == "failed" {
                        try await stage.apply([.failed(position, error: "x")])
                    } else {
                        try await stage.apply(claiming: [position])
                    }
                    if attempt == "revived" {
                        try await stage.apply([.died(position, error: "x", rest: .skip)])
                        _ = try await stage.store.reviveAll(at: stage.now)
                    }
                    try await stage.reopen()
                    try await stage.append([.trial("a2", .update)], AppendRules())
                    try await stage.append([.trial("a3", .update)], AppendRules())
                    try await stage.append([.trial("a4", .delete)], AppendRules())
                    try await stage.requirePending(["a1", "a2"], "one \(attempt), and three later ones")
                    _ = try await stage.store.removePending()
                }
            },
            StoreTrial("coalescing considers only the last pending mutation of a lane") { stage in
                try await stage.append([.trial("a1", .update), .trial("a2")], AppendRules())
                try await stage.append([.trial("b1", .update), .trial("a3", .update)], AppendRules())
                try await stage.requirePending(["a1", "a2", "b1", "a3"], "one that stays apart is between")
                try await stage.apply([.died(try await stage.position(of: "a3"), error: "x", rest: .block)])
                try await stage.append([.trial("a4", .update)], AppendRules())
                try await stage.requirePending(["a1", "a2", "b1", "a4"], "the last one is dead")
                try await stage.append([.trial("a5", .update)], AppendRules())
                try await stage.requirePending(["a1", "a2", "b1", "a4"], "the lane is blocked")
            },
            StoreTrial("coalescing within one batch") { stage in
                let appended = try await stage.append(
                    [
                        .trial("a1", .create), .trial("b1", .update), .trial("a2", .update, payload: "two"),
                        .trial("b2", .delete), .trial("c1", .create), .trial("c2", .delete), .trial("c3", .create),
                    ], AppendRules())
                let stored = try await stage.pending().map(\.mutation)
                stage.require(
                    stored.map(\.id) == ["a1", "b1", "c3"] && stored.map(\.operation) == [.create, .delete, .create],
                    "seven in one batch become \(stored.map { ($0.id, $0.operation) })")
                stage.require(
                    appended.merges == [
                        .init(id: "a2", into: "a1", cancelsOut: false), .init(id: "b2", into: "b1", cancelsOut: false),
                        .init(id: "c2", into: "c1", cancelsOut: true),
                    ] && appended.added == 4, "it is reported as \(appended)")
                try await stage.requireHeads(["a1", "b1", "c3"], "seven in one batch")
            },
            StoreTrial("mutations that cancel out leave their lane unchanged") { stage in
                try await stage.append([.trial("a1"), .trial("a2", .create)])
                try await stage.append([.trial("a3", .delete), .trial("a4", .update)], AppendRules())
                try await stage.requirePending(["a1", "a4"], "a create and a delete behind another")
                try await stage.requireHeads(["a1"], "a create and a delete behind another")
                try await stage.append([.trial("b1", .create)])
                try await stage.append([.trial("b2", .delete)], AppendRules())
                try await stage.requireHeads(["a1"], "a create and a delete alone")
            },
            StoreTrial("coalescing by the caller's rule") { stage in
                let rules = AppendRules(coalescing: .merging { $0.payload + $1.payload })
                try await stage.append([.trial("a1", .update, payload: "1")], rules)
                try await stage.append([.trial("a2", .update, payload: "2")], rules)
                try await stage.append([.trial("a3", .update, payload: "3")], AppendRules(coalescing: .off))
                let payloads = try await stage.pending().map { String(decoding: $0.mutation.payload, as: UTF8.self) }
                stage.require(payloads == ["12", "3"], "the payloads are \(payloads)")
            },
        ]
    }

    static var limits: [StoreTrial] {
        [
            StoreTrial("a full queue rejects") { stage in
                let rules = AppendRules(maxCount: 3, maxBytes: 10, coalescing: .lastWriteWins)
                try await stage.append([.trial("a1", .update, payload: "12"), .trial("b1", payload: "34")], rules)
                await stage.requireError(.full(count: 4, bytes: 4), "too many") {
                    try await stage.append([.trial("c1"), .trial("d1")], rules)
                }
                await stage.requireError(.full(count: 3, bytes: 11), "too large") {
                    try await stage.append([.trial("c1", payload: "5678901")], rules)
                }
                await stage.requireError(.full(count: 2, bytes: 11), "too large after a merge") {
                    try await stage.append([.trial("a2", .update, payload: "123456789")], rules)
                }
                try await stage.requirePending(["a1", "b1"], "after rejections")
                let payload = try await stage.pending().first?.mutation.payload
                stage.require(payload == Data("12".utf8), "a rejected mutation was merged")
                try await stage.append([.trial("c1", payload: "567890")], rules)
                try await stage.requirePending(["a1", "b1", "c1"], "exactly as many as the limits allow")
                // Appends that do not make the store fuller.
                try await stage.append([.trial("a2", .delete, payload: "1")], rules)
                try await stage.append([], AppendRules(maxCount: 1))
                try await stage.apply([.acknowledged(try await stage.position(of: "b1"))])
                try await stage.append([.trial("d1")], rules)
            },
            StoreTrial("a full queue that drops the oldest") { stage in
                let rules = AppendRules(maxCount: 3, overflow: .dropOldest, coalescing: .lastWriteWins)
                try await stage.append([.trial("a1"), .trial("b1"), .trial("a2")], rules)
                try await stage.apply(claiming: [try await stage.position(of: "a1")])
                let appended = try await stage.append([.trial("c1")], rules)
                stage.require(appended.dropped == ["b1"], "\(appended.dropped) are dropped")
                try await stage.requirePending(["a1", "a2", "c1"], "the oldest never attempted is dropped")
                try await stage.requireHeads(["a1", "c1"], "the oldest never attempted is dropped")
                await stage.requireError(.full(count: 6, bytes: 0), "a batch without room") {
                    try await stage.append([.trial("d1"), .trial("e1"), .trial("f1")], rules)
                }
                try await stage.requirePending(["a1", "a2", "c1"], "nothing is dropped for a rejected append")
            },
            StoreTrial("dropping the oldest for bytes") { stage in
                try await stage.append([.trial("a1", .update, payload: "123"), .trial("b1", payload: "456")])
                let rules = AppendRules(maxBytes: 7, overflow: .dropOldest, coalescing: .lastWriteWins)
                // A merge into the oldest mutation protects it from being dropped.
                let merged = try await stage.append([.trial("a2", .update, payload: "12345")], rules)
                stage.require(merged.dropped == ["b1"], "\(merged.dropped) are dropped")
                try await stage.append([.trial("c1", payload: "67"), .trial("d1", payload: "8")], rules)
                try await stage.requirePending(["c1", "d1"], "dropped for bytes")
                let totals = try await stage.store.totals()
                stage.require(totals.bytes == 3, "there are \(totals.bytes) bytes instead of 3")
            },
            StoreTrial("the limits ignore dead mutations") { stage in
                let rules = AppendRules(maxCount: 1, maxBytes: 3, overflow: .dropOldest)
                try await stage.append([.trial("a1", payload: "123")], rules)
                try await stage.apply([.died(try await stage.position(of: "a1"), error: "x", rest: .skip)])
                let appended = try await stage.append([.trial("b1", payload: "123")], rules)
                stage.require(appended.dropped.isEmpty, "\(appended.dropped) is dropped")
                try await stage.requireDead(["a1"], "dead ones and limits")
            },
        ]
    }

    static var afterDeath: [StoreTrial] {
        [
            StoreTrial("reviving") { stage in
                try await stage.append(["a1", "a2", "b1", "c1"].map { .trial($0) })
                let positions = try await stage.pending().map(\.position)
                try await stage.apply([.failed(positions[0], error: "x")])
                try await stage.apply(positions[...2].map { .died($0, error: "x", rest: .skip) })
                try await stage.requireHeads(["c1"], "three are dead")
                let none = try await stage.store.revive([positions[3], 0, .max, .min], at: stage.now)
                stage.require(none == 0, "\(none) are revived that are not dead")
                let some = try await stage.store.revive([positions[1], positions[1]], at: stage.now + 60)
                stage.require(some == 1, "\(some) are revived instead of 1")
                try await stage.requireHeads(["a2", "c1"], "one is revived")
                let all = try await stage.store.reviveAll(at: stage.now + 90)
                stage.require(all == 2, "\(all) are revived instead of 2")
                try await stage.reopen()
                try await stage.requirePending(["a1", "a2", "b1", "c1"], "all are revived")
                try await stage.requireHeads(["a1", "b1", "c1"], "all are revived")
                let stored = try await stage.pending()
                stage.require(
                    stored.allSatisfy { $0.failures == 0 && $0.lastError == nil && $0.diedAt == nil },
                    "the revived keep their failures")
                stage.require(
                    stored.map { $0.queuedAt.timeIntervalSince(stage.now) } == [90, 60, 90, 0],
                    "the revived are queued since \(stored.map(\.queuedAt))")
                stage.require(
                    stored.map(\.isAttempted) == [true, false, false, false], "isAttempted has changed")
                try await stage.requireDead([], "all are revived")
            },
            StoreTrial("a mutation is revived before others of its lane") { stage in
                try await stage.append(["a1", "a2", "a3", "a4"].map { .trial($0) })
                let positions = try await stage.pending().map(\.position)
                try await stage.apply(positions[...1].map { .died($0, error: "x", rest: .skip) })
                try await stage.requireHeads(["a3"], "the first two are dead")
                _ = try await stage.store.revive([positions[0]], at: stage.now)
                try await stage.requireHeads(["a1"], "the first is revived")
                try await stage.apply(claiming: [positions[0]])
                let overtaken = try await stage.dead().map(\.isOvertaken)
                stage.require(overtaken == [false], "an earlier one that was attempted overtakes a later one")
                let rest = try await stage.store.reviveAll(evenOvertaken: false, at: stage.now)
                stage.require(rest == 1, "\(rest) are revived behind one that was attempted")
                try await stage.requireHeads(["a1"], "the second is revived")
            },
            StoreTrial("overtaken mutations are reported and skipped") { stage in
                try await stage.append(["a1", "a2", "b1", "b2", "a3"].map { .trial($0) })
                let positions = try await stage.pending().map(\.position)
                try await stage.apply([positions[0], positions[2]].map { .died($0, error: "x", rest: .skip) })
                try await stage.apply([.acknowledged(positions[1])])
                try await stage.reopen()
                let overtaken = try await stage.dead().map(\.isOvertaken)
                stage.require(overtaken == [true, false], "isOvertaken is \(overtaken)")
                let all = try await stage.store.reviveAll(evenOvertaken: false, at: stage.now)
                stage.require(all == 1, "\(all) are revived instead of the one that is not overtaken")
                let one = try await stage.store.revive([positions[0]], evenOvertaken: false, at: stage.now)
                stage.require(one == 0, "an overtaken mutation is revived")
                try await stage.requireHeads(["b1", "a3"], "one is revived")
                let even = try await stage.store.revive([positions[0]], evenOvertaken: true, at: stage.now)
                stage.require(even == 1, "\(even) are revived, even overtaken")
                try await stage.requireHeads(["a1", "b1"], "both are revived")
                // The revived mutation is still older than the delivered one.
                try await stage.apply([.died(positions[0], error: "x", rest: .skip)])
                let still = try await stage.dead().map(\.isOvertaken)
                stage.require(still == [true], "an overtaken mutation no longer is")
            },
            StoreTrial("an attempted later mutation overtakes a dead one") { stage in
                try await stage.append(["a1", "a2", "a3", "b1", "b2", "c1", "c2"].map { .trial($0) })
                let positions = try await stage.pending().map(\.position)
                let (a1, a2, a3, b1, b2, c1) = (
                    positions[0], positions[1], positions[2], positions[3], positions[4], positions[5]
                )
                try await stage.apply([a1, a2, b1, c1].map { .died($0, error: "x", rest: .skip) }, claiming: [a3])
                try await stage.apply([.failed(b2, error: "no answer")])
                try await stage.reopen()
                func require(_ expected: [Bool], _ problem: String) async throws {
                    let found = try await stage.dead().map(\.isOvertaken)
                    stage.require(found == expected, "\(problem): isOvertaken is \(found) instead of \(expected)")
                }
                // a3 is in flight, and the outcome of b2 is unknown; c2 was never sent.
                try await require([true, true, true, false], "later ones were attempted")
                let some = try await stage.store.revive([a1, b1], evenOvertaken: false, at: stage.now)
                stage.require(some == 0, "\(some) are revived though later ones may be on the other side")
                let one = try await stage.store.reviveAll(evenOvertaken: false, at: stage.now)
                stage.require(one == 1, "\(one) are revived instead of the one that is not overtaken")
                try await stage.requireHeads(["a3", "b2", "c1"], "one is revived")
                // Dead mutations overtake nothing.
                try await stage.apply([a3, b2].map { .died($0, error: "x", rest: .skip) })
                try await require([false, false, false, false, false], "the attempted ones are also dead")
                // The store chooses before it revives: at that moment a3, which was attempted, is still dead.
                let all = try await stage.store.revive([a3, a2, a1], evenOvertaken: false, at: stage.now)
                stage.require(all == 3, "\(all) of one lane are revived instead of 3")
                try await stage.requireHeads(["a1", "c1"], "a lane is revived")
                let even = try await stage.store.revive([b1], evenOvertaken: true, at: stage.now)
                stage.require(even == 1, "\(even) are revived, even overtaken")
            },
            StoreTrial("the last to die stay, regardless of the clock") { stage in
                func die(_ ids: [String], _ limits: DeadLimits, after seconds: Double, rest: LaneRule = .skip)
                    async throws -> [String]
                {
                    var changes: [MutationChange] = []
                    for id in ids { changes.append(.died(try await stage.position(of: id), error: "x", rest: rest)) }
                    return try await stage.store.apply(
                        changes, claiming: [], keeping: limits, at: stage.now + seconds
                    ).dropped
                }
                func require(_ dropped: [String], _ expected: [String]) {
                    stage.require(dropped == expected, "\(dropped) are dropped instead of \(expected)")
                }
                // The clock goes back between the deaths.
                try await stage.append(["a1", "b1", "c1", "d1", "e1", "f1"].map { .trial($0) })
                require(try await die(["b1", "c1"], DeadLimits(), after: 1_000), [])
                require(try await die(["a1"], DeadLimits(maxCount: 3), after: 2_000), [])
                require(try await die(["d1"], DeadLimits(maxCount: 3), after: 10), ["b1"])
                try await stage.reopen()
                require(try await die(["e1"], DeadLimits(maxCount: 3), after: 11), ["c1"])
                try await stage.requireDead(["a1", "d1", "e1"], "the clock was set back")
                // A death later than now becomes now.
                let died = try await stage.dead().map { $0.diedAt?.timeIntervalSince(stage.now) }
                stage.require(died == [10, 10, 11], "they died at \(died)")
                require(try await die([], DeadLimits(maxAge: .seconds(60)), after: 70), [])
                require(try await die([], DeadLimits(maxAge: .seconds(60)), after: 71), ["a1", "d1"])
                require(try await die(["f1"], DeadLimits(), after: 100_000), [])
                require(try await die([], DeadLimits(maxAge: .seconds(60)), after: 20), [])
                require(try await die([], DeadLimits(maxAge: .seconds(60)), after: 81), ["e1", "f1"])
                // Dead mutations that block their lanes are dropped in the same order.
                try await stage.append([.trial("g1"), .trial("h1"), .trial("i1")])
                for id in ["h1", "i1", "g1"] {
                    require(try await die([id], DeadLimits(), after: 90, rest: .block), [])
                }
                require(try await die([], DeadLimits(maxCount: 1), after: 90), ["h1", "i1"])
            },
            StoreTrial("limits of dead mutations") { stage in
                func die(_ ids: [String], _ limits: DeadLimits, after seconds: Double, rest: LaneRule = .skip)
                    async throws -> [String]
                {
                    try await stage.append(ids.map { .trial($0, payload: "four") })
                    var changes: [MutationChange] = []
                    for id in ids {
                        changes.append(.died(try await stage.position(of: id), error: "x", rest: rest))
                    }
                    return try await stage.store.apply(
                        changes, claiming: [], keeping: limits, at: stage.now + seconds
                    ).dropped
                }
                func require(_ dropped: [String], _ expected: [String]) {
                    stage.require(dropped == expected, "\(dropped) are dropped instead of \(expected)")
                }
                require(try await die(["a1", "b1"], DeadLimits(maxCount: 2), after: 0, rest: .block), [])
                require(try await die(["c1", "d1"], DeadLimits(maxCount: 3), after: 2), ["c1"])
                try await stage.reopen()
                let died = try await stage.dead().map { $0.diedAt?.timeIntervalSince(stage.now) }
                stage.require(died == [0, 0, 2], "they died at \(died)")
                // Mutations that block their lanes are dropped only when no other is left.
                require(try await die(["e1"], DeadLimits(maxBytes: 15), after: 3), ["d1"])
                require(try await die([], DeadLimits(maxAge: .seconds(10)), after: 13), [])
                require(try await die([], DeadLimits(maxAge: .seconds(10)), after: 14), ["e1"])
                try await stage.append([.trial("a2")])
                try await stage.requireHeads([], "a lane is blocked")
                require(try await die([], DeadLimits(maxBytes: 4), after: 20), ["a1"])
                try await stage.requireHeads(["a2"], "the blocker was dropped")
                require(try await die(["f1"], DeadLimits(maxCount: 0), after: 0), ["f1", "b1"])
                let totals = try await stage.store.totals()
                stage.require(totals.dead == 0 && totals.deadBytes == 0, "the totals are \(totals)")
            },
            StoreTrial("discarding") { stage in
                try await stage.append(["a1", "a2", "b1", "c1"].map { .trial($0) })
                let positions = try await stage.pending().map(\.position)
                try await stage.apply(positions[...2].map { .died($0, error: "x", rest: .block) })
                let none = try await stage.store.discard([positions[3], 0, .max, .min])
                stage.require(none == 0, "\(none) are discarded that are not dead")
                let some = try await stage.store.discard([positions[1], positions[1]])
                stage.require(some == 1, "\(some) are discarded instead of 1")
                try await stage.requireDead(["a1", "b1"], "one is discarded")
                let all = try await stage.store.discardAll()
                stage.require(all == 2, "\(all) are discarded instead of 2")
                try await stage.reopen()
                try await stage.requireDead([], "all are discarded")
                try await stage.requirePending(["c1"], "all are discarded")
                try await stage.append([.trial("a1")])
                try await stage.requireHeads(["c1", "a1"], "a lane that was blocked")
            },
            StoreTrial("reading a mutation by its id") { stage in
                try await stage.append(["a1", "a2", "b1"].map { .trial($0, payload: "of \($0)") })
                try await stage.apply([.died(try await stage.position(of: "a1"), error: "x", rest: .skip)])
                try await stage.apply(claiming: [try await stage.position(of: "a2")])
                try await stage.reopen()
                for expected in try await stage.dead() + stage.pending() {
                    let found = try await stage.store.mutation(expected.mutation.id, cancelling: false)
                    stage.require(found == expected, "it is \(String(describing: found)) instead of \(expected)")
                }
                for id in ["", "a", "A1", "a1\0"] {
                    let found = try await stage.store.mutation(id, cancelling: false)
                    stage.require(found == nil, "\(id.debugDescription) is found")
                }
            },
            StoreTrial("cancelling") { stage in
                try await stage.append(["a1", "a2", "a3", "b1", "b2"].map { .trial($0, payload: "123") })
                let positions = try await stage.pending().map(\.position)
                try await stage.apply([.died(positions[3], error: "x", rest: .skip)], claiming: [positions[0]])
                let before = try await stage.pending().first
                let first = try await stage.store.mutation("a1", cancelling: true)
                stage.require(
                    first == before && first?.isAttempted == true, "it removes \(String(describing: first))")
                for id in ["a1", "b1", "c1"] {
                    let none = try await stage.store.mutation(id, cancelling: true)
                    stage.require(none == nil, "\(id), which is not pending, is removed")
                }
                try await stage.reopen()
                try await stage.requirePending(["a2", "a3", "b2"], "the first is cancelled")
                try await stage.requireHeads(["a2", "b2"], "the first is cancelled")
                try await stage.requireDead(["b1"], "a dead mutation can't be cancelled")
                let totals = try await stage.store.totals()
                stage.require(
                    totals == QueueTotals(pending: 3, bytes: 9, dead: 1, deadBytes: 3, oldest: stage.now),
                    "the totals are \(totals)")
                // The answer comes after the cancellation.
                try await stage.apply([
                    .failed(positions[0], error: "late"), .died(positions[0], error: "late", rest: .killRest),
                    .acknowledged(positions[0]),
                ])
                try await stage.append([.trial("a1")])
                try await stage.requirePending(["a2", "a3", "b2", "a1"], "the id is used again")
                _ = try await stage.store.mutation("a3", cancelling: true)
                try await stage.requireHeads(["a2", "b2"], "a mutation behind the head is cancelled")
                // A mutation that was never sent overtakes nothing.
                _ = try await stage.store.mutation("b2", cancelling: true)
                var overtaken = try await stage.dead().map(\.isOvertaken)
                stage.require(overtaken == [false], "a mutation that was never sent overtakes")
                try await stage.append([.trial("b3")])
                try await stage.apply(claiming: [try await stage.position(of: "b3")])
                _ = try await stage.store.mutation("b3", cancelling: true)
                overtaken = try await stage.dead().map(\.isOvertaken)
                stage.require(overtaken == [true], "a cancelled mutation that may have been sent overtakes nothing")
                try await stage.append([.trial("c1"), .trial("c2")])
                try await stage.apply([.died(try await stage.position(of: "c1"), error: "x", rest: .block)])
                _ = try await stage.store.mutation("c2", cancelling: true)
                try await stage.append([.trial("c3")])
                try await stage.requireHeads(["a2"], "a lane stays blocked")
            },
            StoreTrial("clearing overtakes as cancelling does") { stage in
                try await stage.append(["a1", "a2", "a3", "b1", "b2", "c1", "c2"].map { .trial($0) })
                let positions = try await stage.pending().map(\.position)
                try await stage.apply(
                    [positions[0], positions[2], positions[3], positions[5]].map {
                        .died($0, error: "x", rest: .skip)
                    }, claiming: [positions[1], positions[4]])
                _ = try await stage.store.removePending()
                try await stage.reopen()
                let overtaken = try await stage.dead().map(\.isOvertaken)
                stage.require(
                    overtaken == [true, false, true, false],
                    "isOvertaken is \(overtaken)")
            },
            StoreTrial("clearing") { stage in
                try await stage.append(["a1", "a2", "b1", "c1"].map { .trial($0) })
                try await stage.apply([.died(try await stage.position(of: "a1"), error: "x", rest: .block)])
                try await stage.apply(claiming: [try await stage.position(of: "b1")])
                let removed = try await stage.store.removePending()
                stage.require(removed == 3, "\(removed) are removed instead of 3")
                try await stage.reopen()
                try await stage.requirePending([], "clearing")
                try await stage.requireDead(["a1"], "clearing")
                try await stage.append([.trial("a2"), .trial("b1")])
                try await stage.requireHeads(["b1"], "clearing leaves a lane blocked")
            },
        ]
    }
}

extension StoreStage {
    /// Each task appends to its own lane and to a shared one, and claims from its own.
    func crowd(tasks: Int) async throws {
        let rounds = 5
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<tasks {
                group.addTask { [self] in
                    for round in 0..<rounds {
                        let own = Mutation(id: "\(task).\(round)", entity: "\(task)", kind: "own", payload: Data([1]))
                        let shared = Mutation(
                            id: "\(task).\(round) shared", entity: "shared", kind: "shared", payload: Data([1]))
                        try await append([own, shared])
                        let head = try await heads().first { $0.entity == own.entity }
                        require(head?.id == own.id, "a task does not find its own mutation")
                        let claimed = try await apply(claiming: [head?.position ?? 0])
                        require(claimed.map(\.mutation) == [own], "a task claims \(claimed)")
                        try await apply([.acknowledged(head?.position ?? 0)])
                    }
                }
            }
            try await group.waitForAll()
        }
        let left = try await pending().map(\.mutation.id)
        require(left.count == tasks * rounds, "\(left.count) are left instead of \(tasks * rounds)")
        for task in 0..<tasks {
            let own = left.filter { $0.hasPrefix("\(task).") }
            require(own == (0..<rounds).map { "\(task).\($0) shared" }, "one task's mutations are in another order")
        }
        let totals = try await store.totals()
        require(totals.pending == left.count && totals.bytes == left.count, "the totals are \(totals)")
    }
}
