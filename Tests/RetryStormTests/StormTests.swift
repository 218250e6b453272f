#if Demo
    import Foundation
    import Resilience
    import ResilienceSync
    import ResilienceTesting
    import TestSupport
    import Testing

    @testable import RetryStorm

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// Over real connections on loopback, in small.
    // C6
    @Suite(.responsive) struct StormTests {
        @Test("the toolkit delivers everything once with few requests too many")
        func theToolkitDeliversEverythingOnceWithFewRequestsTooMany() async throws {
            try await StormServer.serve(TokenBucket(rate: 200, burst: 30)) { server in
                let client = MutationClient(url: server.url, connections: ToolkitRun.requests)
                defer { client.close() }
                let store = MemoryStore()
                _ = try store.append(MutationGenerator.mutations(60, seed: 1), under: AppendRules(), at: Date())
                let end = try await ToolkitRun(client: client, store: store).drain()
                #expect(end == .drained)
                #expect(store.totals() == QueueTotals())
                let counts = server.counts
                #expect(counts.delivered == 60)
                #expect(counts.duplicates == 0)
                #expect(Ledger.Counts(client.tally.counts) == counts)
                // After a pause of a second the bucket is full again, and that is enough for the rest.
                #expect(counts.requests <= 62)
            }
        }

        @Test(
            "the toolkit asks three times, at first with two requests, then not until the break ends, if everything is refused"
        )
        func theToolkitAsksThreeTimesThenNotUntilTheBreakEndsIfEverythingIsRefused() async throws {
            let clock = ManualClock()
            try await StormServer.serve(TokenBucket(rate: 1, burst: 0), timeBase: clock) { server in
                let client = MutationClient(url: server.url, connections: ToolkitRun.requests)
                defer { client.close() }
                let store = MemoryStore()
                _ = try store.append(MutationGenerator.mutations(1000, seed: 1), under: AppendRules(), at: Date())
                let run = ToolkitRun(client: client, store: store, timeBase: clock)
                var events = run.queue.events().makeAsyncIterator()
                let drain = Task { try await run.drain() }
                // A pause as the server asks for it, longer ones since that was too short, then the rest of the break.
                var silence = Duration.zero
                while silence < .seconds(30), let event = await events.next() {
                    guard case .paused(let length) = event else { continue }
                    silence += length
                    // A pause ends at its time beside a request that is still in flight, too.
                    for await status in run.queue.statusUpdates() where status.inFlight == 0 { break }
                    try await clock.waitForSleeper(dueIn: length)
                    if silence < .seconds(30) { clock.advance(by: length) }
                }
                // The first two are one event, if they were under way together.
                let counts = server.counts
                #expect((3...4).contains(counts.requests) && counts.throttled == counts.requests)
                drain.cancel()
                #expect(try await drain.value == .interrupted)
                #expect(store.totals().pending == 1000 && store.totals().dead == 0)
                #expect(server.counts == counts)
            }
        }

        @Test("the naive app sends twenty requests a mutation to a server that refuses everything and loses all")
        func theNaiveAppSendsTwentyRequestsAMutationToAServerThatRefusesEverythingAndLosesAll() async throws {
            try await StormServer.serve(TokenBucket(rate: 1, burst: 0)) { server in
                let client = MutationClient(url: server.url, connections: 8)
                defer { client.close() }
                let run = NaiveRun(client: client, timeScale: 0.000_001)
                let lost = try await run.drain(MutationGenerator.mutations(10, seed: 1))
                #expect(lost == 10)
                #expect(server.counts == .init(requests: 200, throttled: 200))
            }
        }

        @Test("the naive app delivers what the server has room for")
        func theNaiveAppDeliversWhatTheServerHasRoomFor() async throws {
            try await StormServer.serve(TokenBucket(rate: 1, burst: 20)) { server in
                let client = MutationClient(url: server.url, connections: 8)
                defer { client.close() }
                let run = NaiveRun(client: client, timeScale: 0.000_001)
                let lost = try await run.drain(MutationGenerator.mutations(20, seed: 1))
                #expect(lost == 0)
                #expect(server.counts == .init(requests: 20, delivered: 20))
            }
        }

        @Test("the whole demo ends with a report of both runs")
        func theWholeDemoEndsWithAReportOfBothRuns() async throws {
            let limit = Report.Limit(rate: 1000, burst: 1000)
            let plan = Plan(
                source: .madeUp(count: 40, seed: 1), server: .ours(limit), database: nil, timeScale: 0.001,
                runs: [.naive, .toolkit])
            let ending = try await Storm(plan: plan, console: Console(standardError: true)).run()
            #expect(ending.remark == nil)
            for result in [ending.result.naive, ending.result.toolkit] {
                #expect(result?.requests == 40 && result?.delivered == 40)
                #expect(result?.lost == 0 && result?.duplicates == 0)
            }
        }

        @Test("a server that can't be reached is told as that")
        func unreachable() throws {
            let url = try #require(URL(string: "http://127.0.0.1:9"))
            let trouble = ServerTrouble(URLError(.cannotConnectToHost), at: url)
            #expect(trouble.description.hasPrefix("cannot reach http://127.0.0.1:9: "))
        }

        @Test("a server that is not there loses nothing")
        func aServerThatIsNotThereLosesNothing() async throws {
            let port = try #require(DeafPort())
            let url = try #require(URL(string: "http://127.0.0.1:\(port.number)"))
            let path = FileManager.default.temporaryDirectory
                .appendingPathComponent("storm-test-\(UUID().uuidString).sqlite").path
            defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
            let plan = Plan(
                source: .madeUp(count: 5, seed: 1), server: .at(url, nil), database: path, timeScale: 1,
                runs: [.toolkit])
            let failure = await #expect(throws: Storm.Failure.self) {
                try await Storm(plan: plan, console: Console(standardError: true)).run()
            }
            // Or, on a machine that has no time for it, that there was no response in time.
            #expect(failure?.message.contains(url.absoluteString) == true)
            #expect(failure?.message.contains("0 of 5 delivered") == true)
            #expect(failure?.exitCode == 1)
            #expect(try await SQLiteStore(path: path).totals().pending == 5)
        }

        @Test("an interrupted run says what is delivered and the next finishes")
        func anInterruptedRunSaysWhatIsDeliveredAndTheNextFinishes() async throws {
            let path = FileManager.default.temporaryDirectory
                .appendingPathComponent("storm-test-\(UUID().uuidString).sqlite").path
            defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
            let (refusals, refused) = AsyncStream.makeStream(of: Void.self)
            let bucket = TokenBucket(rate: 1, burst: 5)
            // What was in flight when it was interrupted is sent again.
            var delivered = 0
            try await StormServer.serve(bucket, timeBase: ManualClock(), onThrottled: { refused.finish() }) { server in
                let plan = Plan(
                    source: .madeUp(count: 12, seed: 1), server: .at(server.url, nil), database: path, timeScale: 1,
                    runs: [.toolkit])
                let run = Task { try await Storm(plan: plan, console: Console(standardError: true)).run() }
                for await _ in refusals {}
                run.cancel()
                let failure = await #expect(throws: Storm.Failure.self) { try await run.value }
                #expect(failure?.exitCode == 130)
                let told = try #require(failure?.message.firstMatch(of: /^interrupted: ([0-9]+) of 12 delivered/))
                delivered = try #require(Int(told.1))
                #expect((1...5).contains(delivered))
            }
            let plan = Plan(
                source: .madeUp(count: 40, seed: 2), server: .ours(.init(rate: 1000, burst: 1000)), database: path,
                timeScale: 1, runs: [.toolkit])
            let ending = try await Storm(plan: plan, console: Console(standardError: true)).run()
            #expect(ending.result.toolkit?.delivered == 12 - delivered)
        }

        @Test("a database with pending mutations is finished and none added")
        func aDatabaseWithPendingMutationsIsFinishedAndNoneAdded() async throws {
            let path = FileManager.default.temporaryDirectory
                .appendingPathComponent("storm-test-\(UUID().uuidString).sqlite").path
            defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
            _ = try await SQLiteStore(path: path).append(
                MutationGenerator.mutations(3, seed: 9), under: AppendRules(), at: Date())
            let plan = Plan(
                source: .madeUp(count: 40, seed: 1), server: .ours(.init(rate: 1000, burst: 1000)), database: path,
                timeScale: 1, runs: [.toolkit])
            let ending = try await Storm(plan: plan, console: Console(standardError: true)).run()
            #expect(ending.result.mutations == 3 && ending.result.toolkit?.delivered == 3)
            #expect(try await SQLiteStore(path: path).totals().pending == 0)
        }
    }

    @Suite struct ServerTroubleTests {
        private let url = URL(filePath: "/x")

        @Test(
            "a status of the address is not the mutations fault",
            arguments: [301, 302, 307, 308, 401, 403, 404, 405, 410, 501])
        func aStatusOfTheAddressIsNotTheMutationsFault(status: Int) {
            #expect(ServerTrouble(status: status, verdict: .permanent, location: nil, at: url) != nil)
        }

        @Test(
            "any other is the mutations or passes",
            arguments: [(400, .permanent), (422, .permanent), (429, .throttled), (403, .throttled), (500, .transient)]
                as [(Int, Verdict)])
        func anyOtherIsTheMutationsOrPasses(status: Int, verdict: Verdict) {
            #expect(ServerTrouble(status: status, verdict: verdict, location: nil, at: url) == nil)
        }

        @Test("a redirect names where to")
        func aRedirectNamesWhereTo() {
            let trouble = ServerTrouble(status: 301, verdict: .success, location: "https://new/", at: url)
            #expect(trouble?.description.contains("redirects to https://new/ (HTTP status 301)") == true)
        }
    }

    /// A port of this machine that nobody listens at, and that nobody else gets meanwhile.
    private final class DeafPort: Sendable {
        let number: UInt16
        private let descriptor: CInt

        init?() {
            #if canImport(Darwin)
                descriptor = socket(AF_INET, SOCK_STREAM, 0)
            #else
                descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
            #endif
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let descriptor = descriptor
            let isBound = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
                }
            }
            number = UInt16(bigEndian: address.sin_port)
            guard isBound else { return nil }
        }

        deinit { close(descriptor) }
    }
#endif
