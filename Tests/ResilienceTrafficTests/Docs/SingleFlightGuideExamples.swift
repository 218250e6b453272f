import Resilience
import ResilienceTraffic
import ResilienceTesting
import TestSupport
import Testing

/// The code of Sources/ResilienceTraffic/ResilienceTraffic.docc/SingleFlightGuide.md, unchanged.
@Suite struct SingleFlightGuideExamples {
    struct User {
        typealias ID = Int
    }

    struct Profile: Equatable {
        let name: String
    }

    struct Client {
        let names = ScriptedOperation<Int, String>([.success("Grace"), .success("Ada")])
        let renamed = ScriptedOperation<String, Void>([.success(())])

        func profile(of id: User.ID) async throws -> Profile { Profile(name: try await names(id)) }
        func rename(_ id: User.ID, to name: String) async throws { try await renamed(name) }
    }

    @Test("the guide's calls share one request, and a write makes the next call send another")
    func shared() async throws {
        let (client, id, pipeline) = (Client(), 1, Pipeline("profiles") {})
        let profiles = SingleFlight<User.ID, Profile>("profiles")
        @Sendable func ask() async throws -> Profile {
            let profile = try await profiles.run(for: id) {
                try await pipeline.run { try await client.profile(of: id) }
            }
            return profile
        }
        @Sendable func rename() async throws {
            defer { profiles.forget(id) }
            try await client.rename(id, to: "Ada")
        }
        client.names.hold()
        async let first = ask()
        await client.names.waitForCalls(1)
        try await rename()
        async let second = ask()
        await client.names.waitForCalls(2)
        let status = profiles.status
        print("\(status.waiting) calls wait for \(status.flights) flights")
        #expect(status == SingleFlightStatus(flights: 2, waiting: 2, abandoned: 0))
        client.names.release()
        #expect(try await first == Profile(name: "Grace"))
        #expect(try await second == Profile(name: "Ada"))
    }
}
