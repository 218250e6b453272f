#if Configuration && ServiceLifecycle
    import Configuration
    import Resilience
    import ResilienceConfiguration
    import ResilienceTesting
    import ServiceLifecycle
    import ServiceLifecycleTestKit
    import TestSupport
    import Testing

    @Suite(.timeLimit(.minutes(20)), .responsive) struct ConfigurationServiceTests {
        private let provider = MutableInMemoryProvider(
            initialValues: ["resilience.pipelines.p.bulkhead.limit": .init(.int(1), isSecret: false)])
        private let recorder = EventRecorder()

        @Test("the service follows the configuration until a graceful shutdown")
        func graceful() async throws {
            let pipelines = try ConfiguredPipelines(
                ["p"], reader: ConfigReader(provider: provider), observers: PolicyObservers(recorder))
            try await testGracefulShutdown { trigger in
                async let service: Void = ConfigurationService(pipelines).run()
                provider.setValue(
                    .init(.int(7), isSecret: false), forKey: AbsoluteConfigKey("resilience.pipelines.p.bulkhead.limit"))
                await recorder.waitForEvents(1)
                let limits = try pipelines["p"].policies(of: Bulkhead.self).map(\.status.limit)
                #expect(limits == [7])
                trigger.triggerGracefulShutdown()
                await service
            }
        }

        @Test("a cancelled service ends")
        func cancelled() async throws {
            let pipelines = try ConfiguredPipelines(["p"], reader: ConfigReader(provider: provider))
            let service = Task { await ConfigurationService(pipelines).run() }
            service.cancel()
            await service.value
        }
    }
#endif
