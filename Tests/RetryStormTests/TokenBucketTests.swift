#if Demo
    import ResilienceTesting
    import Testing

    @testable import RetryStorm

    @Suite struct TokenBucketTests {
        private static let second: Int64 = 1_000_000_000

        @Test("admits the burst at once and then one an interval")
        func admitsTheBurstAtOnceAndThenOneAnInterval() {
            var bucket = TokenBucket(rate: 10, burst: 3)
            func take(_ now: Int64) -> TokenBucket.Answer { bucket.take(at: now) }
            for _ in 0..<3 { #expect(take(0) == .admitted) }
            #expect(take(0) == .refused(retryAfterSeconds: 1))
            #expect(take(Self.second / 10 - 1) == .refused(retryAfterSeconds: 1))
            #expect(take(Self.second / 10) == .admitted)
            #expect(take(Self.second / 10) == .refused(retryAfterSeconds: 1))
        }

        @Test("is exact where the rate does not divide a second")
        func isExactWhereTheRateDoesNotDivideASecond() {
            var bucket = TokenBucket(rate: 3, burst: 1)
            func take(_ now: Int64) -> TokenBucket.Answer { bucket.take(at: now) }
            #expect(take(0) == .admitted)
            #expect(take(333_333_333) == .refused(retryAfterSeconds: 1))
            #expect(take(333_333_334) == .admitted)
        }

        @Test("holds no more than the burst")
        func holdsNoMoreThanTheBurst() {
            var bucket = TokenBucket(rate: 1000, burst: 2)
            func take(_ now: Int64) -> TokenBucket.Answer { bucket.take(at: now) }
            #expect(take(0) == .admitted)
            #expect(take(.max) == .admitted)
            #expect(take(.max) == .admitted)
            #expect(take(.max) == .refused(retryAfterSeconds: 1))
        }

        @Test("without a burst it never admits")
        func withoutABurstItNeverAdmits() {
            var bucket = TokenBucket(rate: 1, burst: 0)
            func take(_ now: Int64) -> TokenBucket.Answer { bucket.take(at: now) }
            for now in [0, Self.second, 1000 * Self.second, .max] {
                #expect(take(now) == .refused(retryAfterSeconds: 1))
            }
        }

        @Test("a clock that goes back brings nothing")
        func aClockThatGoesBackBringsNothing() {
            var bucket = TokenBucket(rate: 1, burst: 1)
            func take(_ now: Int64) -> TokenBucket.Answer { bucket.take(at: now) }
            #expect(take(5 * Self.second) == .admitted)
            #expect(take(.min) == .refused(retryAfterSeconds: 1))
            #expect(take(5 * Self.second) == .refused(retryAfterSeconds: 1))
            #expect(take(6 * Self.second) == .admitted)
        }

        @Test(
            "never admits more than burst and rate and always after the wait it named",
            arguments: 0..<50 as Range<UInt64>)
        func neverAdmitsMoreThanBurstAndRateAndAlwaysAfterTheWaitItNamed(seed: UInt64) {
            var random = SeededGenerator(seed: seed)
            let rate = Int.random(in: 1...1000, using: &random)
            let burst = Int.random(in: 1...100, using: &random)
            var bucket = TokenBucket(rate: rate, burst: burst)
            func take(_ now: Int64) -> TokenBucket.Answer { bucket.take(at: now) }
            var now: Int64 = 0
            var admitted = 0
            for _ in 0..<2000 {
                now += Int64.random(in: 0...(Self.second / Int64(rate)), using: &random)
                switch take(now) {
                case .admitted:
                    admitted += 1
                case .refused(let seconds):
                    var later = bucket
                    let answer = later.take(at: now + seconds * Self.second)
                    #expect(answer == .admitted)
                }
                // admitted ≤ burst + now · rate, in billionths
                #expect(Int64(admitted) * Self.second <= Int64(burst) * Self.second + now * Int64(rate))
            }
            #expect(admitted > 0)
        }
    }

    @Suite struct LedgerTests {
        @Test("a repeated key is a duplicate and has its effect once")
        func aRepeatedKeyIsADuplicateAndHasItsEffectOnce() {
            var ledger = Ledger(TokenBucket(rate: 1, burst: 3))
            func received(_ key: String?) -> Ledger.Reply { ledger.received(key: key, at: 0) }
            #expect(received("a") == .accepted)
            #expect(received("a") == .accepted)
            #expect(received("b") == .accepted)
            #expect(received("c") == .throttled(retryAfterSeconds: 1))
            #expect(ledger.counts == .init(requests: 4, throttled: 1, delivered: 2, duplicates: 1))
        }

        @Test("two keys that look alike are two: the queue tells them apart as well")
        func lookAlikes() {
            var ledger = Ledger(TokenBucket(rate: 1, burst: 3))
            for key in ["\u{e9}", "e\u{301}"] { #expect(ledger.received(key: key, at: 0) == .accepted) }
            #expect(ledger.counts.delivered == 2 && ledger.counts.duplicates == 0)
        }

        @Test("a request without a key is refused and takes no token", arguments: [nil, ""] as [String?])
        func aRequestWithoutAKeyIsRefusedAndTakesNoToken(key: String?) {
            var ledger = Ledger(TokenBucket(rate: 1, burst: 1))
            func received(_ key: String?) -> Ledger.Reply { ledger.received(key: key, at: 0) }
            #expect(received(key) == .noKey)
            #expect(received("a") == .accepted)
        }
    }
#endif
