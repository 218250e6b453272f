import Testing

@testable import ResilienceSync

@Suite struct LaneThrottlesTests {
    var throttles = LaneThrottles()

    @Test(
        "a lane that is throttled three times in a row, while others are delivered, is held back, longer each time"
    )
    mutating func held() {
        var answers: [Int?] = []
        for _ in 0..<5 {
            answers.append(throttles.throttled("a"))
            throttles.delivered("b")
        }
        #expect(answers == [nil, nil, 0, 1, 2])
    }

    @Test("while nothing gets through, the limit counts as a limit of all lanes, and no lane is held back")
    mutating func everybody() {
        for _ in 0..<10 { #expect(throttles.throttled("a") == nil && throttles.throttled("b") == nil) }
        throttles.delivered("c")
        #expect(throttles.throttled("a") == nil)
        throttles.delivered("c")
        #expect(throttles.throttled("a") == 0 && throttles.throttled("a") == 0 && throttles.throttled("b") == nil)
    }

    @Test("a delivery of the lane resets its count")
    mutating func forgotten() {
        for _ in 0..<3 {
            _ = throttles.throttled("a")
            throttles.delivered("b")
        }
        throttles.delivered("a")
        #expect(throttles == LaneThrottles())
        #expect(throttles.throttled("a") == nil)
    }

    @Test("at most a thousand lanes are remembered")
    mutating func bounded() {
        for _ in 0..<3 {
            for lane in 0..<1_001 { _ = throttles.throttled("\(lane)") }
            throttles.delivered("x")
        }
        #expect(throttles.throttled("0") == 1 && throttles.throttled("999") == 1 && throttles.throttled("1000") == nil)
    }
}
