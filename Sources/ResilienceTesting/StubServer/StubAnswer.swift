#if StubServer
    public import Foundation

    /// A ``StubServer``'s response to one request.
    public struct StubAnswer: Sendable, Hashable {
        enum Ending { case complete, close, reset }

        /// The status code; nil sends nothing.
        var status: Int?
        var headers: [String: String] = [:]
        var body = Data()
        var ending = Ending.complete
        var delay = Duration.zero

        /// Creates a response.
        ///
        /// It has a `Content-Length` unless `headers` contain one. A 1xx, a 204, a 304 or an answer to a HEAD is sent
        /// without the body. `Connection: close` closes the connection after the answer.
        ///
        /// - Parameters:
        ///   - status: The status code.
        ///   - headers: The header fields; none by default.
        ///   - body: The body; empty by default.
        /// - Returns: The answer.
        public static func status(_ status: Int, headers: [String: String] = [:], body: Data = Data()) -> StubAnswer {
            StubAnswer(status: status, headers: headers, body: body)
        }

        /// Creates a response with a text, with no content type unless `headers` contain one.
        ///
        /// - Parameters:
        ///   - status: The status code.
        ///   - headers: The header fields; none by default.
        ///   - body: The text, sent as UTF-8.
        /// - Returns: The answer.
        public static func status(_ status: Int, headers: [String: String] = [:], body: String) -> StubAnswer {
            .status(status, headers: headers, body: Data(body.utf8))
        }

        /// Creates a response with the content type `application/json`.
        ///
        /// - Parameters:
        ///   - status: The status code.
        ///   - json: The body's text.
        /// - Returns: The answer.
        public static func json(_ status: Int, _ json: String) -> StubAnswer {
            .status(status, headers: ["Content-Type": "application/json"], body: json)
        }

        /// Creates a 200 that ends in the middle: the connection is closed before the body is complete.
        ///
        /// - Parameter bytes: The number of body bytes that are sent, one less than the `Content-Length`.
        /// - Returns: The answer.
        public static func closeMidBody(after bytes: Int) -> StubAnswer { .midBody(bytes, .close) }

        /// Creates a 200 that ends in the middle: the connection is reset before the body is complete.
        ///
        /// - Parameter bytes: The number of body bytes that are sent, one less than the `Content-Length`.
        /// - Returns: The answer.
        public static func resetMidBody(after bytes: Int) -> StubAnswer { .midBody(bytes, .reset) }

        /// Closes the connection without an answer.
        ///
        /// If the connection has carried an answer before, a client may mistake it for an idle connection that has just
        /// ended, and silently resend the request on a new one; `URLSession` does. To see the failure, give the earlier
        /// answer the header `Connection: close`.
        public static let closeWithoutAnswer = StubAnswer(ending: .close)

        /// Resets the connection without an answer; otherwise as ``closeWithoutAnswer``.
        public static let resetWithoutAnswer = StubAnswer(ending: .reset)

        /// Returns this answer, delayed.
        ///
        /// - Parameter delay: How long after the request the answer begins, by the server's time base.
        /// - Returns: The delayed answer.
        public func delayed(by delay: Duration) -> StubAnswer {
            var answer = self
            answer.delay = delay
            return answer
        }

        private static func midBody(_ bytes: Int, _ ending: Ending) -> StubAnswer {
            let body = Data(repeating: UInt8(ascii: "x"), count: max(bytes, 0))
            return StubAnswer(
                status: 200, headers: ["Content-Length": "\(body.count + 1)"], body: body, ending: ending)
        }

        var endsConnection: Bool {
            ending != .complete || headers.contains { $0.lowercased() == "connection" && $1.lowercased() == "close" }
        }

        /// The bytes that go over the wire.
        func bytes(for method: String, isLast: Bool) -> Data {
            guard let status else { return Data() }
            let hasNoLength = status < 200 || status == 204
            let hasNoBody = hasNoLength || status == 304 || method == "HEAD"
            var fields = headers
            if !hasNoLength, !fields.keys.contains(where: { $0.lowercased() == "content-length" }) {
                fields["Content-Length"] = "\(body.count)"
            }
            if isLast { fields["Connection"] = "close" }
            let lines = fields.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)\r\n" }
            let head = Data("HTTP/1.1 \(status) \r\n\(lines.joined())\r\n".utf8)
            return hasNoBody ? head : head + body
        }
    }
#endif
