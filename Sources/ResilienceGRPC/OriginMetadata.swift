#if GRPC
    import GRPCCore
    import Resilience
    import ResilienceHTTP

    /// The origin of an RPC in its metadata.
    enum OriginMetadata {
        /// The number of earlier attempts (gRPC's design A6).
        static let attempts = "grpc-previous-rpc-attempts"
        private static let fields = OriginFields(attempt: nil)

        /// Adds the priority, unless the metadata have one.
        static func add(_ priority: CallPriority?, to metadata: inout Metadata) {
            for (name, value) in fields.values(priority: priority) where metadata.joined(name) == nil {
                metadata.addString(value, forKey: name)
            }
        }

        /// - Parameter highest: The highest priority that a client may ask for; nil if it may ask for none.
        static func origin(in metadata: Metadata, atMost highest: CallPriority?) -> CallOrigin {
            let before = metadata.joined(attempts).flatMap { Int($0) } ?? 0
            let priority = highest.flatMap { fields.origin(atMost: $0, header: metadata.joined).priority }
            return CallOrigin(priority: priority, attempt: before < .max ? before + 1 : .max)
        }
    }

    extension Metadata {
        /// The values of a key, joined by commas; nil if there are none.
        func joined(_ key: String) -> String? {
            let values = Array(self[stringValues: key])
            return values.isEmpty ? nil : values.joined(separator: ", ")
        }
    }
#endif
