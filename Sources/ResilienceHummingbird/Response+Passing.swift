#if Hummingbird && AsyncHTTPClient
    public import AsyncHTTPClient
    public import HTTPTypes
    public import Hummingbird
    import NIOHTTP1

    extension Response {
        /// Creates a response that forwards another service's answer: its status, its streamed body, and some of its
        /// fields.
        ///
        /// ```swift
        /// let answer = try await client.execute(request)
        /// return Response(passing: answer)
        /// ```
        /// - Parameters:
        ///   - answer: The other service's answer. An invalid status becomes 502. In your own route for HEAD, return
        ///     the `createHeadResponse()` of the created response.
        ///   - names: The forwarded fields; the first value of each. `Content-Type` and `Retry-After` by default.
        ///     They must not include fields about the connection or the body's encoding, such as `Transfer-Encoding` or
        ///     `Content-Length`.
        public init(passing answer: HTTPClientResponse, fields names: [HTTPField.Name] = [.contentType, .retryAfter]) {
            var fields = HTTPFields()
            for name in names { fields[name] = answer.headers.first(name: name.rawName) }
            // Over HTTP/2 a status may be any number.
            let code = Int(answer.status.code)
            self.init(
                status: (200...599).contains(code) ? HTTPResponse.Status(code: code) : .badGateway, headers: fields,
                body: ResponseBody(asyncSequence: answer.body))
        }
    }
#endif
