#if GRPC
    import GRPCCore
    import Resilience
    @testable import ResilienceGRPC
    import Testing

    @Suite struct ExchangeTests {
        typealias Log = RequestLog<[UInt8]>

        private func steps(_ log: inout Log, _ attempt: Int) -> [String] {
            var steps: [String] = []
            while let step = log.next(for: attempt) {
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

        @Test("a request up to the limit is replayed from its beginning; a request one byte larger is not")
        func limit() {
            var log = log(limit: 25, 10, 5)
            log.begin(1, isCopy: false)
            #expect(steps(&log, 1) == ["metadata", "10", "5"])
            log.begin(2, isCopy: false)
            #expect(log.isReplayable && steps(&log, 2) == ["metadata", "10", "5"])
            var larger = self.log(limit: 24, 10, 5)
            #expect(!larger.isReplayable)
            larger.begin(1, isCopy: false)
            #expect(steps(&larger, 1) == ["metadata", "10", "5"], "it is sent once all the same")
            larger.begin(2, isCopy: false)
            #expect(steps(&larger, 2) == [])
        }

        @Test("empty messages count towards the limit, and a limit of zero or less keeps no message")
        func empty() {
            #expect(log(limit: 14, 0, 0).isReplayable == true)
            #expect(log(limit: 14, 0, 0, 0).isReplayable == false)
            #expect(log(limit: 0, 0).isReplayable == false)
            #expect(log(limit: .min).isReplayable == false || log(limit: .min, 0).isReplayable == false)
            #expect(log(limit: .max, 10).isReplayable)
        }

        @Test("after the commit, unsent messages are sent once")
        func committed() {
            var log = log(limit: 1000, 1, 2, 3)
            log.begin(1, isCopy: false)
            _ = log.next(for: 1)
            _ = log.next(for: 1)
            log.commit(to: 1)
            log.begin(2, isCopy: false)
            log.append(.message([]))
            log.finish(.finished)
            #expect(steps(&log, 2) == [])
        }

        @Test("after the commit, the chosen attempt sends the rest; its copies send nothing more")
        func copies() {
            var log = log(limit: 1000, 1, 2, 3)
            for copy in 1...3 { log.begin(copy, isCopy: copy > 1) }
            #expect(steps(&log, 2) == ["metadata", "1", "2", "3"])
            _ = log.next(for: 1)
            log.commit(to: 1)
            log.append(.message([]))
            log.finish(.finished)
            #expect(steps(&log, 1) == ["1", "2", "3", "0", "end"] && steps(&log, 2) == [] && steps(&log, 3) == [])
            #expect(log.hasLost(2) && log.hasLost(3) && !log.hasLost(1) && log.count == 5 && log.furthest == 5)
        }

        @Test("a request that becomes too large commits to the running copy that has sent the most")
        func tooLargeForCopies() {
            var log = log(limit: 20, 1)
            for copy in 1...3 { log.begin(copy, isCopy: copy > 1) }
            #expect(steps(&log, 1) == ["metadata", "1"])
            _ = log.next(for: 3)
            log.ended(1)
            log.append(.message(Array(repeating: 0, count: 30)))
            #expect(log.hasLost(1) && log.hasLost(2) && steps(&log, 3) == ["1", "30"])
        }

        @Test("nothing is written after the end, and only the first end counts")
        func ends() {
            struct Own: Error {}
            var log = log(limit: 1000, 1)
            log.finish(.failed(Own()))
            log.finish(.finished)
            log.append(.message([1]))
            log.begin(1, isCopy: false)
            #expect(log.hasFailed && log.count == 2)
            #expect(steps(&log, 1) == ["metadata", "1", "end"])
        }

        @Test("at most one part at a time waits for the caller")
        func backpressure() {
            var exchange = Exchange<[UInt8]>(replayLimit: 100)
            #expect(exchange.begin(isCopy: false) == 1)
            #expect(exchange.hand(.metadata([:]), of: 1) == true)
            #expect(exchange.hand(.message([1]), of: 1) == nil, "the caller has not read")
            #expect(exchange.read() != nil)
            #expect(exchange.read() == nil, "nothing has come")
            #expect(exchange.hand(.message([1]), of: 1) == true)
            exchange.finish(.status(Status(code: .ok, message: ""), [:]))
            guard case .part(.message([1])) = exchange.read() else {
                return #expect(Bool(false), "the message comes first")
            }
            guard case .part(.status) = exchange.read() else { return #expect(Bool(false), "then the status") }
            guard case .nothing = exchange.read() else { return #expect(Bool(false), "then nothing") }
        }

        @Test("the first part of a response commits the request, and no attempt begins after it")
        func commits() {
            var exchange = Exchange<[UInt8]>(replayLimit: 100)
            #expect(exchange.begin(isCopy: false) == 1)
            #expect(exchange.begin(isCopy: false) == 2)
            _ = exchange.hand(.metadata([:]), of: 2)
            #expect(exchange.begin(isCopy: false) == nil)
        }

        @Test("among several copies the first response wins the call, and parts and ends of the others are ignored")
        func firstResponse() {
            let ok = AttemptEnd.status(Status(code: .ok, message: ""), [:])
            let failed = AttemptEnd.status(Status(code: .unavailable, message: ""), [:])
            var exchange = Exchange<[UInt8]>(replayLimit: 100)
            #expect((1...3).map { exchange.begin(isCopy: $0 > 1) } == [1, 2, 3])
            #expect(exchange.ended(1, failed) == true)
            #expect(exchange.hand(.metadata([:]), of: 3) == true)
            #expect(exchange.hand(.metadata([:]), of: 2) == false)
            #expect(exchange.ended(2, ok) == false)
            #expect(exchange.begin(isCopy: true) == nil)
            #expect(exchange.ended(3, ok) == true)
            var silent = Exchange<[UInt8]>(replayLimit: 100)
            #expect((1...2).map { silent.begin(isCopy: $0 > 1) } == [1, 2])
            #expect(silent.ended(2, ok) == true, "a success without a response has the call, too")
            #expect(silent.hand(.metadata([:]), of: 1) == false && silent.cutOff(1) == false)
        }

        @Test("an attempt that ends before it has a stream counts as not sent, even if an earlier attempt had a stream")
        func noStreamAgain() {
            var exchange = Exchange<[UInt8]>(replayLimit: 100)
            let late = TimedOut(policy: "timeout", limit: .seconds(1), underlying: nil)
            let descriptor = MethodDescriptor(fullyQualifiedService: "service", method: "method")
            let context = ClientContext(descriptor: descriptor, remotePeer: "server", localPeer: "client")
            func verdict() -> Verdict { exchange.verdict(of: late, .uncertain, isRepeatedByGRPC: false) }
            _ = exchange.begin(isCopy: false)
            #expect(verdict() == .transient)
            exchange.opened(1, context)
            #expect(exchange.cutOff(1) && verdict() == .uncertain)
            _ = exchange.begin(isCopy: false)
            #expect(verdict() == .transient)
        }

        @Test("if the last attempt was cut off, the exchange ends as cut off, not with an earlier attempt's status")
        func lastEnd() throws {
            var exchange = Exchange<[UInt8]>(replayLimit: 100)
            _ = exchange.begin(isCopy: false)
            #expect(exchange.ended(1, .status(Status(code: .unavailable, message: ""), [:])) == true)
            _ = exchange.begin(isCopy: false)
            #expect(exchange.cutOff(2) == true)
            guard case .lost(let error)? = exchange.lastEnd else { return #expect(Bool(false), "it has no status") }
            #expect(error.code == .deadlineExceeded)
        }

        @Test("an abandoned exchange returns nothing, and begins no attempt")
        func abandoned() {
            var exchange = Exchange<[UInt8]>(replayLimit: 100)
            exchange.abandon()
            #expect(exchange.hand(.message([]), of: 1) == false)
            #expect(exchange.begin(isCopy: false) == nil && exchange.isOver)
            guard case .nothing = exchange.read() else { return #expect(Bool(false)) }
        }
    }
#endif
