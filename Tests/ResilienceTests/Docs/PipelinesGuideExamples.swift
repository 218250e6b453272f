import Resilience
import ResilienceTesting
import TestSupport
import Testing

private let breaker = CircuitBreaker()

/// The code of Sources/Resilience/Resilience.docc/PipelinesGuide.md, word for word.
@Suite struct PipelinesGuideExamples {
    private enum ClientError: Error { case notFound }

    private struct Upload {
        let isDone = true
    }

    private struct Client: Sendable {
        let answers = ScriptedOperation<Int, Int>([.success(503), .success(200)])

        func activities() async throws -> String { "activities" }
        func export() async throws {}
        func head(attempt: Int) async throws -> Int { try await answers(attempt) }
        func beginUpload() -> Upload { Upload() }
        func convert() async throws -> Bool { true }
    }

    private let client = Client()
    private let bulkhead = Bulkhead(limit: 1)
    private let log = EventRecorder()

    @Test("the guide's forecast predicts a call")
    func forecast() {
        let pipeline = stack()
        switch pipeline.forecast().outcome {
        case .begins: print("free")
        case .waits(let time): print("busy, about \(time ?? .seconds(1))")
        case .isRejected(let retryAfter): print("not now", retryAfter ?? .seconds(1))
        }
        #expect(pipeline.forecast().begins)
    }

    private func stack() -> Pipeline {
        let pipeline = Pipeline("activities", isIdempotent: true) {
            Timeout("total", limit: .seconds(30))  // the whole call, waits included
            Retry(maxRetries: 3)
            breaker  // shared by all who call this endpoint
            Throttle(limit: .perSecond(10, burst: 20), maxWait: .seconds(5))
            Bulkhead(limit: 16, queue: 64)
            Timeout("attempt", limit: .seconds(5))
        }
        return pipeline
    }

    @Test("the guide's usual stack has no warnings and runs, even with options")
    func usual() async throws {
        let pipeline = stack()
        let page = try await pipeline.run { try await client.activities() }
        let options = RunOptions(cost: 5, priority: .low, isIdempotent: true)
        try await pipeline.run(options: options) { try await client.export() }
        #expect(page == "activities" && pipeline.warnings.isEmpty)
    }

    @Test("the guide's retry repeats a call whose status means failure")
    func judging() async throws {
        let pipeline = Pipeline { Retry(maxRetries: 1, backoff: .none) }
        let status = try await pipeline.run(
            judging: { $0 < 500 ? .success : .transient }
        ) { attempt in
            try await client.head(attempt: attempt.number)
        }
        #expect(status == 200 && client.answers.inputs == [1, 2])
    }

    @Test("the guide's outer pipeline sets classifier and observers; the inner pipeline adds its policies")
    func nested() async throws {
        let pipeline = stack()
        let strict = Classifier { error in
            (error as? ClientError) == .notFound ? .permanent : nil
        }
        let lookup = Pipeline(
            "lookup", classifier: strict, observers: PolicyObservers(log)
        ) {
            Retry(maxRetries: 1)
            pipeline
        }
        var attempts = 0
        await #expect(throws: ClientError.notFound) {
            try await lookup.run {
                attempts += 1
                throw ClientError.notFound
            }
        }
        #expect(attempts == 1 && lookup.elements.count == 7 && !lookup.warnings.isEmpty)
        #expect(log.events.allSatisfy { $0.pipeline == "lookup" } && !log.events.isEmpty)
    }

    final class Recording {
        private var permit: PolicyPermit?

        func start() throws { permit = try breaker.tryAcquire() }
        func stop() { permit.take()?.complete(.success) }
    }

    @Test("the guide's permits are taken and returned")
    func byHand() async throws {
        func upload() throws {
            let permit = try breaker.tryAcquire()  // never waits: throws WouldWait instead
            let upload = client.beginUpload()
            permit.complete(upload.isDone ? .success : .transient)
        }

        func convert() async throws {
            let permit = try await bulkhead.acquire()
            permit.complete(try await client.convert() ? .success : .transient)
        }
        try upload()
        try await convert()
        let recording = Recording()
        try recording.start()
        recording.stop()
        #expect(breaker.status.failureCount == 0 && bulkhead.status.inUse == 0)
    }

    @Test("the guide's deadline travels, and its pipeline admits work by hand")
    func travelling() async throws {
        let pipeline = stack()
        let exported = try await CallDeadline(after: .seconds(2)).run {
            let page = try await pipeline.run { try await client.activities() }
            try await pipeline.run { try await client.export() }
            return page
        }
        #expect(exported == "activities")
        func send() async throws {
            let permit = try await pipeline.acquire()
            let upload = client.beginUpload()
            permit.complete(upload.isDone ? .success : .transient)
        }
        try await send()
    }
}
