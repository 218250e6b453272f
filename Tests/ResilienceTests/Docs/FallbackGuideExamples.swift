import Foundation
import Resilience
import ResilienceTesting
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

    @Test("the guide's pipeline hands back the fresh page, the last one while it is fresh enough, then a constant")
    func lastGood() async throws {
        let pipeline = Pipeline("activities") {}
        let client = Client(pages: ScriptedOperation([.success(Page(text: "fresh"))], fallback: .failure(Outage())))
        let lastPage = LastGood<Page>(maxAge: .seconds(600))
        let activities = pipeline.withFallback("cache", toLastGood: lastPage) { failure in Page.degraded }
        let page = try await activities.run { try await client.activities() }
        #expect(page == Page(text: "fresh"))
        #expect(try await activities.run { try await client.activities() } == Page(text: "fresh"))
        lastPage.forget()
        #expect(try await activities.run { try await client.activities() } == .degraded)
    }

    @Test("the guide's substitute asks a mirror, unless a policy of ours refused the call")
    func mirrored() async throws {
        let mirror = Client(pages: ScriptedOperation(fallback: .success(Page(text: "mirror"))))
        let pipeline = Pipeline("streams") {}
        let streams = pipeline.withFallback { failure in
            failure.verdict == .rejected ? nil : try await mirror.streams()
        }
        #expect(try await streams.run { throw Outage() } == Page(text: "mirror"))
        await #expect(throws: Judged.self) { try await streams.run { throw Judged(verdict: .rejected) } }
    }

    @Test("every line of the guide's code is in this file, and every log line is one of an event")
    func complete() throws {
        let guide = try GuideText("FallbackGuide")
        #expect(guide.code.count == 6)
        #expect(try guide.missing(in: #filePath) == [])
        for event in [FallbackEvent.fellBack(.transient), .failed(.transient, error: "empty")] {
            #expect(guide.text.contains("| `\(event)` |"), "\(event)")
        }
        #expect(VerdictSet.outages == [.transient, .uncertain, .throttled, .rejected])
    }
}

/// An article of the core's documentation.
struct GuideText {
    let text: String
    /// The lines of its code.
    let code: [String]

    init(_ name: String) throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        text = try String(
            contentsOf: root.appending(path: "Sources/Resilience/Resilience.docc/\(name).md"), encoding: .utf8)
        code = text.components(separatedBy: "```swift\n").dropFirst()
            .flatMap { $0.components(separatedBy: "\n```")[0].split(separator: "\n").map(String.init) }
    }

    /// Lines of its code that are not in this file, but for spaces: the formatter sets them before a comment.
    func missing(in file: String) throws -> [String] {
        let lines = Set(
            try String(contentsOf: URL(filePath: file), encoding: .utf8).split(separator: "\n").map(Self.words))
        return code.filter { !lines.contains(Self.words($0[...])) }
    }

    private static func words(_ line: Substring) -> [Substring] { line.split(separator: " ") }
}
