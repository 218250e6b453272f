import Testing

@testable import Resilience

@Suite struct FreePermitsTests {
    @Test("exactly the free permits can be taken, and each returned permit can be taken again")
    func taking() {
        let permits = FreePermits(2)
        let taken = [permits.take(), permits.take(), permits.take()]
        #expect(taken == [true, true, false])
        let back = [permits.giveBack(), permits.take(), permits.take(), permits.giveBack(), permits.giveBack()]
        #expect(back == [true, true, false, true, true])
        let left = permits.collect()
        #expect(left == 2)
    }

    @Test("after collect, no permit can be taken or returned until layOut")
    func collecting() {
        let permits = FreePermits(3)
        let first = [permits.take(), permits.take()]
        let collected = [permits.collect(), permits.collect()]
        #expect(first == [true, true] && collected == [1, nil])
        let meanwhile = [permits.take(), permits.giveBack()]
        #expect(meanwhile == [false, false])
        permits.layOut(1)
        let afterwards = [permits.take(), permits.take(), permits.giveBack()]
        let left = permits.collect()
        #expect(afterwards == [true, false, true] && left == 1)
    }

    @Test("collect returns zero if no permit is left, and nil if the permits are already collected")
    func noneLeft() {
        let permits = FreePermits(1)
        let taken = [permits.take(), permits.giveBack(), permits.take()]
        let left = [permits.collect(), permits.collect()]
        #expect(taken == [true, true, true] && left == [0, nil])
    }
}
