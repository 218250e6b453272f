import ResilienceSync

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Mutations that must not be sent before a date.
extension StoreTrial {
    static var waiting: [StoreTrial] {
        [
            StoreTrial("before its date, neither a mutation nor those behind it are heads") { stage in
                let date = stage.now + 60
                try await stage.append([.trial("a1", notBefore: date), .trial("a2"), .trial("b1")])
                try await stage.append([.trial("a3")])
                try await stage.reopen()
                try await stage.requireHeads(["b1"], at: date - 0.001, "before the date")
                let before = try await stage.pending()
                stage.require(before.map(\.mutation.notBefore) == [date, nil, nil, nil], "the date is not kept")
                let totals = try await stage.store.totals()
                stage.require(totals.nextDue == date, "the next is due \(String(describing: totals.nextDue))")
                let early = try await stage.apply(claiming: before.map(\.position))
                stage.require(early.map(\.mutation.id) == ["b1"], "claimed is \(early.map(\.mutation.id))")
                try await stage.requireHeads(["a1", "b1"], at: date, "on the date")
                try await stage.reopen()
                // The mutations stay due, even if the clock goes back.
                try await stage.requireHeads(["a1", "b1"], "after the date")
                let after = try await stage.pending().first
                stage.require(
                    after?.mutation.notBefore == nil && after?.queuedAt == date,
                    "it is queued since \(String(describing: after?.queuedAt))")
                let next = try await stage.store.totals().nextDue
                stage.require(next == nil, "the next is due \(String(describing: next))")
                let claimed = try await stage.apply(claiming: before.map(\.position))
                stage.require(claimed.map(\.mutation.id) == ["a1", "b1"], "claimed is \(claimed.map(\.mutation.id))")
                try await stage.apply([.acknowledged(before[0].position)])
                try await stage.requireHeads(["a2", "b1"], "behind one that waited")
            },
            StoreTrial("a mutation behind others is a head once its date and its turn have come") { stage in
                let date = stage.now + 60
                try await stage.append([.trial("a1"), .trial("a2", notBefore: date), .trial("a3")])
                let positions = try await stage.pending().map(\.position)
                try await stage.requireHeads(["a1"], "the first does not wait")
                try await stage.apply([.acknowledged(positions[0])])
                try await stage.requireHeads([], at: date - 1, "its turn has come")
                try await stage.append([.trial("a4"), .trial("b1")])
                try await stage.requireHeads(["b1"], at: date - 1, "more is behind it")
                try await stage.requireHeads(["a2", "b1"], at: date, "its date has come, too")
                try await stage.append([.trial("c1"), .trial("c2", notBefore: date)])
                try await stage.requireHeads(["a2", "b1", "c1"], at: date, "its date has come first")
                try await stage.apply([.acknowledged(try await stage.position(of: "c1"))])
                try await stage.requireHeads(["a2", "b1", "c2"], "then its turn")
            },
            StoreTrial("past, distant and invalid dates") { stage in
                let numbers: [(String, Double)] = [
                    ("a", 0), ("b", -1e300), ("c", -.infinity), ("d", .nan), ("e", 1e300), ("f", .infinity),
                ]
                try await stage.append(
                    numbers.map { .trial("\($0)1", notBefore: Date(timeIntervalSinceReferenceDate: $1)) })
                try await stage.append([
                    .trial("g1", notBefore: stage.now), .trial("h1", notBefore: .distantFuture),
                    .trial("i1", notBefore: .distantPast),
                ])
                try await stage.reopen()
                try await stage.requireHeads(["a1", "b1", "c1", "d1", "g1", "i1"], "a few dates")
                let dates = try await stage.pending().compactMap(\.mutation.notBefore)
                stage.require(
                    dates == [1e300, .infinity].map(Date.init(timeIntervalSinceReferenceDate:)) + [.distantFuture],
                    "those that wait have the dates \(dates)")
                let next = try await stage.store.totals().nextDue
                stage.require(next == .distantFuture, "the next is due \(String(describing: next))")
            },
            StoreTrial("a mutation with a later date is not coalesced with the one before it") { stage in
                let date = stage.now + 60
                func append(_ name: String, _ first: (Mutation.Operation, Date?), _ then: (Mutation.Operation, Date?))
                    async throws
                {
                    try await stage.append([.trial("\(name)1", first.0, notBefore: first.1)], AppendRules())
                    try await stage.append(
                        [.trial("\(name)2", then.0, payload: "new", notBefore: then.1)], AppendRules())
                }
                try await append("a", (.update, nil), (.update, date))
                try await append("b", (.update, date), (.update, nil))
                try await append("c", (.update, date), (.update, date - 1))
                try await append("d", (.update, date), (.update, date + 1))
                try await append("e", (.create, date), (.delete, stage.now - 1))
                try await append("f", (.create, nil), (.delete, date))
                // A past date is ignored.
                try await append("g", (.update, nil), (.update, stage.now))
                try await stage.requirePending(["a1", "a2", "b1", "c1", "d1", "d2", "f1", "f2", "g1"], "dates differ")
                let pending = try await stage.pending()
                stage.require(
                    pending.map(\.mutation.notBefore) == [nil, date, date, date, date, date + 1, nil, date, nil],
                    "the dates are \(pending.map(\.mutation.notBefore))")
                stage.require(
                    pending[2].mutation.payload == Data("new".utf8), "the later content is not sent on the date")
                try await stage.requireHeads(["a1", "f1", "g1"], "dates differ")
                try await stage.requireHeads(["a1", "b1", "c1", "d1", "f1", "g1"], at: date, "the date has come")
                // b2 was merged into b1 before the date; b3 is merged after it.
                try await stage.append([.trial("b3", .update)], AppendRules())
                let merged = try await stage.pending().first { $0.mutation.id == "b1" }
                stage.require(
                    merged?.queuedAt == stage.now, "the due mutation is queued since \(String(describing: merged))")
            },
            StoreTrial("dead and revived mutations wait for no date") { stage in
                let date = stage.now + 60
                try await stage.append([
                    .trial("a1"), .trial("a2", notBefore: date), .trial("b1"), .trial("b2", notBefore: date),
                    .trial("c1", notBefore: date), .trial("c2"),
                ])
                let positions = try await stage.pending().map(\.position)
                try await stage.apply([
                    .died(positions[0], error: "x", rest: .killRest), .died(positions[2], error: "x", rest: .block),
                    .died(positions[4], error: "x", rest: .skip),
                ])
                try await stage.requireHeads(["c2"], "three are dead")
                let dates = try await stage.dead().map(\.mutation.notBefore)
                stage.require(dates == [nil, nil, nil, nil], "the dead have the dates \(dates)")
                try await stage.requireHeads(["c2"], at: date, "a lane is blocked, and its date has come")
                _ = try await stage.store.discard([positions[2]])
                try await stage.requireHeads(["b2", "c2"], "nothing blocks it any more")
                _ = try await stage.store.reviveAll(at: stage.now)
                try await stage.requireHeads(["a1", "b2", "c1"], "the dead are revived")
                try await stage.apply([.acknowledged(positions[0])])
                try await stage.requireHeads(["a2", "b2", "c1"], "one that waited is revived")
                // d1 is older than d2, which waits.
                try await stage.append([.trial("d1"), .trial("d2", notBefore: stage.now + 90)])
                try await stage.apply([.died(try await stage.position(of: "d1"), error: "x", rest: .skip)])
                try await stage.requireHeads(["a2", "b2", "c1"], "the next waits")
                _ = try await stage.store.reviveAll(at: stage.now)
                try await stage.requireHeads(["a2", "b2", "c1", "d1"], "one before it is revived")
                try await stage.apply([.died(try await stage.position(of: "d1"), error: "x", rest: .skip)])
                try await stage.requireHeads(["a2", "b2", "c1"], "it is dead again")
            },
            StoreTrial("after a waiting mutation is removed, the next of its lane need not wait") { stage in
                let date = stage.now + 60
                for (name, remove) in [
                    ("a", { _ = try await stage.store.mutation("a1", cancelling: true) }),
                    ("b", { _ = try await stage.store.removePending([try await stage.position(of: "b1")]) }),
                    (
                        "c",
                        {
                            // Attempted mutations are not dropped.
                            for id in ["a2", "b2"] {
                                try await stage.apply(claiming: [try await stage.position(of: id)])
                            }
                            try await stage.append([.trial("d1")], AppendRules(maxCount: 4, overflow: .dropOldest))
                        }
                    ),
                ] as [(String, () async throws -> Void)] {
                    let before = try await stage.heads().map(\.id)
                    try await stage.append([.trial("\(name)1", notBefore: date), .trial("\(name)2")])
                    try await stage.requireHeads(before, "one waits")
                    try await remove()
                    try await stage.requireHeads(
                        before + ["\(name)2"] + (name == "c" ? ["d1"] : []), "\(name)1 is removed")
                    let next = try await stage.store.totals().nextDue
                    stage.require(next == nil, "the next is due \(String(describing: next))")
                }
            },
            StoreTrial("however many are due at once, all become heads") { stage in
                try await stage.append(
                    (0..<1_200).map {
                        .trial("\(String(UnicodeScalar(0x4e00 + $0) ?? "x"))1", notBefore: stage.now + 1)
                    })
                var (found, looks) = (LaneHeads(), 0)
                repeat {
                    found = try await stage.store.heads(after: .min, limit: 5_000, at: stage.now + 1)
                    looks += 1
                } while found.nextDue != nil && looks < 1_200
                // Some stores return only a part of the due mutations.
                let rest = try await stage.store.heads(
                    after: found.heads.last?.position ?? .min, limit: 5_000, at: stage.now + 1)
                stage.require(
                    found.nextDue == nil && !found.heads.isEmpty && rest.nextDue == nil,
                    "after \(looks) looks the next is due \(String(describing: found.nextDue))")
                let waiting = try await stage.pending().filter { $0.mutation.notBefore != nil }
                stage.require(waiting.isEmpty, "\(waiting.count) of 1 200 still wait")
            },
        ]
    }
}
