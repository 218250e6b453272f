// In this module, not in the core, because the core does not import Foundation.
#if canImport(FoundationEssentials)
    public import FoundationEssentials
#elseif canImport(Foundation)
    public import Foundation
#endif

#if canImport(FoundationEssentials) || canImport(Foundation)
    public import Resilience

    // An app shows an error's `localizedDescription`, which is its `errorDescription`.

    extension LocalizedError where Self: PolicyError {
        /// The description, even of an error of your own.
        public var errorDescription: String? { description }
    }

    extension CircuitOpen: LocalizedError {}
    extension ThrottleExceeded: LocalizedError {}
    extension BulkheadFull: LocalizedError {}
    extension WouldWait: LocalizedError {}
    extension DeadlinePassed: LocalizedError {}
    extension TimedOut: LocalizedError {}
    extension RetriesExhausted: LocalizedError {}
    extension CancelledWhileWaiting: LocalizedError {}

    extension InjectedFault: LocalizedError {
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
