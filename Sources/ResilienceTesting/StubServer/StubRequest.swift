#if StubServer
    public import Foundation

    /// A request as a ``StubServer`` read it.
    public struct StubRequest: Sendable, Hashable {
        public let method: String
        /// As it was sent, with the query.
        public let path: String
        /// By names in lower case; the values of a field that came more than once are joined by commas.
        public let headers: [String: String]
        public let body: Data
    }
#endif
