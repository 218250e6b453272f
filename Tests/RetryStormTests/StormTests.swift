#if Demo
    import Foundation
    import Resilience
    import ResilienceSync
    import ResilienceTesting
    import TestSupport
    import Testing

    @testable import RetryStorm

    /// A small storm over real connections on loopback.
    // C6
    @Suite(.responsive) struct StormTests {
        private func store(_ count: Int) throws -> MemoryStore {
            let store = MemoryStore()
            _ = try store.append(MutationGenerator.mutations(count, seed: 1), under: AppendRules(), at: Date())
            return store
        }

        @Test("the toolkit delivers everything once with few excess requests")
        func theToolkitDeliversEverythingOnceWithFewRequestsTooMany() async throws {
            try await StormServer.serve(admitting: StormServer.limit(rate: 200, burst: 30)) { server in
                let client = MutationClient(url: server.url, connections: ToolkitRun.requests)
                defer { client.close() }
                let store = try store(60)
                #expect(try await ToolkitRun(client: client, store: store).drain() == .drained)
                #expect(store.totals() == QueueTotals())
                #expect(server.ledger.delivered == 60)
                #expect(server.ledger.duplicates == 0)
                // After a pause of a second the bucket is full again, which is enough for the other mutations.
                #expect(server.ledger.requests <= 62)
            }
        }

        @Test(
            "if everything is rejected, the toolkit asks three times, first with two requests, then waits for the break"
        )
        func theToolkitAsksThreeTimesThenNotUntilTheBreakEndsIfEverythingIsRefused() async throws {
            let clock = ManualClock()
            try await StormServer.serve(admitting: { .seconds(1) }) { server in
                let client = MutationClient(url: server.url, connections: ToolkitRun.requests)
                defer { client.close() }
                let store = try store(1000)
                let run = ToolkitRun(client: client, store: store, timeBase: clock)
                var events = run.queue.events().makeAsyncIterator()
                let drain = Task { try await run.drain() }
                // First a pause as long as the server asks, then longer pauses because that was too short, then the
                // rest of the break.
                var silence = Duration.zero
                while silence < .seconds(30), let event = await events.next() {
                    guard case .paused(let length) = event else { continue }
                    silence += length
                    // A pause ends on time even while a request is in flight.
                    for await status in run.queue.statusUpdates() where status.inFlight == 0 { break }
                    try await clock.waitForSleeper(dueIn: length)
                    if silence < .seconds(30) { clock.advance(by: length) }
                }
                // The 429s of the first two requests are one event if these were in flight together.
                let requests = server.ledger.requests
                #expect((3...4).contains(requests) && server.ledger.throttled == requests)
                drain.cancel()
                #expect(try await drain.value == .cancelled)
                #expect(store.totals().pending == 1000 && store.totals().dead == 0)
                #expect(server.ledger.requests == requests)
            }
        }

        @Test("the naive app sends twenty requests per mutation to a server that rejects everything, and loses all")
        func theNaiveAppSendsTwentyRequestsAMutationToAServerThatRefusesEverythingAndLosesAll() async throws {
            try await StormServer.serve(admitting: { .seconds(1) }) { server in
                let client = MutationClient(url: server.url, connections: 8)
                defer { client.close() }
                await NaiveRun(client: client, timeScale: 0.000_001).drain(MutationGenerator.mutations(10, seed: 1))
                #expect(server.ledger.requests == 200 && server.ledger.delivered == 0)
            }
        }

        @Test("the whole demo finishes with a report of both runs")
        func theWholeDemoEndsWithAReportOfBothRuns() async throws {
            let report = try await Storm(
                mutations: 40, rate: 1000, burst: 1000, timeScale: 0.001, console: Console(standardError: true)
            ).run()
            for result in [report.naive, report.toolkit] {
                #expect(result.requests == 40 && result.delivered == 40)
                #expect(result.lost == 0 && result.duplicates == 0)
            }
        }
    }
#endif
