#if ServiceLifecycle
    import Resilience
    import ResilienceSync
    import ResilienceTesting
    import ServiceLifecycle
    import ServiceLifecycleTestKit
    import Testing

    @Suite(.timeLimit(.minutes(5))) struct SyncServiceTests {
        let fixture = Fixture()

        @Test("the service begins with a flush; a graceful shutdown lets what is in flight end, and sends nothing more")
        func graceful() async throws {
            let (queue, server, clock) = (fixture.queue(), fixture.server, fixture.clock)
            server.hold()
            try await queue.enqueue(Mutation.many(3))
            try await testGracefulShutdown { trigger in
                async let service: Void = SyncService(queue, grace: .seconds(10)).run()
                await server.waitForCalls(1)
                trigger.triggerGracefulShutdown()
                await clock.waitForSleepers(1)
                server.release()
                try await service
            }
            #expect(server.callCount == 1)
            #expect(try await queue.pendingCount() == 2)
            await #expect(throws: SyncQueueError.stopped) { try await queue.flush() }
        }

        @Test("what takes longer than the grace period is cancelled and stays pending")
        func graceIsOver() async throws {
            let (queue, server, clock) = (fixture.queue(), fixture.server, fixture.clock)
            server.hold()
            try await queue.enqueue(Mutation.many(3))
            try await testGracefulShutdown { trigger in
                async let service: Void = SyncService(queue, grace: .seconds(10)).run()
                await server.waitForCalls(1)
                trigger.triggerGracefulShutdown()
                await clock.waitForSleepers(1)
                clock.advance(by: .seconds(10))
                try await service
            }
            #expect(try await queue.pendingCount() == 3 && server.running == 0)
        }

        @Test("a service that is cancelled stops the queue at once")
        func cancelled() async throws {
            let (queue, server) = (fixture.queue(), fixture.server)
            server.hold()
            try await queue.enqueue(Mutation("a1"))
            let service = Task { try await SyncService(queue).run() }
            await server.waitForCalls(1)
            service.cancel()
            await #expect(throws: CancellationError.self) { try await service.value }
            #expect(try await queue.pendingCount() == 1 && server.running == 0)
        }
    }
#endif
