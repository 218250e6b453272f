#if Hummingbird && AsyncHTTPClient
    public import AsyncHTTPClient
    public import HTTPTypes
    public import Hummingbird
    import NIOHTTP1

    extension Response {
        /// Creates a response that passes on what another service answered: its status, its body as it comes, and some
        /// of its fields.
        ///
        /// ```swift
        /// let answer = try await client.execute(request)
        /// return Response(passing: answer)
        /// ```
        /// - Parameters:
        ///   - answer: What the other service answered. A status that is none becomes 502. In a route for HEAD of your own,
        ///     return its `createHeadResponse()`.
        ///   - names: The fields that are passed on; the first value of each. `Content-Type` and `Retry-After` by default. A
        ///     field that is about the connection or the body's encoding must not be among them, such as
        ///     `Transfer-Encoding` or `Content-Length`.
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
