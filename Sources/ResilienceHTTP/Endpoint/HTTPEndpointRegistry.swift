public import Resilience

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#elseif canImport(Foundation)
    public import Foundation
#endif

/// A registry with one pipeline for each endpoint of HTTP services.
///
/// ```swift
/// let pipelines = HTTPEndpointRegistry { Pipeline.http("\($0)") }
/// let users = pipelines[url: url, template: "/users/{id}"]
/// ```
public typealias HTTPEndpointRegistry = PipelineRegistry<HTTPEndpoint>

#if canImport(FoundationEssentials) || canImport(Foundation)
    extension HTTPEndpoint {
        /// Creates the key of a URL.
        ///
        /// - Parameters:
        ///   - url: The URL. Its path is not used, since it holds identifiers.
        ///   - template: The template of the path, such as `/users/{id}`. Empty, the default, for the whole host.
        public init(_ url: URL, template: String = "") {
            self.init(
                scheme: url.scheme ?? "", host: url.host(percentEncoded: true) ?? "", port: url.port,
                template: template)
        }
    }

    extension PolicyRegistry where Key == HTTPEndpoint {
        /// The value for the endpoint of a URL, made now if there is none.
        ///
        /// Counts as a use of the key.
        ///
        /// - Parameters:
        ///   - url: The URL. Its path is not used, since it holds identifiers.
        ///   - template: The template of the path, such as `/users/{id}`. Empty, the default, for the whole host.
        public subscript(url url: URL, template template: String = "") -> Value {
            self[HTTPEndpoint(url, template: template)]
        }
    }
#endif
