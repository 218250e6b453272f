#if Hummingbird
    public import Hummingbird
    public import NIOCore
    import Resilience

    /// A context that knows the connection of its request: then a client that goes away ends its request.
    ///
    /// ``CallFailureMiddleware`` and ``ResilienceMiddleware`` cancel the task of such a request when its client has closed the
    /// connection. ``AddressRequestContext`` is such a context. Your own becomes one by keeping the `channel` of its source:
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
        /// The request's connection: the `channel` of the context's source. With HTTP/2, that is the request's own stream.
        var connection: any Channel { get }
    }

    /// Cancels the task of a request when its client has gone.
    ///
    /// That is the task that the server runs the request in, so middleware further out is cancelled with it, as the whole of a
    /// request is in other servers. A task of its own for what is further in would wake threads twice per request.
    enum ClientWatch {
        /// Whether a middleware further out watches the client already.
        @TaskLocal private static var isOn = false

        /// Runs the work for a request. If its context knows the connection, the task is cancelled when the client goes.
        @concurrent static func run<R>(
            for context: some RequestContext, _ work: @concurrent () async throws -> R
        ) async throws -> R {
            try await run(on: isOn ? nil : connection(of: context), work)
        }

        /// The connection of a request; nil if its context does not know it.
        static func connection(of context: some RequestContext) -> (any Channel)? {
            (context as? any ConnectionRequestContext)?.connection
        }

        /// Runs work in a task that is cancelled when the client at the other end of a connection goes. Without a connection,
        /// it just runs.
        @concurrent static func run<R>(
            on connection: (any Channel)?, _ work: @concurrent () async throws -> R
        ) async throws -> R {
            guard let connection else { return try await work() }
            let departure = Departure()
            departure.task.begins()
            ConnectionWatch.tell(departure, of: connection)
            do {
                let result = try await $isOn.withValue(true) { try await work() }
                await departure.cannotCome()
                return result
            } catch {
                await departure.cannotCome()
                throw error
            }
        }
    }

    /// The client of a request goes before the request has ended: its task is cancelled.
    private final class Departure: Sendable {
        private enum Stage {
            case possible
            /// The task is being cancelled, and must not end before that. The waiter is what it waits with, if it does.
            case cancelling(waiter: CheckedContinuation<Void, Never>?)
            case over
        }

        let task = RunningTask()
        private let stage = Locked(Stage.possible)

        var canCome: Bool { stage.withLock { if case .possible = $0 { true } else { false } } }

        /// The request has ended. Its task goes on, and may end.
        func cannotCome() async {
            let isOver = stage.withLock { stage in
                if case .cancelling = stage { return false }
                stage = .over
                return true
            }
            if isOver { return }
            await withCheckedContinuation { waiter in
                let isOver = stage.withLock { stage in
                    guard case .cancelling = stage else { return true }
                    stage = .cancelling(waiter: waiter)
                    return false
                }
                if isOver { waiter.resume() }
            }
        }

        func came() {
            let isFirst = stage.withLock { stage in
                guard case .possible = stage else { return false }
                stage = .cancelling(waiter: nil)
                return true
            }
            guard isFirst else { return }
            task.cancel()
            let waiter = stage.withLock { stage in
                guard case .cancelling(let waiter) = stage else { return nil as CheckedContinuation<Void, Never>? }
                stage = .over
                return waiter
            }
            waiter?.resume()
        }
    }

    /// Whether the client at the other end of one connection has gone, and who wants to know.
    private final class ConnectionWatch: Sendable {
        /// Those of the open connections that have had a request.
        private static let all = Locked<[ObjectIdentifier: ConnectionWatch]>([:])

        /// Requests on one connection are answered in order, so there is one departure, or none.
        private let state = Locked<(departures: [Departure], isGone: Bool)>(([], false))

        /// A connection's first request goes to its event loop, to watch it; the others need not.
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
                    // The connection has no handlers any more: it is closed.
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

        /// Another connection may have the same address from then on.
        func end(of key: ObjectIdentifier) { Self.all.withLock { $0[key] = nil } }
    }

    /// Notices that the other end of a connection has closed it. It is the first of its channel's handlers, since those
    /// further in may keep what they are told until they have time for it.
    private final class DepartureHandler: ChannelInboundHandler {
        typealias InboundIn = NIOAny

        private let watch: ConnectionWatch
        private let key: ObjectIdentifier

        init(_ watch: ConnectionWatch, _ key: ObjectIdentifier) { (self.watch, self.key) = (watch, key) }

        /// The client may have closed its end before there was this handler.
        func lookBack(at connection: any Channel) {
            guard let socket = connection as? any SocketOptionProvider else { return }
            #if canImport(Darwin)
                let (closeWait, info) = (5, socket.getTCPConnectionInfo())
            #else
                let (closeWait, info) = (8, socket.getTCPInfo())
            #endif
            info.assumeIsolated().whenSuccess { info in
                // The state is the first byte of both.
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
