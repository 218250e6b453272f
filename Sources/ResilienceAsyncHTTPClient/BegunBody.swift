#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import Resilience

    /// A body that one reader has begun to read, and that another may go on with.
    final class BegunBody: Sendable {
        /// Unchecked because the compiler can't tell that a value which is put into a mutex is given up. Safe: a value of
        /// this type is made from an iterator that nobody else has, and is moved into the mutex and out of it, so one
        /// task at a time has the iterator.
        private struct Moved: @unchecked Sendable {
            var iterator: HTTPClientResponse.Body.AsyncIterator
        }

        /// nil while a part is read, and after the end. Letting go of the iterator closes the connection of a body that
        /// has not ended.
        private let state: Locked<Moved?>

        /// Whether the body of the request is streamed: then an error may be the stream's, and keeps its type.
        private let isUploading: Bool

        init(_ body: HTTPClientResponse.Body, isUploading: Bool) {
            state = Locked(Moved(iterator: body.makeAsyncIterator()))
            self.isUploading = isUploading
        }

        /// Returns the next part; nil after the end, and after an error.
        @concurrent func next() async throws -> ByteBuffer? {
            guard var moved = state.withLock({ $0.take() }) else { return nil }
            let next: ByteBuffer?
            do { next = try await moved.iterator.next() } catch {
                throw isUploading ? error : ExchangeFailed.naming(error)
            }
            guard let part = next else { return nil }
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
