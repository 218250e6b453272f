#if Hummingbird
    public import Hummingbird
    public import NIOCore

    /// A context that has only the client's connection: for limits by ``ClientKey/address(_:)``, and to end the request
    /// of a client that disconnects.
    ///
    /// ```swift
    /// let router = Router(context: AddressRequestContext.self)
    /// router.add(
    ///     middleware: ThrottleMiddleware(limit: .perSecond(50)) { _, context in
    ///         ClientKey.address(context.remoteAddress)
    ///     })
    /// ```
    public struct AddressRequestContext: ConnectionRequestContext, RemoteAddressRequestContext {
        public var coreContext: CoreRequestContextStorage
        public let connection: any Channel
        /// The address of the other end of the connection; nil if there is none, as in Hummingbird's router tests.
        public let remoteAddress: SocketAddress?

        /// Creates a context, as Hummingbird does for each request.
        ///
        /// - Parameter source: The connection.
        public init(source: ApplicationRequestContextSource) {
            coreContext = CoreRequestContextStorage(source: source)
            connection = source.channel
            remoteAddress = source.channel.remoteAddress
        }
    }
#endif
