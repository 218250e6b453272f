import Foundation
import ResilienceHTTP
import Testing

/// The table of dialects, in the code and in the documentation.
@Suite struct RateLimitTableTests {
    @Test("every dialect except the first and the last has one row, with a source")
    func rows() {
        #expect(
            RateLimitRow.all.map(\.dialect).sorted { "\($0)" < "\($1)" }
                == RateLimitDialect.allCases.filter { ![.automatic, .none].contains($0) }.sorted { "\($0)" < "\($1)" })
        #expect(RateLimitRow.all.allSatisfy { $0.source.hasPrefix("https://") })
        let names = RateLimitRow.all.flatMap { $0.limits.flatMap(\.names) + $0.waits }
        #expect(names.allSatisfy { $0 == $0.lowercased() && !$0.contains("*") })
    }

    @Test("a field means the same in every row that has it, so that dialects are not confused")
    func ambiguity() {
        var forms: [String: Set<LimitForm>] = [:]
        for form in RateLimitRow.all.flatMap(\.limits) {
            for name in form.names { forms[name, default: []].insert(form) }
        }
        // Values have one shape in the drafts before 8, and another shape from draft 8 on.
        #expect(forms.filter { $0.value.count > 1 }.keys.sorted() == ["ratelimit"])
        #expect(Set(RateLimitRow.all.flatMap(\.waits)).isDisjoint(with: forms.keys))
    }

    @Test("the documentation's table matches the code")
    func documentation() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/ResilienceHTTP/ResilienceHTTP.docc/RateLimitDialects.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let documented = text.split(separator: "\n").filter { $0.hasPrefix("| ``RateLimitDialect/") }.map(String.init)
        let expected = RateLimitRow.all.map { row in
            let limits = row.limits.map(\.text).joined(separator: ", ")
            let waits = (row.waits + (row.dialect == .grpc ? ["grpc-retry-pushback-ms"] : [])).map { "`\($0)`" }
            return "| ``RateLimitDialect/\(row.dialect)`` | \(limits) | \(waits.joined(separator: ", ")) "
                + "| [\(URL(string: row.source)?.host() ?? "")](\(row.source)) |"
        }
        #expect(documented == expected, "\(expected.joined(separator: "\n"))")
    }
}
