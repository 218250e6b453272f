import Resilience
import ResilienceHTTP
import ResilienceTesting
import Testing

@Suite struct RateLimitWritingTests {
    private func text(_ quotas: ServerQuota...) -> [String] {
        RateLimitFields.fields(for: quotas).map { "\($0.name): \($0.value)" }
    }

    @Test("a quota is written like the draft's examples")
    func written() {
        #expect(
            text(ServerQuota(limit: 100, remaining: 0, resetsAfter: .milliseconds(29_001), window: .seconds(60)))
                == [#"RateLimit-Policy: "default";q=100;w=60"#, #"RateLimit: "default";r=0;t=30"#])
        #expect(
            text(ServerQuota(name: "minute", limit: 60, remaining: 59), ServerQuota(name: "day", remaining: 7))
                == [#"RateLimit-Policy: "minute";q=60"#, #"RateLimit: "minute";r=59, "day";r=7"#])
        #expect(
            text(ServerQuota(name: "a", unit: "content-bytes", limit: 9, remaining: 7, window: .seconds(1)))
                == [#"RateLimit-Policy: "a";q=9;qu="content-bytes";w=1"#, #"RateLimit: "a";r=7"#])
        #expect(text(ServerQuota(name: "a")) == [])
        #expect(RateLimitFields.fields(for: []).isEmpty)
    }

    @Test("a name of any characters is written as a structured string, and numbers have at most 15 digits")
    func odd() {
        #expect(text(ServerQuota(name: "a\"b\\c\né🔑", remaining: 1)) == [#"RateLimit: "a\"b\\c???";r=1"#])
        #expect(
            text(ServerQuota(name: "", limit: .max, remaining: .max, resetsAfter: .seconds(Int64.max)))
                == [#"RateLimit-Policy: "";q=999999999999999"#, #"RateLimit: "";r=999999999999999;t=9223372037"#])
    }

    @Test("5 000 random quotas read back unchanged, rounded up to seconds")
    func readBack() throws {
        var random = SeededGenerator(seed: 20_261_124)
        let characters = Array(" !\"\\#;=,abc~[]")
        for _ in 0..<5_000 {
            let quotas = (0..<Int.random(in: 1...3, using: &random)).map { number in
                let name = String((0..<4).map { _ in characters[Int.random(in: characters.indices, using: &random)] })
                return ServerQuota(
                    name: "\(number)\(name)", unit: Bool.random(using: &random) ? name : nil,
                    limit: Int.random(in: 0...1_000_000, using: &random),
                    remaining: Int.random(in: 0...100, using: &random),
                    resetsAfter: Bool.random(using: &random)
                        ? .milliseconds(Int.random(in: 0...100_000, using: &random)) : nil,
                    window: .seconds(Int.random(in: 1...86_400, using: &random)))
            }
            let written = Dictionary(uniqueKeysWithValues: RateLimitFields.fields(for: quotas))
            let read = RateLimitFields { name in written.first { $0.key.lowercased() == name }?.value }.quotas
            try #require(read.map(\.name) == quotas.map(\.name))
            #expect(read.map(\.limit) == quotas.map(\.limit) && read.map(\.remaining) == quotas.map(\.remaining))
            #expect(read.map(\.window) == quotas.map(\.window) && read.map(\.unit) == quotas.map(\.unit))
            for (read, quota) in zip(read, quotas) {
                let late = read.resetsAfter.map { $0 - (quota.resetsAfter ?? .seconds(-9)) }
                #expect(late.map { $0 >= .zero && $0 < .seconds(1) } ?? (quota.resetsAfter == nil))
            }
        }
    }

    @Test(
        "a wait is written in whole seconds, rounded up, at least one, and at most the longest",
        arguments: [
            (Duration.zero, "1"), (.seconds(-5), "1"), (.nanoseconds(1), "1"), (.seconds(1), "1"),
            (.milliseconds(1001), "2"), (.seconds(3600), "3600"), (.seconds(3601), "3600"),
            (.seconds(Int64.max), "3600"),
        ])
    func retryAfter(wait: Duration, value: String) throws {
        #expect(RetryAfter.value(for: wait) == value)
        let read = try #require(RetryAfter.wait(value))
        #expect(read >= min(wait, .seconds(3600)))
    }

    @Test("a longest wait below one second counts as one second")
    func longest() { #expect(RetryAfter.value(for: .seconds(9), longest: .zero) == "1") }
}
