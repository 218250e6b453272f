#if GRPC
    import Resilience
    @testable import ResilienceGRPC
    import ResilienceTesting
    import Testing

    @Suite struct WatchedTests {
        @Test(
            "every wait ends with a change or a cancellation, whatever the order of the two",
            arguments: 0..<100 as Range<UInt64>)
        func orders(_ seed: UInt64) throws {
            let taken = try ManualClock().run(seed: seed) {
                let watched = Watched(0)
                return await withTaskGroup(of: Int.self) { group in
                    for number in 0..<6 {
                        group.addTask {
                            let task = Task {
                                (try? await watched.wait { state -> Int? in
                                    guard state > 0 else { return nil }
                                    state -= 1
                                    return 1
                                }) ?? 0
                            }
                            // Half of them are cancelled, early or late.
                            if number % 2 == 0 { task.cancel() }
                            return await task.value
                        }
                    }
                    for _ in 0..<6 {
                        group.addTask {
                            watched.change { $0 += 1 }; return 0
                        }
                    }
                    return await group.reduce(0, +)
                }
            }
            #expect((3...6).contains(taken))
        }

        @Test("a cancelled wait throws, unless it has its answer")
        func cancelled() throws {
            try ManualClock().run {
                let watched = Watched(0)
                let waiting = Task { try await watched.wait { $0 > 0 ? $0 : nil } }
                let cancelled = Task { try await watched.wait { $0 < 0 ? $0 : nil } }
                cancelled.cancel()
                await #expect(throws: CancellationError.self) { try await cancelled.value }
                watched.change { $0 = 7 }
                let woken = try await waiting.value
                #expect(woken == 7)
                let answered = Task { try await watched.wait { $0 } }
                answered.cancel()
                let answer = try await answered.value
                #expect(answer == 7)
            }
        }
    }
#endif
