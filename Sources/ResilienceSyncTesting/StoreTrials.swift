import ResilienceSync

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One test of a store.
struct StoreTrial<Store: MutationStore>: Sendable {
    let name: String
    let body: @Sendable (StoreStage<Store>) async throws -> Void

    init(_ name: String, _ body: @escaping @Sendable (StoreStage<Store>) async throws -> Void) {
        self.name = name
        self.body = body
    }

    static func all(steps: Int, tasks: Int, seed: UInt64) -> [StoreTrial] {
        contents + lanes + waiting + urgent + coalescing + limits + afterDeath + [
            StoreTrial("many tasks at the same time") { try await $0.crowd(tasks: tasks) },
            StoreTrial("a random walk beside a model") { stage in
                var walk = StoreWalk(stage, seed: seed)
                try await walk.run(steps: steps)
            },
        ]
    }

    // MARK: Contents

    private static var contents: [StoreTrial] {
        [
            StoreTrial("an empty store") { stage in
                try await stage.append([])
                try await stage.requirePending([], "an empty store")
                try await stage.requireDead([], "an empty store")
                try await stage.requireHeads([], "an empty store")
                let totals = try await stage.store.totals()
                stage.require(totals == QueueTotals(), "the totals are \(totals)")
                let removed = try await stage.store.removePending()
                stage.require(removed == 0, "\(removed) are removed from an empty store")
            },
            StoreTrial("order") { stage in
                let mutations = (0..<50).map { Mutation.trial("a\($0)", .update, payload: "\($0)") }
                let appended = try await stage.append(Array(mutations[..<20]))
                try await stage.append(Array(mutations[20...]))
                try await stage.reopen()
                let stored = try await stage.pending()
                stage.require(appended.added == 20, "\(appended.added) were added instead of 20")
                stage.require(stored.map(\.mutation) == mutations, "the mutations or their order have changed")
                stage.require(
                    stored.allSatisfy { stored in
                        stored.queuedAt == stage.now && !stored.isAttempted && stored.failures == 0
                            && stored.lastError == nil
                    }, "a new mutation has attempts, failures or another date")
            },
            StoreTrial("entities with pending mutations") { stage in
                try await stage.append([.trial("a1"), .trial("b1"), .trial("é1"), .trial("c1")])
                let heads = try await stage.heads().map(\.position)
                _ = try await stage.store.apply(
                    [.acknowledged(heads[0]), .died(heads[1], error: "error", rest: .block)], claiming: [heads[2]])
                let entities = ["c", "b", "a", "d", "é"]
                let found = try await stage.store.pendingEntities(among: entities)
                stage.require(found == ["c", "é"], "of \(entities), \(found) have pending mutations")
                let none = try await stage.store.pendingEntities(among: [])
                stage.require(none == [], "of no entities, \(none) have pending mutations")
            },
            StoreTrial("sealing") { stage in
                try await stage.append([.trial("a1", .update), .trial("b1", .update), .trial("d1", .update)])
                let last = try await stage.store.seal()
                try await stage.reopen()
                let appended = try await stage.append(
                    [.trial("a2", .update, payload: "new"), .trial("a3", .update, payload: "newer"), .trial("c1")],
                    AppendRules())
                stage.require(appended.merges.map(\.into) == ["a2"], "the merges are \(appended.merges)")
                let removed = try await stage.store.removePending(stage.store.pendingPositions().filter { $0 <= last })
                stage.require(removed == 3, "\(removed) are removed instead of the 3 sealed ones")
                try await stage.reopen()
                try await stage.requirePending(["a2", "c1"], "appended after the sealing")
                try await stage.requireHeads(["a2", "c1"], "appended after the sealing")
            },
            StoreTrial("the sending lock") { stage in
                let (one, other) = (UUID(), UUID())
                for (queue, expected) in [(one, SendingLock.taken), (one, .takenAgain), (other, .denied)] {
                    let lock = try await stage.store.lock(for: queue)
                    stage.require(lock == expected, "the lock is \(lock) instead of \(expected)")
                }
                await stage.store.unlock(for: other)
                let still = try await stage.store.lock(for: other)
                stage.require(still == .denied, "a queue gives back another's lock")
                for (queue, expected) in [(one, SendingLock.takenAgain), (other, .taken), (one, .taken)] {
                    let lock = try await stage.store.lock(for: queue)
                    stage.require(lock == expected, "the lock given back is \(lock) instead of \(expected)")
                    await stage.store.unlock(for: queue)
                    await stage.store.unlock(for: queue)
                }
            },
            StoreTrial("pages") { stage in
                try await stage.append((0..<5).map { Mutation.trial("\(["a", "b", "c", "d", "e"][$0])1") })
                let positions = try await stage.pending().map(\.position)
                stage.require(
                    positions == positions.sorted() && Set(positions).count == 5, "positions are \(positions)")
                guard positions.count == 5 else { return }
                let store = stage.store
                let page = try await store.pending(after: positions[1], limit: 2).map(\.position)
                stage.require(page == Array(positions[2...3]), "a page after a position is not the next ones")
                let heads = try await store.heads(after: positions[1], limit: 2, at: stage.now).heads.map(\.position)
                stage.require(heads == Array(positions[2...3]), "a page of heads is not the next ones")
                for end in [positions[4], .max] {
                    let page = try await store.pending(after: end, limit: 2)
                    stage.require(page.isEmpty, "there is a page after the last")
                }
                try await stage.apply(positions.map { .died($0, error: "x", rest: .skip) })
                let dead = try await store.dead(after: positions[1], limit: 2).map(\.position)
                stage.require(dead == Array(positions[2...3]), "a page of dead mutations is not the next ones")
            },
            StoreTrial("huge, zero and negative limits of a page") { stage in
                try await stage.append([.trial("a1"), .trial("b1")])
                try await stage.apply([.died(try await stage.position(of: "b1"), error: "x", rest: .skip)])
                for limit in [0, -1, Int.min, Int.max] {
                    let counts = [
                        try await stage.store.pending(after: .min, limit: limit).count,
                        try await stage.store.dead(after: .min, limit: limit).count,
                        try await stage.store.heads(after: .min, limit: limit, at: stage.now).heads.count,
                    ]
                    let expected = limit > 0 ? [1, 1, 1] : [0, 0, 0]
                    stage.require(counts == expected, "with the limit \(limit) pages hold \(counts)")
                }
            },
            StoreTrial("duplicate ids are skipped, and the others are added") { stage in
                try await stage.append([.trial("a1"), .trial("d1")])
                try await stage.apply([.died(try await stage.position(of: "d1"), error: "x", rest: .skip)])
                func requireDuplicates(_ twice: [String], of mutations: [Mutation], _ rules: AppendRules) async throws {
                    let result = try await stage.append(mutations, rules)
                    let ids = mutations.map(\.id)
                    stage.require(
                        result.duplicates == twice && result.added == ids.count - twice.count && result.merges.isEmpty,
                        "\(ids) give \(result)")
                }
                let apart = AppendRules(coalescing: .off)
                var pending = ["a1"]
                for (ids, twice) in [
                    (["b1", "a1", "c1"], ["a1"]), (["d1"], ["d1"]), (["d1", "e1", "a1"], ["d1", "a1"]),
                    (["f1", "g1", "f1"], ["f1"]),
                ] {
                    try await requireDuplicates(twice, of: ids.map { .trial($0) }, apart)
                    pending += Set(ids).subtracting(twice == ["f1"] ? [] : twice).sorted()
                    try await stage.requirePending(pending, "after \(ids)")
                }
                // A duplicate is skipped even if coalescing would leave only one of the two.
                try await requireDuplicates(
                    ["h1"], of: [.trial("h1", .update), .trial("h1", .update)], AppendRules())
                try await stage.requirePending(pending + ["h1"], "after the same update twice")
                // A duplicate is skipped even if this append coalesces the first one away. A taken id is not coalesced.
                try await stage.append([.trial("j1", .create), .trial("k1", .create)])
                let away = try await stage.append([.trial("j2", .delete), .trial("j1", .create)], AppendRules())
                stage.require(
                    away.duplicates == ["j1"] && away.merges == [.init(id: "j2", into: "j1", cancelsOut: true)],
                    "a mutation that is coalesced away, and its id again, give \(away)")
                let taken = Mutation(id: "a1", entity: "k", kind: "kind", operation: .delete, idempotencyKey: "key")
                try await requireDuplicates(["a1"], of: [taken], AppendRules())
                try await stage.requirePending(pending + ["h1", "k1"], "after ids that were taken")
                pending += ["h1", "k1"]
                // If the mutations without the duplicate exceed the limit, all are rejected.
                let count = pending.count
                await stage.requireError(.full(count: count + 2, bytes: 0), "one more than the limit") {
                    try await stage.append(
                        [.trial("a1"), .trial("i1"), .trial("i2")], AppendRules(maxCount: count + 1))
                }
                try await stage.requirePending(pending, "after a list that was rejected")
            },
            StoreTrial("earlier failures of a mutation") { stage in
                func failed(_ id: String, _ failures: Int) -> Mutation {
                    Mutation(
                        id: id, entity: "a", kind: "kind", operation: .update, idempotencyKey: "key",
                        earlierFailures: failures)
                }
                // A mutation with failures coalesces with nothing.
                let result = try await stage.append(
                    [failed("a1", 0), failed("a2", 3), failed("a3", 0), failed("a4", .max)], AppendRules())
                stage.require(result.added == 4, "a mutation with failures is coalesced: \(result)")
                let pending = try await stage.pending()
                stage.require(
                    pending.map(\.failures) == [0, 3, 0, .max]
                        && pending.allSatisfy {
                            $0.isAttempted == ($0.failures > 0) && $0.mutation.earlierFailures == 0
                        },
                    "failures are not kept: \(pending)")
                try await stage.apply([.failed(try await stage.position(of: "a2"), error: "503")])
                let failures = try await stage.pending().map(\.failures)
                stage.require(failures == [0, 4, 0, .max], "with one more, the failures are \(failures)")
            },
            StoreTrial("an id that is free again") { stage in
                try await stage.append([.trial("a1"), .trial("b1")])
                try await stage.apply([
                    .acknowledged(try await stage.position(of: "a1")),
                    .died(try await stage.position(of: "b1"), error: "x", rest: .skip),
                ])
                _ = try await stage.store.discardAll()
                try await stage.append([.trial("a1"), .trial("b1")])
                try await stage.requirePending(["a1", "b1"], "appended again")
            },
            StoreTrial("positions are never given twice") { stage in
                var highest = Int64.min
                for round in 0..<4 {
                    try await stage.append((0..<3).map { .trial("a\($0)") })
                    let positions = try await stage.pending().map(\.position)
                    stage.require(
                        positions.allSatisfy { $0 > highest }, "a position is not above all earlier ones")
                    highest = positions.max() ?? highest
                    if round % 2 == 0 {
                        try await stage.apply(positions.map { .acknowledged($0) })
                    } else {
                        _ = try await stage.store.removePending()
                    }
                    try await stage.reopen()
                }
            },
            StoreTrial("texts of any characters") { stage in
                let texts = [
                    "", "a\0b", "a\0c", "a", "\0", "\u{FEFF}a\0b", "👩‍👩‍👧‍👦", "\u{E9}", "e\u{301}", "\u{FEFF}a",
                    "'; DROP TABLE mutation; --", "\u{FFFF}\u{10FFFF}", "\n\r\t",
                ]
                // Each text is its own lane, although some texts look alike.
                try await stage.append(
                    texts.map {
                        Mutation(
                            id: $0, entity: $0, kind: $0, operation: .update, payload: Data($0.utf8),
                            idempotencyKey: $0, createdAt: stage.now)
                    }, AppendRules())
                let positions = try await stage.pending().map(\.position)
                try await stage.apply(positions.map { .failed($0, error: texts[positions.firstIndex(of: $0) ?? 0]) })
                for text in texts { try await stage.store.set(text, to: text) }
                try await stage.reopen()
                for (text, stored) in zip(texts, try await stage.pending()) {
                    let mutation = stored.mutation
                    let found = [
                        mutation.id, mutation.entity, mutation.kind, mutation.idempotencyKey, stored.lastError ?? "nil",
                        try await stage.store.setting(text) ?? "nil",
                    ]
                    stage.require(
                        found.allSatisfy { $0.utf8.elementsEqual(text.utf8) }, "\(text.debugDescription) is \(found)")
                }
                let count = try await stage.heads().count
                stage.require(count == texts.count, "there are \(count) lanes instead of \(texts.count)")
                for text in texts {
                    let again = try await stage.append([Mutation(id: text, entity: "other", kind: "", payload: Data())])
                    stage.require(
                        again.duplicates.map { Array($0.utf8) } == [Array(text.utf8)],
                        "\(text.debugDescription) again gives \(again)")
                }
            },
            StoreTrial("payloads byte by byte, dates to the last bit") { stage in
                let dates = [
                    Date(timeIntervalSinceReferenceDate: 0.1), Date(timeIntervalSince1970: 1_700_000_000.123_456),
                    .distantPast, .distantFuture,
                ]
                for (number, size) in [0, 1, 4_096, 1_000_000].enumerated() {
                    let payload = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
                    let mutation = Mutation(
                        id: "\(size)", entity: "\(size)", kind: "k", payload: payload, createdAt: dates[number])
                    _ = try await stage.store.append([mutation], under: AppendRules(), at: dates[number])
                    let stored = try await stage.pending().last
                    stage.require(stored?.mutation == mutation, "a payload of \(size) bytes or its date has changed")
                    stage.require(stored?.queuedAt == dates[number], "\(dates[number]) has changed")
                }
            },
            StoreTrial("settings") { stage in
                var found = try await stage.store.setting("x")
                stage.require(found == nil, "a setting that was never set is there")
                for value in ["1", "", "2", nil, "3"] {
                    try await stage.store.set("x", to: value)
                    try await stage.store.set("y", to: "other")
                    try await stage.reopen()
                    found = try await stage.store.setting("x")
                    stage.require(found == value, "a setting is \(found ?? "nil") instead of \(value ?? "nil")")
                }
                _ = try await stage.store.removePending()
                found = try await stage.store.setting("y")
                stage.require(found == "other", "a setting is removed with the pending mutations")
            },
            StoreTrial("totals") { stage in
                try await stage.append([.trial("a1", payload: "123"), .trial("b1", payload: "4567")])
                _ = try await stage.store.append(
                    [.trial("c1", payload: "é")], under: AppendRules(), at: stage.now + 60)
                func expect(_ totals: QueueTotals, _ problem: String) async throws {
                    try await stage.reopen()
                    let found = try await stage.store.totals()
                    stage.require(found == totals, "\(problem) the totals are \(found) instead of \(totals)")
                }
                try await expect(QueueTotals(pending: 3, bytes: 9, dead: 0, oldest: stage.now), "of three")
                let positions = try await stage.pending().map(\.position)
                try await stage.apply([
                    .acknowledged(positions[0]), .died(positions[1], error: "x", rest: .block),
                ])
                try await expect(
                    QueueTotals(pending: 1, bytes: 2, dead: 1, deadBytes: 4, oldest: stage.now + 60),
                    "after one is dead")
                _ = try await stage.store.reviveAll(at: stage.now + 90)
                try await expect(
                    QueueTotals(pending: 2, bytes: 6, dead: 0, oldest: stage.now + 90), "after it is revived")
                _ = try await stage.store.removePending()
                try await expect(QueueTotals(), "after clearing")
            },
        ]
    }

