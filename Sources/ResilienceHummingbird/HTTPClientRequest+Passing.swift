#if Hummingbird && AsyncHTTPClient
    public import AsyncHTTPClient
    import HTTPTypes
    public import Hummingbird
    public import NIOCore
    import NIOHTTP1

    extension HTTPClientRequest {
        /// Creates a request that forwards a client's request to another service: its method, its query, its fields and
        /// its body.
        ///
        /// ```swift
        /// let asked = try await HTTPClientRequest(passing: request, to: "http://127.0.0.1:8081/reviews")
        /// return Response(passing: try await client.execute(asked))
        /// ```
        ///
        /// These fields are not forwarded:
        ///
        /// - Fields about the client's own connection (RFC 9110 §7.6.1): `Connection`, the fields that it names,
        ///   `Keep-Alive`, `Proxy-Connection`, `TE`, `Trailer`, `Transfer-Encoding`, `Upgrade`, `HTTP2-Settings`;
        ///   `Proxy-Authorization`, which is for this service; `Expect`, which is met when the body has arrived.
        /// - `Host` and `Content-Length`, which the HTTP client writes itself.
        /// - `Accept-Encoding`, `Range` and `If-Range`, since `Response(passing:)` does not forward the fields of
        ///   their answers.
        ///
        /// All others are forwarded, including `Authorization` and `Cookie`: remove any that the other service must not
        /// see. `Idempotency-Key` is forwarded, so the pipeline repeats requests that may be repeated.
        ///
        /// The body is collected, so that it can be sent again.
        ///
        /// - Parameters:
        ///   - request: The client's request.
        ///   - url: The URL at the other service. The client's query is added, unless the URL has one.
        ///   - maxBody: The largest body in bytes, 0 or more; 2 MiB by default.
        ///   - client: The address of the client's connection, which is added at the end of `X-Forwarded-For`. nil,
        ///     the default, leaves that field unchanged, so the other service must not trust it.
        /// - Throws: `HTTPError` with status 413 if the body is longer; the error of the client's connection.
        public init(
            passing request: Request, to url: String, upTo maxBody: Int = 2 * 1024 * 1024,
            from client: SocketAddress? = nil
        ) async throws {
            let query = url.contains("?") ? nil : request.uri.query.map(Self.encoded)
            self.init(url: query.map { "\(url)?\($0)" } ?? url)
            method = HTTPMethod(rawValue: request.method.rawValue)
            let named = request.headers[values: .connection].flatMap { $0.split(separator: ",") }
                .map { $0.trimmingPrefix { $0 == " " || $0 == "\t" } }
                .map { $0.prefix { $0 != " " && $0 != "\t" }.lowercased() }
            let dropped = Self.notPassedOn.union(named)
            for field in request.headers where !dropped.contains(field.name.canonicalName) {
                headers.add(name: field.name.rawName, value: field.value)
            }
            if let address = client?.ipAddress { headers.add(name: "X-Forwarded-For", value: address) }
            do {
                let collected = try await request.body.collect(upTo: max(0, maxBody))
                if collected.readableBytes > 0 { body = .bytes(collected) }
            } catch is NIOTooManyBytesError {
                throw HTTPError(.contentTooLarge)
            }
        }

        /// A valid query of a URL (RFC 3986 §3.4). Browsers send `[` and `|` unencoded; if Foundation's `URL` finds one
        /// of these, it encodes the already encoded query again.
        private static func encoded(_ query: String) -> String {
            var encoded = ""
            var rest = query.utf8[...]
            while let byte = rest.popFirst() {
                let isEscape = byte == UInt8(ascii: "%") && rest.prefix(2).count { digits.contains($0) } == 2
                if isEscape || allowed.contains(byte) {
                    encoded.unicodeScalars.append(Unicode.Scalar(byte))
                } else {
                    encoded += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
                }
            }
            return encoded
        }

        private static let digits = Set("0123456789abcdefABCDEF".utf8)
        private static let allowed = digits.union(
            "GHIJKLMNOPQRSTUVWXYZghijklmnopqrstuvwxyz-._~!$&'()*+,;=:@/?".utf8)

        private static let notPassedOn: Set<String> = [
            "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
            "http2-settings",
            "proxy-authorization", "expect", "host", "content-length", "accept-encoding", "range", "if-range",
        ]
    }
#endif
