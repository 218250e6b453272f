import TestSupport
import Testing

/// Checks every documentation page against its code.
@Suite struct GuideTests {
    @Test("the guides' code compiles and runs: each line is also in a test (C8)", arguments: try Guide.all())
    func code(guide: Guide) throws {
        let missing = try guide.codeWithoutTest()
        #expect(missing == [])
    }

    @Test(
        "each line of code in an adapter's pages is also in a test of the adapter",
        arguments: [
            "ResilienceAsyncHTTPClient", "ResilienceBlocking", "ResilienceConfiguration", "ResilienceDashboard",
            "ResilienceFleet", "ResilienceGRPC",
            "ResilienceHTTP", "ResilienceHummingbird", "ResilienceObservability",
        ])
    func adapters(module: String) throws {
        let pages = try Guide.pages(of: module)
        #expect(pages.contains { !$0.code.isEmpty })
        for page in pages {
            let missing = try page.codeWithoutTest(of: module)
            #expect(missing == [], "\(page)")
        }
    }

    @Test("each integration takes at most three lines, which are also in a test of its adapter")
    func adoptions() throws {
        let rows = try Guide.adoptions()
        #expect(rows.count > 10)
        for row in rows {
            let missing = try row.codeWithoutTest()
            #expect(missing == [], "\(row)")
            #expect((1...3).contains(row.code.count), "\(row)")
        }
    }

    #if os(Linux) || os(macOS)
        @Test(
            "the guides' code compiles unchanged, at the top level of a program (C8)",
            .enabled(if: Guide.hasModules),
            arguments: try Guide.programs())
        func program(guide: Guide) async throws {
            let errors = try await guide.compilerErrors()
            #expect(errors == "")
        }

        @Test("the code of every page is a whole program, except on the pages with parts of test suites or servers")
        func allPrograms() throws {
            let others = try Guide.all().filter { !$0.code.isEmpty && !$0.isProgram }.map(\.name)
            #expect(
                Set(others) == [
                    "AServiceInFifteenMinutes", "GettingStartedServer", "TestingSettings",
                    "TestingCodeThatUsesPolicies",
                ])
        }
    #endif

    @Test("every guide in the documentation catalog has code, and a landing page links to it")
    func linked() throws {
        let landing = try policyProducts.map { try Guide($0, of: $0).text }.joined()
        let all = try Guide.all()
        #expect(all.reduce(0) { $0 + $1.code.count } > 300)
        let guides = all.filter { $0.name.hasSuffix("Guide") }
        #expect(guides.count >= 7)
        for guide in guides {
            #expect(!guide.code.isEmpty, "\(guide)")
            let isLinked = landing.contains("<doc:\(guide)>")
            #expect(isLinked, "\(guide)")
        }
    }
}
