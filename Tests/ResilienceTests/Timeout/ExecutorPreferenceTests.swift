#if compiler(>=6.3)
    import Dispatch
    import Resilience
    import Testing

    @Suite(.timeLimit(.minutes(5))) struct ExecutorPreferenceTests {
        private final class Queue: TaskExecutor {
            private let queue = DispatchQueue(label: "preferred")

            func enqueue(_ job: consuming ExecutorJob) {
                let job = UnownedJob(job)
                queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
            }
        }

        private let queue = Queue()

        @Test("the executor that the caller's task prefers is that of what a timeout or a deadline limits, too")
        func kept() async throws {
            guard #available(macOS 26.4, macCatalyst 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else {
                return
            }
            let preferred = queue.asUnownedTaskExecutor()
            let limit = Duration.seconds(3600)
            let options = CallOptions(deadline: SystemTimeBase.shared.now + limit)
            let executors = try await withTaskExecutorPreference(queue) {
                [
                    try await Timeout(limit).run { Self.executor },
                    try await AbandoningTimeout(limit).run { Self.executor },
                    try await Pipeline {}.run(options: options) { Self.executor },
                ]
            }
            #expect(executors == [preferred, preferred, preferred])
        }

        @available(macOS 26.4, macCatalyst 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *)
        private static var executor: UnownedTaskExecutor? { withUnsafeCurrentTask { $0?.unownedTaskExecutor } }
    }
#endif
