#if canImport(Foundation)
    import Dispatch
    public import Foundation
    public import Resilience

    #if canImport(FoundationNetworking)
        public import FoundationNetworking
    #endif

    extension URLSession {
        /// Sends a request and returns its answer, as `data(for:)` and `upload(for:from:)` do, until a deadline.
        ///
        /// ```swift
        /// let (data, response) = try await session.response(
        ///     to: request, until: CallDeadline(after: .seconds(5)))
        /// ```
        ///
        /// On Linux, use it instead of the session's own async methods if the task may be cancelled, as by a
        /// ``/Resilience/Timeout``: if cancelled just as their answer arrives, they deadlock (seen with Swift 6.3.1).
        /// Their cancellation handler waits for the session's queue while it holds the task's lock, and the queue waits
        /// for that lock to resume the task. Here the cancellation comes from a queue of its own.
        ///
        /// The deadline covers the whole answer. `URLRequest.timeoutInterval` limits only each silence of the server; a
        /// slow body never exceeds that limit.
        ///
        /// - Parameters:
        ///   - request: The request.
        ///   - body: The body to send instead of the request's own; nil, the default, sends the request as it is.
        ///   - deadline: The instant at which the exchange must have ended. nil, the default, for none.
        /// - Returns: The body and the head of the answer, whatever its status.
        /// - Throws: `CancellationError` if the task is cancelled; `URLError.timedOut` at the deadline; the session's
        ///   error, a `URLError`.
        public nonisolated(nonsending) func response(
            to request: URLRequest, uploading body: Data? = nil, until deadline: CallDeadline? = nil
        ) async throws -> (Data, URLResponse) {
            try await response(to: request, uploading: body, until: deadline, ended: { _ in })
        }

        /// - Parameter ended: Receives the task of the request, when it has ended.
        nonisolated(nonsending) func response(
            to request: URLRequest, uploading body: Data?, until deadline: CallDeadline?,
            ended: (URLSessionTask) -> Void
        ) async throws -> (Data, URLResponse) {
            try Task.checkCancellation()
            if deadline?.remaining == .zero { throw URLError(.timedOut) }
            var request = request
            // On Linux the interval is converted to an integer of milliseconds, which must not overflow.
            if !(request.timeoutInterval <= 1_000_000_000) { request.timeoutInterval = 1_000_000_000 }
            let exchange = Exchange()
            defer { if let task = exchange.task { ended(task) } }
            return try await send(request, body, deadline, exchange)
        }

        private nonisolated(nonsending) func send(
            _ request: URLRequest, _ body: Data?, _ deadline: CallDeadline?, _ exchange: Exchange
        ) async throws -> (Data, URLResponse) {
            let alarm = deadline.flatMap { deadline in
                deadline.instant == .distantFuture
                    ? nil : deadline.timeBase.schedule(at: deadline.instant) { exchange.stop(.deadline) }
            }
            defer { if let alarm { deadline?.timeBase.cancel(alarm) } }
            do {
                return try await withTaskCancellationHandler {
                    try await withCheckedThrowingContinuation { continuation in
                        let ended: @Sendable (Data?, URLResponse?, (any Error)?) -> Void = { data, response, error in
                            if let response, error == nil {
                                continuation.resume(returning: (data ?? Data(), response))
                            } else {
                                continuation.resume(throwing: error ?? URLError(.unknown))
                            }
                        }
                        exchange.begin(
                            body.map { uploadTask(with: request, from: $0, completionHandler: ended) }
                                ?? dataTask(with: request, completionHandler: ended))
                    }
                } onCancel: {
                    exchange.stop(.cancellation)
                }
            } catch let error as URLError where error.code == .cancelled {
                switch exchange.stopped {
                case .deadline: throw URLError(.timedOut)
                case .cancellation: throw CancellationError()
                case nil: throw error
                }
            }
        }
    }

    /// A request in flight, and why it was stopped.
    private final class Exchange: Sendable {
        enum Stop: Sendable {
            case deadline
            case cancellation
        }

        private struct State {
            var task: URLSessionTask?
            var stop: Stop?
        }

        private let state = Locked(State())

        var stopped: Stop? { state.withLock { $0.stop } }
        var task: URLSessionTask? { state.withLock { $0.task } }

        func begin(_ task: URLSessionTask) {
            let isStopped = state.withLock { state in
                state.task = task
                return state.stop != nil
            }
            task.resume()
            if isStopped { task.cancel() }
        }

        /// Cancels the request from another thread: the caller may hold a lock that the end of the request needs.
        func stop(_ reason: Stop) {
            let task = state.withLock { state -> URLSessionTask? in
                guard state.stop == nil else { return nil }
                state.stop = reason
                return state.task
            }
            guard let task else { return }
            DispatchQueue.global().async { task.cancel() }
        }
    }
#endif
