#if Hummingbird
    public import Hummingbird
    public import NIOCore
    import Resilience

    /// A context that has its request's connection, so that a client that disconnects ends its request.
    ///
    /// ``CallFailureMiddleware`` and ``ResilienceMiddleware`` cancel the work for such a request when its client has
    /// closed the connection. ``AddressRequestContext`` is such a context. For your own, keep the `channel` of its
    /// source:
    ///
    /// ```swift
    /// struct Context: ConnectionRequestContext {
    ///     var coreContext: CoreRequestContextStorage
    ///     let connection: any Channel
    ///
    ///     init(source: Source) {
    ///         coreContext = .init(source: source)
    ///         connection = source.channel
    ///     }
    /// }
    /// ```
    public protocol ConnectionRequestContext: RequestContext {
        /// The request's connection: the `channel` of the context's source.
        ///
        /// With HTTP/2, that is the request's own stream.
        var connection: any Channel { get }
    }

    /// Cancels the work for a request when its client disconnects.
    enum ClientWatch {
        /// Whether an outer middleware already watches the client.
        @TaskLocal private static var isOn = false

        /// Runs the work for a request. If its context has the connection, the work is cancelled when the client
        /// disconnects.
        @concurrent static func run<R: Sendable>(
            for context: some RequestContext, _ work: @concurrent () async throws -> R
        ) async throws -> R {
            try await run(on: isOn ? nil : connection(of: context), work)
        }

        /// The connection of a request; nil if the request's context does not have it.
        static func connection(of context: some RequestContext) -> (any Channel)? {
            (context as? any ConnectionRequestContext)?.connection
        }

        /// Runs work in a task of its own, which is cancelled when the client of a connection disconnects. Without a
        /// connection, runs it directly.
        @concurrent static func run<R: Sendable>(
            on connection: (any Channel)?, _ work: @concurrent () async throws -> R
        ) async throws -> R {
            guard let connection else { return try await work() }
            return try await withoutActuallyEscaping(work) { work in
                let lent = Lent(work: work)
                // The task inherits the value.
                let task = $isOn.withValue(true) { Task { try await lent.work() } }
                let departure = Departure { task.cancel() }
                defer { departure.cannotCome() }
                ConnectionWatch.tell(departure, of: connection)
                return try await withTaskCancellationHandler {
                    try await task.value
                } onCancel: {
                    task.cancel()
                }
            }
        }
    }

    /// Unchecked because the work may use values of its caller. Safe: the caller does nothing until the one task that
    /// runs the work has ended.
    private struct Lent<R>: @unchecked Sendable {
        let work: @concurrent () async throws -> R
    }

    /// The action for a client that disconnects before the request has ended.
    private final class Departure: Sendable {
        /// nil once the client has disconnected, or the request has ended.
        private let action: Locked<(@Sendable () -> Void)?>

        init(_ action: @escaping @Sendable () -> Void) { self.action = Locked(action) }

        var canCome: Bool { action.withLock { $0 != nil } }

        func cannotCome() { action.withLock { $0 = nil } }

        func came() { action.withLock { $0.take() }?() }
    }

    /// Whether the client of one connection has disconnected, and the requests to notify.
    private final class ConnectionWatch: Sendable {
        /// The open connections that have had a request.
        private static let all = Locked<[ObjectIdentifier: ConnectionWatch]>([:])

        /// Requests on one connection are answered in order, so at most one departure can still come.
        private let state = Locked<(departures: [Departure], isGone: Bool)>(([], false))

        /// A connection's first request goes to the event loop, to watch the connection; later requests need not.
        static func tell(_ departure: Departure, of connection: any Channel) {
            let key = ObjectIdentifier(connection)
            if let watch = all.withLock({ $0[key] }) { return watch.add(departure) }
            connection.eventLoop.execute {
                if let watch = all.withLock({ $0[key] }) { return watch.add(departure) }
                let watch = ConnectionWatch()
                watch.add(departure)
                do {
                    let handler = DepartureHandler(watch, key)
                    try connection.pipeline.syncOperations.addHandler(handler, position: .first)
                    handler.lookBack(at: connection)
                } catch {
                    // The connection no longer has handlers: it is closed.
                    departure.came()
                }
            }
        }

        private func add(_ departure: Departure) {
            let isGone = state.withLock { state in
                state.departures.removeAll { !$0.canCome }
                if !state.isGone { state.departures.append(departure) }
                return state.isGone
            }
            if isGone { departure.came() }
        }

        func clientHasGone() {
            let departures = state.withLock { state in
                defer { state = ([], true) }
                return state.departures
            }
            for departure in departures { departure.came() }
        }

        func begin(of key: ObjectIdentifier) { Self.all.withLock { $0[key] = self } }

        /// After this, another connection's object may have the same address in memory.
        func end(of key: ObjectIdentifier) { Self.all.withLock { $0[key] = nil } }
    }

    /// Detects that the other end has closed a connection. It is the first of its channel's handlers, since inner
    /// handlers may delay events.
    private final class DepartureHandler: ChannelInboundHandler {
        typealias InboundIn = NIOAny

        private let watch: ConnectionWatch
        private let key: ObjectIdentifier

        init(_ watch: ConnectionWatch, _ key: ObjectIdentifier) { (self.watch, self.key) = (watch, key) }

        /// Checks whether the client closed its end before this handler was added.
        func lookBack(at connection: any Channel) {
            guard let socket = connection as? any SocketOptionProvider else { return }
            #if canImport(Darwin)
                let (closeWait, info) = (5, socket.getTCPConnectionInfo())
            #else
                let (closeWait, info) = (8, socket.getTCPInfo())
            #endif
            info.assumeIsolated().whenSuccess { info in
                // In both systems' structures, the state is the first byte.
                if withUnsafeBytes(of: info, { Int($0[0]) }) == closeWait { self.watch.clientHasGone() }
            }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event as? ChannelEvent == .inputClosed { watch.clientHasGone() }
            context.fireUserInboundEventTriggered(event)
        }

        func handlerAdded(context: ChannelHandlerContext) { watch.begin(of: key) }

        /// The connection has closed.
        func handlerRemoved(context: ChannelHandlerContext) {
            watch.end(of: key)
            watch.clientHasGone()
        }
    }
#endif
