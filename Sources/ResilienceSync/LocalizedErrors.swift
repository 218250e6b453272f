#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// An app shows an error's `localizedDescription`. The core's errors are extended in ResilienceHTTP.

extension SyncQueueError: LocalizedError {
    public var errorDescription: String? { description }
}

extension UndecodablePayload: LocalizedError {
    public var errorDescription: String? { description }
}

extension BatchResultsMismatch: LocalizedError {
    public var errorDescription: String? { description }
}

extension StatementError: LocalizedError {
    public var errorDescription: String? { description }
}
