#if ServiceLifecycle
    import Resilience
    import ResilienceSync
    import ResilienceTesting
    import ServiceLifecycle
    import ServiceLifecycleTestKit
    import Testing

    @Suite(.timeLimit(.minutes(20))) struct SyncServiceTests {
        let fixture = Fixture()

        /// Runs a service, and shuts it down gracefully while one of three mutations is in flight.
        private func shutDown(_ queue: SyncQueue, meanwhile body: @Sendable () -> Void) async throws {
            fixture.server.hold()
            try await queue.enqueue(Mutation.many(3))
            try await testGracefulShutdown { trigger in
                async let service: Void = SyncService(queue, grace: .seconds(10)).run()
                await fixture.server.waitForCalls(1)
                trigger.triggerGracefulShutdown()
                await fixture.clock.waitForSleepers(1)
                body()
                try await service
            }
        }

        @Test("the service begins with a flush; a graceful shutdown lets requests in flight end, but sends no more")
        func graceful() async throws {
            let (queue, server) = (fixture.queue(), fixture.server)
            try await shutDown(queue) { server.release() }
            #expect(server.callCount == 1)
            #expect(try await queue.status.pending == 2)
            await #expect(throws: SyncQueueError.stopped) { try await queue.flush() }
        }

        @Test("requests that take longer than the grace period are cancelled and stay pending")
        func graceIsOver() async throws {
            let (queue, server) = (fixture.queue(), fixture.server)
            try await shutDown(queue) { fixture.clock.advance(by: .seconds(10)) }
            #expect(try await queue.status.pending == 3 && server.running == 0)
        }

        @Test("a cancelled service stops the queue at once")
        func cancelled() async throws {
            let (queue, server) = (fixture.queue(), fixture.server)
            server.hold()
            try await queue.enqueue(Mutation("a1"))
            let service = Task { try await SyncService(queue).run() }
            await server.waitForCalls(1)
            service.cancel()
            await #expect(throws: CancellationError.self) { try await service.value }
            #expect(try await queue.status.pending == 1 && server.running == 0)
        }
    }
#endif
