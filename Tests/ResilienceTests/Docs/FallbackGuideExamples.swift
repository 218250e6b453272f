import Resilience
import ResilienceTesting
import TestSupport
import Testing

/// The code of Sources/Resilience/Resilience.docc/FallbackGuide.md, word for word.
@Suite struct FallbackGuideExamples {
    struct Page: Equatable {
        var text: String

        static let degraded = Page(text: "degraded")
    }

    struct Client {
        let pages: ScriptedOperation<Void, Page>

        func activities() async throws -> Page { try await pages() }
        func streams() async throws -> Page { try await pages() }
    }

    @Test("the guide's pipeline returns the fresh page, then the last good page, then a constant")
    func lastGood() async throws {
        let pipeline = Pipeline("activities", isIdempotent: true) {}
        let client = Client(pages: ScriptedOperation([.success(Page(text: "fresh"))], fallback: .failure(Outage())))
        let lastPage = LastGood<Page>(maxAge: .seconds(600))
        let activities = pipeline.withFallback(
            "cache", toLastGood: lastPage
        ) { failure in
            Page.degraded
        }
        let page = try await activities.run { try await client.activities() }
        #expect(page == Page(text: "fresh"))
        #expect(try await activities.run { try await client.activities() } == Page(text: "fresh"))
        lastPage.forget()
        #expect(try await activities.run { try await client.activities() } == .degraded)
    }

    @Test("the guide's substitute asks a mirror, unless a policy rejected the call")
    func mirrored() async throws {
        let mirror = Client(pages: ScriptedOperation(fallback: .success(Page(text: "mirror"))))
        let pipeline = Pipeline("streams") {}
        let streams = pipeline.withFallback { failure in
            failure.verdict == .rejected ? nil : try await mirror.streams()
        }
        #expect(try await streams.run { throw Outage() } == Page(text: "mirror"))
        await #expect(throws: Judged.self) { try await streams.run { throw Judged(verdict: .rejected) } }
    }
}
