import Resilience
@testable import ResilienceSync
import Testing

/// Which queue looks after a notification, and when.
struct NewsExplorationTests {
    private typealias Machine = NewsStateMachine
    private let start = MonotonicInstant.distantPast + .seconds(1_000_000)

    private func heard(_ machine: inout Machine, _ notification: Machine.Notification, after time: Duration = .zero)
        -> MonotonicInstant?
    { machine.heard(notification, at: start + time, chance: 0.5) }

    /// A queue that found something at its last look.
    private var first: Machine {
        var machine = Machine(name: "a")
        machine.looked(foundSome: true, served: nil)
        return machine
    }

    /// A queue that has heard of another.
    private var other: Machine {
        var machine = Machine(name: "a")
        _ = heard(&machine, .served("0", by: "b"))
        return machine
    }

    @Test("a queue that found something last time looks at once, until another queue reports that it served news")
    func begins() {
        var machine = first
        #expect(heard(&machine, .news("1")) == start)
        #expect(machine.next(at: start) == .begin)
        #expect(machine.next(at: start) == .wait)
        machine.looked(foundSome: false, served: "1")
        _ = heard(&machine, .served("1", by: "a"))
        #expect(heard(&machine, .news("2")) == start, "it has found it before it was told")
        #expect(machine.next(at: start) == .begin)
        _ = heard(&machine, .served("2", by: "b"))
        #expect(heard(&machine, .news("3"))! > start)
        machine.looked(foundSome: true, served: nil)
        _ = machine.heard(.served("3", by: "a"), at: start, chance: 0)
        #expect(heard(&machine, .news("4")) == start)
    }

    @Test("other queues wait, then look unless another queue reports the news as served")
    func waits() {
        var machine = other
        let at = start + Machine.leastWait + Machine.spread / 2
        #expect(heard(&machine, .news("1")) == at)
        #expect(machine.next(at: at + .milliseconds(-1)) == .wait)
        var told = machine
        #expect(machine.next(at: at) == .look("1"))
        #expect(machine.next(at: at) == .wait)
        #expect(heard(&told, .served("1", by: "b")) == nil)
        #expect(told.next(at: at) == .wait)
    }

    @Test("a report of serving older news does not count for the latest")
    func servedBefore() {
        var machine = other
        let at = heard(&machine, .news("1"))!
        #expect(heard(&machine, .news("2"), after: .milliseconds(1)) == nil, "it looks for both at once")
        #expect(heard(&machine, .served("1", by: "b"), after: .milliseconds(2)) == nil)
        #expect(machine.unserved == "2")
        #expect(machine.next(at: at) == .look("2"))
    }

    @Test(
        "every queue looks at once when it is told to, and when it reads an unknown text",
        arguments: ["", "?", "pause"])
    func everybody(text: String) {
        var machine = other
        #expect(heard(&machine, Machine.Notification(text)) == start)
        #expect(machine.next(at: start) == .look(nil))
        #expect(machine.next(at: start) == .wait)
        machine.looksNowAndThen()
        #expect(machine.next(at: start) == .look(nil))
    }

    @Test("a queue that left mutations does not look for them, and waits before it looks for news; other queues wait")
    func left() {
        var machine = first
        machine.ended(leftSome: true)
        #expect(heard(&machine, .left("1")) == nil)
        #expect(heard(&machine, .news("2"))! > start, "another may be better")
        machine.ended(leftSome: false)
        var healthy = other
        #expect(heard(&healthy, .left("1"))! > start)
    }

    @Test("notifications are read as they were written")
    func texts() {
        for notification: Machine.Notification in [.everybody, .news("a1"), .left("b"), .served("n2", by: "b")] {
            #expect(Machine.Notification(notification.text) == notification)
        }
    }

    /// A model of queues and lanes. A look is one step, and so is taking free lanes, since each is one statement.
    private struct Fleet {
        struct Follower {
            var machine: Machine
            var inbox: [Machine.Notification] = []
            /// The news that it is about to look for, if it is about to look.
            var isLooking: String??
            var sends = false
            var isGone = false
        }

