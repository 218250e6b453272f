#if canImport(FoundationEssentials)
    public import FoundationEssentials
#elseif canImport(Foundation)
    public import Foundation
#endif

#if canImport(FoundationEssentials) || canImport(Foundation)
    // An app shows an error's `localizedDescription`, which is its `errorDescription`.

    extension AdaptiveThrottleExceeded: LocalizedError {
        public var errorDescription: String? { description }
    }

    extension NoEndpoint: LocalizedError {
        public var errorDescription: String? { description }
    }
#endif