    // MARK: Lanes

    private static var lanes: [StoreTrial] {
        [
            StoreTrial("heads") { stage in
                try await stage.append(["a1", "b1", "a2", "c1", "b2"].map { .trial($0, kind: "kind of \($0)") })
                let first = try await stage.heads().first
                stage.require(
                    first?.entity == "a" && first?.kind == "kind of a1" && first?.queuedAt == stage.now
                        && first?.failures == 0, "the first head is \(String(describing: first))")
                try await stage.requireHeads(["a1", "b1", "c1"], "of three lanes")
                try await stage.apply([.failed(try await stage.position(of: "b1"), error: "x")])
                let failures = try await stage.heads().map(\.failures)
                stage.require(failures == [0, 1, 0], "the heads have failed \(failures) times")
                try await stage.apply([.acknowledged(try await stage.position(of: "a1"))])
                try await stage.requireHeads(["b1", "a2", "c1"], "after the first was acknowledged")
                try await stage.apply([.acknowledged(try await stage.position(of: "b2"))])
                try await stage.requireHeads(["b1", "a2", "c1"], "after one behind a head was acknowledged")
                try await stage.append([.trial("a3"), .trial("d1")])
                try await stage.requireHeads(["b1", "a2", "c1", "d1"], "after more were appended")
                _ = try await stage.store.removePending()
                try await stage.requireHeads([], "after clearing")
            }
        ]
            + LaneRule.allCases.map { rule in
                StoreTrial("a head dies: \(rule)") { stage in
                    try await stage.append(["a1", "b1", "a2", "a3"].map { .trial($0) })
                    try await stage.apply([.failed(try await stage.position(of: "a1"), error: "first")])
                    try await stage.apply([.died(try await stage.position(of: "a1"), error: "why", rest: rule)])
                    try await stage.reopen()
                    switch rule {
                    case .skip:
                        try await stage.requirePending(["b1", "a2", "a3"], "\(rule)")
                        try await stage.requireHeads(["b1", "a2"], "\(rule)")
                    case .block:
                        try await stage.requirePending(["b1", "a2", "a3"], "\(rule)")
                        try await stage.requireHeads(["b1"], "\(rule)")
                    case .killRest:
                        try await stage.requirePending(["b1"], "\(rule)")
                        try await stage.requireDead(["a1", "a2", "a3"], "\(rule)")
                    }
                    let dead = try await stage.dead()
                    stage.require(dead.allSatisfy { $0.lastError == "why" }, "a dead mutation lacks its error")
                    stage.require(dead.first?.failures == 1, "the death counts as a failure")
                    stage.require(
                        dead.dropFirst().allSatisfy { $0.failures == 0 && !$0.isAttempted },
                        "a mutation that died behind it has failures or attempts")
                    // A mutation that is appended now does not die with the others.
                    try await stage.append([.trial("a4")])
                    let heads = rule == .skip ? ["b1", "a2"] : rule == .block ? ["b1"] : ["b1", "a4"]
                    try await stage.requireHeads(heads, "\(rule), and one more appended")
                }
            } + [
                StoreTrial("a lane is blocked until all its blockers are gone") { stage in
                    try await stage.append(["a1", "a2", "a3"].map { .trial($0) })
                    let positions = try await stage.pending().map(\.position)
                    try await stage.apply(positions[...1].map { .died($0, error: "x", rest: .block) })
                    try await stage.requireHeads([], "two block the lane")
                    _ = try await stage.store.discard([positions[0]])
                    try await stage.requireHeads([], "one still blocks the lane")
                    _ = try await stage.store.revive([positions[1]], at: stage.now)
                    try await stage.requireHeads(["a2"], "the last that blocked is revived")
                    try await stage.apply([.died(positions[1], error: "x", rest: .block)])
                    try await stage.requireHeads([], "it blocks the lane again")
                    _ = try await stage.store.discardAll()
                    try await stage.requireHeads(["a3"], "the last that blocked is discarded")
                },
                StoreTrial("a dead mutation blocks its lane although a later one was delivered, until it is gone") {
                    stage in
                    try await stage.append(["a1", "a2"].map { .trial($0) })
                    let positions = try await stage.pending().map(\.position)
                    // These changes come together, like the answers to a batch.
                    try await stage.apply([
                        .died(positions[0], error: "x", rest: .block), .acknowledged(positions[1]),
                    ])
                    try await stage.append([.trial("a3")])
                    try await stage.requireHeads([], "the lane is blocked by one that is overtaken")
                    _ = try await stage.store.discard([positions[0]])
                    try await stage.requireHeads(["a3"], "the one that blocked is discarded")
                },
                StoreTrial("a mutation behind the head dies") { stage in
                    try await stage.append(["a1", "a2", "a3"].map { .trial($0) })
                    let positions = try await stage.pending().map(\.position)
                    try await stage.apply([.died(positions[1], error: "x", rest: .killRest)])
                    try await stage.requirePending(["a1"], "the rest dies with the second")
                    try await stage.requireHeads(["a1"], "the rest dies with the second")
                    _ = try await stage.store.reviveAll(at: stage.now)
                    try await stage.apply([.died(positions[1], error: "x", rest: .block)])
                    try await stage.requireHeads([], "the second blocks the lane")
                },
                StoreTrial("changes are made in order") { stage in
                    try await stage.append([.trial("a1")])
                    let position = try await stage.position(of: "a1")
                    try await stage.apply([
                        .failed(position, error: "one"), .failed(position, error: "two"),
                        .died(position, error: "three", rest: .skip), .failed(position, error: "four"),
                        .acknowledged(position),
                    ])
                    let dead = try await stage.dead().first
                    stage.require(
                        dead?.failures == 2 && dead?.lastError == "three" && dead?.isAttempted == true,
                        "after five changes it is \(String(describing: dead))")
                },
                StoreTrial("changes to mutations that are not pending do nothing") { stage in
                    try await stage.append([.trial("a1"), .trial("b1"), .trial("c1")])
                    let positions = try await stage.pending().map(\.position)
                    try await stage.apply([
                        .acknowledged(positions[0]), .died(positions[1], error: "why", rest: .block),
                    ])
                    let before = try await stage.store.totals()
                    for position in [positions[0], positions[1], 0, .min, .max] {
                        let claimed = try await stage.apply(
                            [
                                .failed(position, error: "late"), .died(position, error: "late", rest: .skip),
                                .acknowledged(position),
                            ], claiming: [position])
                        stage.require(claimed.isEmpty, "a mutation that is not pending is claimed")
                    }
                    let after = try await stage.store.totals()
                    stage.require(after == before, "the totals are \(after) instead of \(before)")
                    try await stage.requirePending(["c1"], "after late changes")
                    let dead = try await stage.dead()
                    stage.require(dead.map(\.lastError) == ["why"], "a dead mutation has changed")
                },
                StoreTrial("claims") { stage in
                    try await stage.append(["a1", "b1", "c1"].map { .trial($0, .update) })
                    try await stage.append([.trial("b2")])
                    // A mutation that is not a head is not claimed.
                    let positions = try await stage.pending().map(\.position)
                    let claimed = try await stage.apply(
                        [.acknowledged(positions[0]), .failed(positions[2], error: "x")], claiming: positions.reversed()
                    )
                    stage.require(
                        claimed.map(\.mutation.id) == ["c1", "b1"],
                        "\(claimed.map(\.mutation.id)) are claimed, not the heads in the requested order")
                    stage.require(claimed.map(\.failures) == [1, 0], "a claimed mutation lacks the changes")
                    stage.require(claimed.allSatisfy(\.isAttempted), "a claimed mutation is not attempted")
                    try await stage.reopen()
                    let stored = try await stage.pending()
                    stage.require(
                        stored.map(\.isAttempted) == [true, true, false], "others than the claimed are attempted")
                },
                StoreTrial("claims without an answer") { stage in
                    try await stage.append(["a1", "b1", "c1", "d1"].map { .trial($0) })
                    let positions = try await stage.pending().map(\.position)
                    func expect(_ claims: [Int], _ problem: String) async throws {
                        let found = try await stage.heads().map(\.claims)
                        stage.require(
                            found == claims, "\(problem), the heads' claims are \(found) instead of \(claims)")
                        let pending = try await stage.pending().map(\.claims)
                        stage.require(pending == claims, "\(problem), the claims are \(pending) instead of \(claims)")
                    }
                    let first = try await stage.apply(claiming: [positions[1], positions[0]])
                    try await stage.reopen()
                    let second = try await stage.apply(claiming: positions)
                    stage.require(
                        first.map(\.claims) == [1, 1] && second.map(\.claims) == [2, 2, 1, 1],
                        "the claimed mutations have \(first.map(\.claims)), then \(second.map(\.claims)) claims")
                    try await stage.reopen()
                    try await expect([2, 2, 1, 1], "after a restart")
                    try await stage.apply([.answered(positions[0]), .failed(positions[2], error: "x")])
                    try await expect([0, 2, 0, 1], "after two answers")
                    let failures = try await stage.heads().map(\.failures)
                    stage.require(failures == [0, 0, 1, 0], "an answer that doesn't count is a failure: \(failures)")
                    try await stage.apply([.died(positions[1], error: "x", rest: .skip)])
                    let dead = try await stage.dead().map(\.claims)
                    stage.require(dead == [2], "the dead mutation has \(dead) claims")
                    _ = try await stage.store.reviveAll(evenOvertaken: true, at: stage.now)
                    try await expect([0, 0, 0, 1], "after it is revived")
                },
                StoreTrial("a claim returns merges since the head was found") { stage in
                    try await stage.append([.trial("a1", .update, payload: "old")], AppendRules())
                    _ = try await stage.pending()
                    let head = try await stage.heads().first
                    try await stage.append([.trial("a2", .update, payload: "new")], AppendRules())
                    let claimed = try await stage.apply(claiming: [head?.position ?? 0])
                    stage.require(
                        claimed.map { String(decoding: $0.mutation.payload, as: UTF8.self) } == ["new"],
                        "an old payload is claimed")
                },
            ]
    }
}
