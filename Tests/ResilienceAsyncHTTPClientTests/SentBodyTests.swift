#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import NIOHTTP1
    import Resilience
    import Testing

    @testable import ResilienceAsyncHTTPClient

    @Suite(.timeLimit(.minutes(20))) struct SentBodyTests {
        @Test("a body of bytes can be read again; a streamed body can't")
        func forms() {
            let bytes: [UInt8] = [1, 2, 3]
            let repeatable: [HTTPClientRequest.Body?] = [
                nil, .bytes(ByteBuffer(bytes: bytes)), .bytes(bytes), .bytes("text".utf8, length: .unknown),
            ]
            for body in repeatable { #expect(body.canBeReadAgain) }
            let once: [HTTPClientRequest.Body?] = [.bytes(Countdown(), length: .known(Int64(3))), stream()]
            for body in once { #expect(!body.canBeReadAgain) }
        }

        @Test("a consumed body advises against a repeat, and prevents one")
        func gone() throws {
            var request = HTTPClientRequest(url: "http://127.0.0.1/")
            request.body = stream()
            var sent = SentBody(request, makesBodies: false)
            #expect(sent.advise(.transient) == .transient)
            sent.note(HTTPClientError.connectTimeout)
            // There was no connection, so nothing of the body was read.
            try sent.checkRepeat()
            #expect(sent.advise(.transient) == .transient)
            sent.note(HTTPClientError.readTimeout)
            let wait = Verdict.throttled(retryAfter: .seconds(3))
            #expect(sent.advise(wait) == Verdict(.throttled, retryAfter: .seconds(3), shouldRetry: false))
            #expect(sent.advise(.success) == .success)
            let error = #expect(throws: RequestBodyConsumed.self) { try sent.checkRepeat() }
            #expect(error?.underlying as? HTTPClientError == .readTimeout)
            #expect(error?.reachedService == nil && error?.verdict == .permanent && error?.retryAfter == nil)
            sent.noteResponse()
            let answered = #expect(throws: RequestBodyConsumed.self) { try sent.checkRepeat() }
            #expect(answered?.reachedService == true)
        }

        @Test("a body that is made for each attempt is never consumed")
        func made() throws {
            var request = HTTPClientRequest(url: "http://127.0.0.1/")
            request.body = stream()
            var sent = SentBody(request, makesBodies: true)
            sent.noteResponse()
            try sent.checkRepeat()
            #expect(sent.advise(.transient) == .transient)
        }

        /// A sequence that is not a collection.
        private struct Countdown: Sequence, IteratorProtocol, Sendable {
            var left: UInt8 = 3

            mutating func next() -> UInt8? {
                guard left > 0 else { return nil }
                left -= 1
                return left
            }
        }

        private func stream() -> HTTPClientRequest.Body {
            .stream(AsyncStream { $0.finish() } as AsyncStream<ByteBuffer>, length: .unknown)
        }
    }
#endif
