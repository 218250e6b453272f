public import Resilience

#if canImport(Foundation)
    public import Foundation

    #if canImport(FoundationNetworking)
        public import FoundationNetworking
    #endif
#endif

// The text of a failed request in logs and spans: status, code and host. No body, no field, no path and no query.

extension HTTPStatusError: FailureDescribing {
    public var failureDetail: FailureDetail { FailureDetail("HTTPStatusError", status: status) }
}

#if canImport(Foundation)
    extension HTTPURLResponse: FailureDescribing {
        public var failureDetail: FailureDetail {
            FailureDetail("HTTPURLResponse", status: statusCode, host: url?.hostAndPort)
        }
    }

    extension URLError: FailureDescribing {
        public var failureDetail: FailureDetail {
            FailureDetail("URLError", code: "\(code.rawValue)", host: failingURL?.hostAndPort)
        }
    }

    extension POSIXError: FailureDescribing {
        public var failureDetail: FailureDetail { FailureDetail("POSIXError", code: "\(code.rawValue)") }
    }

    extension NSError: FailureDescribing {
        /// The error's domain and code.
        public var failureDetail: FailureDetail { FailureDetail("NSError", code: "\(domain) \(code)") }
    }

    extension URL {
        fileprivate var hostAndPort: String? { host.map { host in port.map { "\(host):\($0)" } ?? host } }
    }
#endif

#if HTTPTypes
    public import HTTPTypes

    extension HTTPResponse: FailureDescribing {
        public var failureDetail: FailureDetail { FailureDetail("HTTPResponse", status: status.code) }
    }
#endif
