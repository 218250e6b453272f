#if StubServer
    public import Foundation

    /// A request as read by a ``StubServer``.
    public struct StubRequest: Sendable, Hashable {
        /// The method, such as `GET`.
        public let method: String
        /// The path as it was sent, with the query.
        public let path: String
        /// The header fields, by names in lower case.
        ///
        /// Repeated fields are joined by commas.
        public let headers: [String: String]
        /// The body; empty if there is none.
        public let body: Data
    }
#endif
