#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// What an app shows of an error is its `localizedDescription`. Those of the core are in ResilienceHTTP.

extension SyncQueueError: LocalizedError {
    public var errorDescription: String? { description }
}

extension UndecodablePayload: LocalizedError {
    public var errorDescription: String? { description }
}

extension BatchResultsMismatch: LocalizedError {
    public var errorDescription: String? { description }
}
