#if Dashboard
    /// The page: one document, including its style and its script, which loads nothing else.
    ///
    /// It contains no text from outside. All its data comes over the stream of events, and the script puts it into the
    /// page only by `textContent` and by attributes that are not code.
    enum DashboardPage {
        static let script = String(decoding: PackageResources.page_js, as: UTF8.self)
        static let style = String(decoding: PackageResources.page_css, as: UTF8.self)
        static let content = String(decoding: PackageResources.page_html, as: UTF8.self)
            .replacing("{{style}}", with: style).replacing("{{script}}", with: script)

        /// - Parameters:
        ///   - nonce: Hexadecimal digits. The browser accepts only a style or a script with this nonce.
        ///   - token: Hexadecimal digits that actions carry; empty if no actions are allowed.
        static func html(nonce: String, token: String) -> String {
            content.replacing("{{nonce}}", with: nonce).replacing("{{token}}", with: token)
        }
    }
#endif