        var followers: [Follower]
        var now: MonotonicInstant
        var free = 0
        var untold = 0
        var numbers = 0
        var looks = 0
        let lanesAtOnce = 2

        init(count: Int, now: MonotonicInstant) {
            followers = (0..<count).map { Follower(machine: Machine(name: "\($0)")) }
            self.now = now
        }

        mutating func tell(_ notification: Machine.Notification) {
            for index in followers.indices { followers[index].inbox.append(notification) }
        }

        /// One step of one follower; false if it has nothing to do now.
        mutating func step(_ index: Int, chance: Double) -> Bool {
            if followers[index].isGone { return false }
            if !followers[index].inbox.isEmpty, chance < 0.5 || followers[index].isLooking == nil {
                let notification = followers[index].inbox.removeFirst()
                _ = followers[index].machine.heard(notification, at: now, chance: chance)
            } else if let number = followers[index].isLooking {
                followers[index].isLooking = nil
                looks += 1
                let unserved = followers[index].machine.unserved
                if free == 0 {
                    if let unserved { tell(.served(unserved, by: "\(index)")) }
                } else if number == nil || unserved != nil {
                    followers[index].sends = true
                }
            } else if followers[index].sends {
                let news = followers[index].machine.unserved
                let taken = min(free, lanesAtOnce)
                free -= taken
                let served = taken < lanesAtOnce ? news : nil
                followers[index].machine.looked(foundSome: taken > 0, served: served)
                if let served { tell(.served(served, by: "\(index)")) }
                // After a full page the queue looks again.
                followers[index].sends = taken == lanesAtOnce
            } else {
                switch followers[index].machine.next(at: now) {
                case .wait: return false
                case .begin: followers[index].sends = true
                case .look(let number): followers[index].isLooking = .some(number)
                }
            }
            return true
        }
    }

    @Test("in any order of notifications, looks and news, no announced lane stays free")
    func neverLost() {
        for seed in 0..<3_000 as Range<UInt64> {
            var generator = SplitMix64(seed: seed)
            var fleet = Fleet(
                count: Int.random(in: 1...5, using: &generator), now: start)
            for _ in 0..<300 {
                switch Int.random(in: 0..<10, using: &generator) {
                case 0:
                    fleet.free += 1
                    fleet.untold += 1
                case 1 where fleet.untold > 0:
                    fleet.untold = 0
                    fleet.numbers += 1
                    fleet.tell(.news("\(fleet.numbers)"))
                case 2:
                    fleet.now = fleet.now + .milliseconds(Int.random(in: 1...300, using: &generator))
                case 3 where fleet.followers.count { !$0.isGone } > 1 && Int.random(in: 0..<50, using: &generator) == 0:
                    // The queue has not taken what it was about to take.
                    fleet.followers[fleet.followers.indices.randomElement(using: &generator)!].isGone = true
                default:
                    let index = fleet.followers.indices.randomElement(using: &generator)!
                    _ = fleet.step(index, chance: Double.random(in: 0..<1, using: &generator))
                }
            }
            if fleet.untold > 0 { fleet.tell(.news("last")) }
            fleet.now = fleet.now + .seconds(1)
            for _ in 0..<3 {
                var isBusy = true
                while isBusy { isBusy = fleet.followers.indices.map { fleet.step($0, chance: 0.9) }.contains(true) }
                fleet.now = fleet.now + .seconds(1)
            }
            #expect(fleet.free == 0, "seed \(seed)")
        }
    }

    @Test("after the first news, only one of fifty queues looks for each further news")
    func fewLook() {
        var generator = SplitMix64(seed: 1)
        var fleet = Fleet(count: 50, now: start)
        for number in 0..<100 {
            if number == 1 { fleet.looks = 0 }
            fleet.free += 1
            fleet.tell(.news("\(number)"))
            for _ in 0..<100 {
                var isBusy = true
                while isBusy {
                    let chance = Double.random(in: 0..<1, using: &generator)
                    isBusy = fleet.followers.indices.map { fleet.step($0, chance: chance) }.contains(true)
                }
                fleet.now = fleet.now + .milliseconds(10)
            }
            #expect(fleet.free == 0)
        }
        #expect(fleet.looks == 0)
    }
}
