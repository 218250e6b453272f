#if Dashboard
    import Resilience
    import Testing

    @testable import ResilienceDashboard

    @Suite struct DashboardPageTests {
        private let page = DashboardPage.html(nonce: "0123abc", token: "feed")

        @Test("the script never turns text into markup or code")
        func noMarkup() {
            for word in [
                "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "setTimeout('",
                "DOMParser", "srcdoc", "createContextualFragment", "javascript:", ".setHTML",
            ] {
                #expect(!page.contains(word), "\(word)")
            }
        }

        @Test("the page loads nothing from elsewhere, and its only inline code has the nonce")
        func selfContained() {
            for word in ["http://", "https://", "src=", "@import", "url(", " style=\"", " onclick"] {
                #expect(!page.contains(word), "\(word)")
            }
            #expect(page.matches(of: /<script[^>]*>/).map { String($0.output) } == ["<script nonce=\"0123abc\">"])
            #expect(page.matches(of: /<style[^>]*>/).map { String($0.output) } == ["<style nonce=\"0123abc\">"])
            #expect(page.contains("<meta name=\"resilience-token\" content=\"feed\">"))
            #expect(page.matches(of: /<\/script/).count == 1 && page.matches(of: /<\/style/).count == 1)
        }

        @Test("every element that the script looks for is in the page")
        func ids() {
            let wanted = Set(DashboardPage.script.matches(of: /\$\('([a-z-]+)'\)/).map { String($0.output.1) })
            #expect(wanted.count > 15)
            for id in wanted { #expect(DashboardPage.content.contains("id=\"\(id)\""), "\(id)") }
        }

        @Test("the page has what keyboards and screen readers need")
        func accessible() {
            for word in [
                "lang=\"en\"", "aria-live=\"polite\"", "class=\"skip\"", "role=\"status\"", "role=\"alert\"",
                ":focus-visible", "prefers-color-scheme: dark", "prefers-reduced-motion", "<noscript>",
            ] {
                #expect(page.contains(word), "\(word)")
            }
        }

        @Test("every unit has a text, and every level a style")
        func words() throws {
            for unit in StatusReading.Unit.allCases {
                #expect(DashboardPage.script.contains(try Regex("\\n  (count, )?\(unit.rawValue)[:,]")), "\(unit)")
            }
            for level in PolicyCondition.Level.allCases where level != .off {
                #expect(DashboardPage.style.contains(try Regex("\\.badge\\.\(level.rawValue)[ ,]")), "\(level)")
            }
        }

        @Test("settings out of range are clamped")
        func settings() {
            let least = DashboardConfiguration(maxClients: .min, limit: -1, history: .seconds(-1)).checked
            #expect(least == DashboardConfiguration(maxClients: 1, limit: 1, history: .seconds(60)))
            #expect(DashboardConfiguration(history: .seconds(Int64.max)).checked.history == .seconds(86_400))
            #expect(DashboardConfiguration().checked == DashboardConfiguration())
            #expect(!DashboardConfiguration().allowsActions)
        }
    }
#endif
