import Testing

@testable import Resilience

@Suite struct TicketLineTests {
    @Test("leaving the middle of a long queue needs no scan, and the other tickets keep their order (P21)")
    func leavingTheMiddle() {
        var line = TicketLine<Void>()
        let tickets = (0..<100_000).map { _ in line.join() }
        for ticket in tickets where ticket % 3 != 0 { line.leave(ticket) }
        var rest: [UInt64] = []
        while let ticket = line.popFirst() { rest.append(ticket) }
        #expect(rest == tickets.filter { $0 % 3 == 0 })
        #expect(line.count == 0)
    }

    @Test("a line drops served and departed tickets: it keeps at most 32 tickets, or twice the number that wait")
    func staysShort() {
        func isShort(_ line: TicketLine<Void>) -> Bool {
            line.order.count <= max(32, 2 * line.count)
        }
        var (served, left, long) = (TicketLine<Void>(), TicketLine<Void>(), TicketLine<Void>())
        for _ in 0..<100 {
            _ = (served.join(), served.popFirst(), left.leave(left.join()) as Void?)
            #expect(isShort(served) && isShort(left))
        }
        for ticket in (0..<100).map({ _ in long.join() }) {
            long.leave(ticket)
            #expect(isShort(long))
        }
    }

    @Test("leaving the middle of a long queue needs no scan when it is served from the back (P21)")
    func leavingTheMiddleFromBehind() {
        var line = TicketLine<Void>()
        let tickets = (0..<100_000).map { _ in line.join() }
        for ticket in tickets where ticket % 3 != 0 { line.leave(ticket) }
        var rest: [UInt64] = []
        while let ticket = line.popLast() { rest.append(ticket) }
        #expect(rest == tickets.filter { $0 % 3 == 0 }.reversed())
        #expect(line.count == 0 && line.order.count <= 32)
    }

    @Test("a line served from the back also drops departed tickets")
    func staysShortFromBehind() {
        var line = TicketLine<Void>()
        let tickets = (0..<100).map { _ in line.join() }
        for ticket in tickets[..<50] { line.leave(ticket) }
        #expect(line.order.count == 100)
        #expect(line.popLast() == 100)
        #expect(line.order == Array(51...99) && line.first == 0)
    }

    @Test("leaveAll returns the waiting values in order, without departed values")
    func leaveAll() {
        var line = TicketLine<String>()
        let tickets = ["a", "b", "c", "d"].map { line.join($0) }
        #expect(line.popFirst() == tickets[0] && line.leave(tickets[2]) == "c" && line.leave(tickets[2]) == nil)
        #expect(line.leaveAll() == ["b", "d"] && line.isEmpty && line.popFirst() == nil)
        #expect(line.join("e") == 5)
    }

    @Test("a waiting ticket's value can be changed; a departed ticket's value can't")
    func change() {
        var line = TicketLine<Int>(after: 7)
        let ticket = line.join(1)
        line[ticket] = 2
        line[ticket + 1] = 3
        #expect(ticket == 8 && line[ticket] == 2 && line.count == 1)
        #expect(line.leave(ticket) == 2)
        line[ticket] = 4
        #expect(line.isEmpty)
    }
}
