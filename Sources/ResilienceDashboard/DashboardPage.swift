#if Dashboard
    /// The page: one document, with its style and its script in it, which loads nothing else.
    ///
    /// It contains no text from outside. All that it shows comes over the stream of events, and the script puts it into
    /// the page by `textContent` and by attributes that are no code, and in no other way.
    enum DashboardPage {
        static let script = String(decoding: PackageResources.page_js, as: UTF8.self)
        static let style = String(decoding: PackageResources.page_css, as: UTF8.self)
        static let content = String(decoding: PackageResources.page_html, as: UTF8.self)
            .replacing("{{style}}", with: style).replacing("{{script}}", with: script)

        /// - Parameters:
        ///   - nonce: Hexadecimal digits. Only a style or a script that has them is taken by the browser.
        ///   - token: Hexadecimal digits, which actions carry; empty if none are allowed.
        static func html(nonce: String, token: String) -> String {
            content.replacing("{{nonce}}", with: nonce).replacing("{{token}}", with: token)
        }
    }
#endif
