#if Logging || Metrics || Tracing
    @testable import ResilienceObservability
    import Testing

    @Suite struct OneLineTests {
        @Test(
            "a text without control characters stays unchanged", arguments: ["", "/api/activities", "5/5 → open", "é🚲"])
        func harmless(text: String) {
            #expect(text.onOneLine == text)
            #expect(text.asLabel == text)
        }

        @Test("characters that break a line or change its direction are escaped")
        func hostile() {
            #expect("a\nb\r\tc\u{1B}[31m\u{0}".onOneLine == "a\\nb\\r\\tc\\u{1B}[31m\\u{0}")
            #expect("\u{85}\u{2028}\u{2029}\u{202E}\u{2066}".onOneLine == "\\u{85}\\u{2028}\\u{2029}\\u{202E}\\u{2066}")
            #expect("\u{200E}\u{200F}\u{61C}".onOneLine == "\\u{200E}\\u{200F}\\u{61C}")
            #expect("<script>\r\n".onOneLine == "<script>\\r\\n")
        }

        @Test("a label has no quotation mark or backslash, because some exporters do not escape them")
        func label() { #expect("a\"} 1\nb\\".asLabel == "a_} 1_b_") }

        @Test("a very long text is cut")
        func long() {
            #expect(String(repeating: "é", count: 2_000).onOneLine == String(repeating: "é", count: 1_000) + "…")
            #expect(String(repeating: "é", count: 1_000).onOneLine.count == 1_000)
            #expect(String(repeating: "é", count: 200).asLabel.count == 128)
        }
    }
#endif
