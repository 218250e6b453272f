#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import NIOHTTP1
    import Resilience

    /// An unread response body.
    struct UntouchedBody: Sendable {
        let body: HTTPClientResponse.Body
        /// Whether the request's body is streamed: then an error may be the stream's, and keeps its type.
        let isUploading: Bool
        /// The number of bytes, if the last of them is also the end; nil if the end may come later, or if the number is
        /// unknown. Over HTTP/2, a separate frame may end the body, and a decoded body has another length.
        let length: Int?

        init(_ response: HTTPClientResponse, isUploading: Bool) {
            body = response.body
            self.isUploading = isUploading
            let isPlain =
                response.version.major == 1 && !response.headers.contains(name: "Content-Encoding")
                && !response.headers.contains(name: "Transfer-Encoding")
            length = isPlain ? response.headers.first(name: "Content-Length").flatMap { Int($0) } : nil
        }
    }

    /// A body that one reader has begun, and that another may continue.
    final class BegunBody: Sendable {
        /// Unchecked because the compiler can't see that a value moved into a mutex is given up. Safe: a value of this
        /// type is made from an iterator that nothing else has, and moves into the mutex and out of it, so one task at
        /// a time has the iterator.
        private struct Moved: @unchecked Sendable {
            var iterator: HTTPClientResponse.Body.AsyncIterator
            /// The number of remaining bytes; nil if unknown.
            var left: Int?
        }

        /// nil while a part is read, and after the end. Releasing the iterator closes the connection of an unfinished
        /// body.
        private let state: Locked<Moved?>
        private let isUploading: Bool

        init(_ body: UntouchedBody) {
            state = Locked(Moved(iterator: body.body.makeAsyncIterator(), left: body.length))
            isUploading = body.isUploading
        }

        /// Whether all bytes have arrived, so that no reader must wait for the end.
        var isWhole: Bool { state.withLock { $0?.left == 0 } }

        /// Returns the next part; nil after the end, and after an error.
        @concurrent func next() async throws -> ByteBuffer? {
            guard var moved = state.withLock({ $0.take() }) else { return nil }
            let next: ByteBuffer?
            do { next = try await moved.iterator.next() } catch {
                throw isUploading ? error : ExchangeFailed.naming(error)
            }
            guard let part = next else { return nil }
            moved.left = moved.left.map { max(0, $0 - part.readableBytes) }
            state.withLock { [moved] in $0 = moved }
            return part
        }

        /// Closes the connection of an unfinished body, whose reader has stopped.
        func close() {
            // Released after the lock, since the release runs code of the client.
            _ = state.withLock { $0.take() }
        }
    }
#endif
