// In this module and not in the core, because the core does not import Foundation.
#if canImport(FoundationEssentials)
    public import FoundationEssentials
#elseif canImport(Foundation)
    public import Foundation
#endif

#if canImport(FoundationEssentials) || canImport(Foundation)
    public import Resilience

    // An app shows an error's `localizedDescription`, which is its `errorDescription`.

    extension CircuitOpen: LocalizedError {
        public var errorDescription: String? { description }
    }

    extension InjectedFault: LocalizedError {
        public var errorDescription: String? { description }
    }

    extension ThrottleExceeded: LocalizedError {
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
