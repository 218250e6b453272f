#if Hummingbird
    public import Hummingbird
    public import NIOCore

    /// A context that knows nothing of a request but where it comes from: for limits by ``ClientKey/address(_:)``.
    ///
    /// ```swift
    /// let router = Router(context: AddressRequestContext.self)
    /// router.add(
    ///     middleware: ThrottleMiddleware(limit: .perSecond(50)) { _, context in
    ///         ClientKey.address(context.remoteAddress)
    ///     })
    /// ```
    public struct AddressRequestContext: RequestContext, RemoteAddressRequestContext {
        public var coreContext: CoreRequestContextStorage
        /// The address of the other end of the connection; nil if there is none, as in Hummingbird's router tests.
        public let remoteAddress: SocketAddress?

        /// Creates a context, as Hummingbird does for each request.
        /// - Parameter source: The connection.
        public init(source: ApplicationRequestContextSource) {
            coreContext = CoreRequestContextStorage(source: source)
            remoteAddress = source.channel.remoteAddress
        }
    }
#endif
