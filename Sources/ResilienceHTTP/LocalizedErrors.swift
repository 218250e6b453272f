// Here and not in the core, which does without Foundation.
#if canImport(FoundationEssentials)
    public import FoundationEssentials
#elseif canImport(Foundation)
    public import Foundation
#endif

#if canImport(FoundationEssentials) || canImport(Foundation)
    public import Resilience

    // What an app shows of an error is its `localizedDescription`.

    extension CircuitOpen: LocalizedError {
        public var errorDescription: String? { description }
    }

    extension Throttled: LocalizedError {
        public var errorDescription: String? { description }
    }

    extension BulkheadFull: LocalizedError {
        public var errorDescription: String? { description }
    }

    extension WouldWait: LocalizedError {
        public var errorDescription: String? { description }
    }

    extension DeadlinePassed: LocalizedError {
        public var errorDescription: String? { description }
    }

    extension TimedOut: LocalizedError {
        public var errorDescription: String? { description }
    }

    extension RetriesExhausted: LocalizedError {
        public var errorDescription: String? { description }
    }

    extension CancelledWhileWaiting: LocalizedError {
        public var errorDescription: String? { description }
    }

    extension UnusableSnapshot: LocalizedError {
        public var errorDescription: String? { description }
    }

    extension InvalidSettings: LocalizedError {
        public var errorDescription: String? { description }
    }

    extension HTTPStatusError: LocalizedError {
        public var errorDescription: String? { description }
    }
#endif
