import ResilienceSync

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Lanes that go before others.
extension StoreTrial {
    static var urgent: [StoreTrial] {
        [
            StoreTrial("the heads of urgent lanes are found in order, wherever they are, up to the limit") { stage in
                try await stage.append([
                    .trial("a1"), .trial("b1", isUrgent: true), .trial("c1"), .trial("d1", isUrgent: true),
                ])
                try await stage.append([.trial("e1", isUrgent: true), .trial("b2"), .trial("e2")])
                try await stage.reopen()
                try await stage.requireHeads(["a1", "b1", "c1", "d1", "e1"], "three lanes are urgent")
                for position in [Int64.min, 0, try await stage.position(of: "c1"), .max] {
                    for limit in [-1, 0, 1, 2, 9] {
                        let found = try await stage.store.heads(after: position, limit: limit, at: stage.now).urgent
                        stage.require(
                            found.map(\.id) == Array(["b1", "d1", "e1"].prefix(max(0, limit))),
                            "up to \(limit) urgent heads after \(position) are \(found.map(\.id))")
                    }
                }
                let pending = try await stage.pending().map(\.mutation.isUrgent)
                stage.require(pending == [false, true, false, true, true, false, false], "isUrgent is \(pending)")
                let positions = try await stage.heads().map(\.position)
                let claimed = try await stage.apply(claiming: positions)
                stage.require(
                    claimed.map(\.mutation.isUrgent) == [false, true, false, true, true], "claimed is \(claimed)")
                try await stage.apply([.acknowledged(positions[1]), .acknowledged(positions[3])])
                try await stage.requireUrgent(["e1"], "those behind are not urgent")
            },
            StoreTrial("mutations before an urgent one of their lane are as urgent") { stage in
                try await stage.append([.trial("a1"), .trial("a2"), .trial("b1"), .trial("b2")])
                try await stage.append([.trial("a3", isUrgent: true), .trial("a4")])
                try await stage.reopen()
                for id in ["a1", "a2", "a3"] {
                    try await stage.requireUrgent([id], "one behind it is urgent")
                    try await stage.apply([.acknowledged(try await stage.position(of: id))])
                }
                try await stage.requireUrgent([], "it is gone")
                let pending = try await stage.pending().map(\.mutation.isUrgent)
                stage.require(pending == [false, false, false], "isUrgent is \(pending)")
            },
            StoreTrial("a merged mutation is urgent if either was") { stage in
                for (name, first, then) in [("a", false, true), ("b", true, false), ("c", false, false)] {
                    for payload in ["x", "y"] {
                        try await stage.append(
                            [.trial("\(name)\(payload)1", .update, payload: "x", isUrgent: first)], AppendRules())
                        try await stage.append(
                            [.trial("\(name)\(payload)2", .update, payload: payload, isUrgent: then)], AppendRules())
                    }
                }
                try await stage.requireUrgent(["ax1", "ay1", "bx1", "by1"], "one of two is urgent")
                try await stage.append([.trial("cx3", .delete, isUrgent: true)], AppendRules())
                try await stage.requireUrgent(["ax1", "ay1", "bx1", "by1", "cx1"], "one of three is urgent")
                let pending = try await stage.pending().map(\.mutation.isUrgent)
                stage.require(pending == [true, true, true, true, true, false], "isUrgent is \(pending)")
            },
            StoreTrial("an urgent lane has no head while it is blocked or waits for a date") { stage in
                let date = stage.now + 60
                try await stage.append([
                    .trial("a1"), .trial("a2", isUrgent: true), .trial("b1", notBefore: date),
                    .trial("b2", isUrgent: true),
                    .trial("c1", notBefore: date, isUrgent: true),
                ])
                let positions = try await stage.pending().map(\.position)
                try await stage.apply([.died(positions[0], error: "x", rest: .block)])
                try await stage.requireUrgent([], "a lane is blocked, and two wait")
                try await stage.requireUrgent(["b1", "c1"], at: date, "the date has come")
                _ = try await stage.store.reviveAll(at: stage.now)
                try await stage.requireUrgent(["a1", "b1", "c1"], "a lane is not blocked any more")
                try await stage.apply([.died(positions[0], error: "x", rest: .killRest)])
                try await stage.requireUrgent(["b1", "c1"], "all of a lane are dead")
                _ = try await stage.store.revive([positions[0]], at: stage.now)
                _ = try await stage.store.revive([positions[1]], at: stage.now)
                try await stage.requireUrgent(["a1", "b1", "c1"], "the dead are revived, one by one")
                try await stage.apply([.acknowledged(positions[0])])
                try await stage.requireUrgent(["a2", "b1", "c1"], "it is as urgent as before it died")
                _ = try await stage.store.mutation("c1", cancelling: true)
                _ = try await stage.store.removePending([positions[1]])
                try await stage.requireUrgent(["b1"], "two are removed")
            },
        ]
    }
}
