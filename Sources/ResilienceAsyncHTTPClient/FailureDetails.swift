#if AsyncHTTPClient
    public import AsyncHTTPClient
    public import NIOCore
    import NIOHTTP1
    public import NIOPosix
    public import Resilience

    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    // The text of a failed request in logs and spans: status, code and host. No body, no field, no path and no query.

    extension HTTPClientResponse: FailureDescribing {
        public var failureDetail: FailureDetail {
            FailureDetail("HTTPClientResponse", status: Int(clamping: status.code))
        }
    }

    extension Exchange: FailureDescribing {
        var failureDetail: FailureDetail { response.failureDetail.at(HTTPClientRequest.host(of: url)) }
    }

    extension HTTPClientError: FailureDescribing {
        /// The error's short description, which names no URL.
        public var failureDetail: FailureDetail { FailureDetail("HTTPClientError", code: shortDescription) }
    }

    extension NIOConnectionError: FailureDescribing {
        /// Why the last address did not answer, or that there is no address; and the host.
        public var failureDetail: FailureDetail {
            let reason = connectionErrors.last.map { FailureDetail(of: $0.error) }
            let isUnknown = reason == nil && (dnsAError != nil || dnsAAAAError != nil)
            return FailureDetail(
                "NIOConnectionError", code: reason.map { $0.code ?? $0.type } ?? (isUnknown ? "unknown host" : nil),
                host: "\(host):\(port)")
        }
    }

    extension IOError: FailureDescribing {
        /// The name of the error number, or the number.
        public var failureDetail: FailureDetail {
            FailureDetail("IOError", code: Self.names[errnoCode] ?? "errno \(errnoCode)")
        }

        private static var names: [CInt: String] {
            [
                ECONNREFUSED: "ECONNREFUSED", ECONNRESET: "ECONNRESET", ECONNABORTED: "ECONNABORTED", EPIPE: "EPIPE",
                ETIMEDOUT: "ETIMEDOUT", EHOSTUNREACH: "EHOSTUNREACH", ENETUNREACH: "ENETUNREACH",
                EADDRNOTAVAIL: "EADDRNOTAVAIL", EADDRINUSE: "EADDRINUSE", EMFILE: "EMFILE", ENFILE: "ENFILE",
                EACCES: "EACCES", EPERM: "EPERM", ENOENT: "ENOENT",
            ]
        }
    }

    extension ExchangeFailed: FailureDescribing {
        /// The detail of ``underlying``, with the host.
        public var failureDetail: FailureDetail { FailureDetail(of: underlying).at(host) }
    }

    extension HTTPClientRequest {
        /// Returns the host of a URL, and its port if it has one: without credentials. nil if there is none.
        static func host(of url: String) -> String? {
            // Splits by bytes, not characters: a combining mark would hide the separator before it, and so reveal a
            // password or a query.
            guard let scheme = url.utf8.firstRange(of: "://".utf8) else { return nil }
            var host = url.utf8[scheme.upperBound...].prefix { !"/?#".utf8.contains($0) }
            if let at = host.lastIndex(of: UInt8(ascii: "@")) { host = host[host.index(after: at)...] }
            // A password that contains a separator stands where a port would be.
            let port = host.last == UInt8(ascii: "]") ? nil : host.lastIndex(of: UInt8(ascii: ":"))
            guard !host.isEmpty, port.map({ host[$0...].dropFirst().allSatisfy { (48...57).contains($0) } }) ?? true
            else {
                return nil
            }
            return String(decoding: host, as: UTF8.self)
        }
    }
#endif
