import Resilience
import ResilienceTraffic
import ResilienceTesting
import TestSupport
import Testing

/// The code of Sources/ResilienceTraffic/ResilienceTraffic.docc/CacheGuide.md, unchanged.
@Suite struct CacheGuideExamples {
    struct User {
        typealias ID = Int
    }

    struct Profile: Equatable {
        let name: String
    }

    struct Page {
        let body: String
        let maxAge: Duration?
    }

    struct Client {
        let names = ScriptedOperation<Int, String>([.success("Grace"), .success("Ada")])
        let renamed = ScriptedOperation<String, Void>([.success(())])

        func profile(of id: User.ID) async throws -> Profile { Profile(name: try await names(id)) }
        func rename(_ id: User.ID, to name: String) async throws { try await renamed(name) }
    }

    @Test("the guide's cache loads once, and again after a write")
    func kept() async throws {
        let (client, id, pipeline) = (Client(), 1, Pipeline("profiles") {})
        let profiles = CallCache<User.ID, Profile>(
            "profiles",
            lifetime: CacheLifetime(
                freshFor: .seconds(60),
                staleWhileRevalidate: .seconds(30),
                staleIfError: .seconds(3600)))

        let profile = try await profiles.value(for: id) {
            try await pipeline.run { try await client.profile(of: id) }
        }
        #expect(profile == Profile(name: "Grace"))
        #expect(client.names.callCount == 1)
        func rename() async throws {
            defer { profiles.remove(id) }
            try await client.rename(id, to: "Ada")
        }
        try await rename()
        let renamed = try await profiles.value(for: id) { try await client.profile(of: id) }
        #expect(renamed == Profile(name: "Ada"))
    }

    @Test("the guide's pages have their own lifetimes and costs")
    func pages() {
        let pages = CallCache<String, Page>(
            "pages", lifetime: CacheLifetime(freshFor: .seconds(10)),
            failuresFor: .seconds(5),
            maxCount: 10_000, maxCost: 50_000_000, costOf: { $0.body.count },
            lifetimeOf: { _, page in
                page.maxAge.map { CacheLifetime(freshFor: $0) }
            })
        pages.store(Page(body: "long", maxAge: .zero), for: "a")
        pages.store(Page(body: "longer", maxAge: nil), for: "b")
        #expect(pages.freshValue(for: "a") == nil && pages.status.count == 1 && pages.status.cost == 6)
    }
}
