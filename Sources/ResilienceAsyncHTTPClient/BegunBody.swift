#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import NIOHTTP1
    import Resilience

    /// The body of a response, of which nothing has been read.
    struct UntouchedBody: Sendable {
        let body: HTTPClientResponse.Body
        /// Whether the body of the request is streamed: then an error may be the stream's, and keeps its type.
        let isUploading: Bool
        /// The number of bytes, where the end comes with the last of them; nil if it may come later, or is not known. A frame of its
        /// own may end the body over HTTP/2, and what is decoded on the way has another length.
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

    /// A body that one reader has begun to read, and that another may go on with.
    final class BegunBody: Sendable {
        /// Unchecked because the compiler can't tell that a value which is put into a mutex is given up. Safe: a value of
        /// this type is made from an iterator that nobody else has, and is moved into the mutex and out of it, so one
        /// task at a time has the iterator.
        private struct Moved: @unchecked Sendable {
            var iterator: HTTPClientResponse.Body.AsyncIterator
            /// The bytes that are still to come; nil if that is not known.
            var left: Int?
        }

        /// nil while a part is read, and after the end. Letting go of the iterator closes the connection of a body that
        /// has not ended.
        private let state: Locked<Moved?>
        private let isUploading: Bool

        init(_ body: UntouchedBody) {
            state = Locked(Moved(iterator: body.body.makeAsyncIterator(), left: body.length))
            isUploading = body.isUploading
        }

        /// Whether all bytes have come, so that nobody waits for the end.
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

        /// Closes the connection of a body that has not ended: its reader, who has stopped, wants nothing more.
        func close() {
            // Let go of after the lock, since that runs code of the client.
            _ = state.withLock { $0.take() }
        }
    }
#endif
