#if GRPC
    import GRPCCore
    import Resilience
    @testable import ResilienceGRPC
    import Testing

    @Suite struct ExchangeTests {
        typealias Log = RequestLog<[UInt8]>

        private func steps(_ log: inout Log) -> [String] {
            var steps: [String] = []
            while let step = log.next() {
                switch step {
                case .part(.metadata): steps.append("metadata")
                case .part(.message(let bytes)): steps.append("\(bytes.count)")
                case .end: return steps + ["end"]
                }
            }
            return steps
        }

        private func log(limit: Int, _ sizes: Int...) -> Log {
            var log = Log(limit: limit)
            log.append(.metadata([:]))
            for size in sizes { log.append(.message(Array(repeating: 0, count: size))) }
            return log
        }

        @Test("a request up to the limit is sent again from its beginning; one byte more is not")
        func limit() {
            var log = log(limit: 25, 10, 5)
            #expect(steps(&log) == ["metadata", "10", "5"])
            log.rewind()
            #expect(log.isReplayable && steps(&log) == ["metadata", "10", "5"])
            var larger = self.log(limit: 24, 10, 5)
            #expect(!larger.isReplayable)
            #expect(steps(&larger) == ["metadata", "10", "5"], "it is sent once all the same")
            larger.rewind()
            #expect(steps(&larger) == [])
        }

        @Test("empty messages count, and a limit of zero or less keeps none")
        func empty() {
            #expect(log(limit: 14, 0, 0).isReplayable == true)
            #expect(log(limit: 14, 0, 0, 0).isReplayable == false)
            #expect(log(limit: 0, 0).isReplayable == false)
            #expect(log(limit: .min).isReplayable == false || log(limit: .min, 0).isReplayable == false)
            #expect(log(limit: .max, 10).isReplayable)
        }

        @Test("after the commit, what was not yet sent is sent once")
        func committed() {
            var log = log(limit: 1000, 1, 2, 3)
            _ = log.next()
            _ = log.next()
            log.commit()
            log.rewind()
            log.append(.message([]))
            log.finish(.finished)
            #expect(steps(&log) == ["2", "3", "0", "end"])
            #expect(log.count == 5 && log.furthest == 5)
        }

        @Test("nothing is written after the end, and the first end counts")
        func ends() {
            struct Own: Error {}
            var log = log(limit: 1000, 1)
            log.finish(.failed(Own()))
            log.finish(.finished)
            log.append(.message([1]))
            #expect(log.hasFailed && log.count == 2)
            #expect(steps(&log) == ["metadata", "1", "end"])
        }

        @Test("one part waits for the caller at a time")
        func backpressure() {
            var exchange = Exchange<[UInt8]>(replayLimit: 100)
            #expect(exchange.begin() == 1)
            #expect(exchange.hand(.metadata([:])) == true)
            #expect(exchange.hand(.message([1])) == nil, "the caller has not read")
            #expect(exchange.read() != nil)
            #expect(exchange.read() == nil, "nothing has come")
            #expect(exchange.hand(.message([1])) == true)
            exchange.finish(.status(Status(code: .ok, message: ""), [:]))
            guard case .part(.message([1])) = exchange.read() else {
                return #expect(Bool(false), "the message comes first")
            }
            guard case .part(.status) = exchange.read() else { return #expect(Bool(false), "then the status") }
            guard case .nothing = exchange.read() else { return #expect(Bool(false), "then nothing") }
        }

        @Test("the first part of a response commits, and no attempt begins after it")
        func commits() {
            var exchange = Exchange<[UInt8]>(replayLimit: 100)
            #expect(exchange.begin() == 1)
            #expect(exchange.begin() == 2)
            _ = exchange.hand(.metadata([:]))
            #expect(exchange.begin() == nil)
        }

        @Test("who has left is handed nothing, and nothing begins for it")
        func abandoned() {
            var exchange = Exchange<[UInt8]>(replayLimit: 100)
            exchange.abandon()
            #expect(exchange.hand(.message([])) == false)
            #expect(exchange.begin() == nil && exchange.isOver)
            guard case .nothing = exchange.read() else { return #expect(Bool(false)) }
        }
    }
#endif
