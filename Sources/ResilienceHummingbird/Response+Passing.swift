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
        ///   - answer: What the other service answered.
        ///   - names: The fields that are passed on; the first value of each. `Content-Type` and `Retry-After` by default. A
        ///     field that is about the connection or the body's encoding must not be among them, such as
        ///     `Transfer-Encoding` or `Content-Length`.
        public init(passing answer: HTTPClientResponse, fields names: [HTTPField.Name] = [.contentType, .retryAfter]) {
            var fields = HTTPFields()
            for name in names { fields[name] = answer.headers.first(name: name.rawName) }
            self.init(
                status: HTTPResponse.Status(code: Int(answer.status.code)), headers: fields,
                body: ResponseBody(asyncSequence: answer.body))
        }
    }
#endif
