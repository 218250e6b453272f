#if Redis
    import CHiredisSystem

    /// An answer of the server.
    enum RedisReply: Sendable, Hashable {
        case null
        case integer(Int64)
        case text(String)
        case error(String)
        case list([RedisReply])

        /// The integers of a list of integers.
        var integers: [Int64]? {
            guard case .list(let replies) = self else { return nil }
            var words: [Int64] = []
            for reply in replies {
                guard case .integer(let word) = reply else { return nil }
                words.append(word)
            }
            return words
        }
    }

    /// Reads answers as they arrive, with hiredis' parser.
    ///
    /// Unchecked because it holds a pointer. Safe: nothing else has the pointer, and the reader can't be copied.
    struct RedisReplyReader: ~Copyable, @unchecked Sendable {
        private let reader: UnsafeMutablePointer<redisReader>

        init() {
            // hiredis itself ends the process if it runs out of memory.
            reader = redisReaderCreate()
        }

        deinit { redisReaderFree(reader) }

        mutating func feed(_ bytes: ArraySlice<UInt8>) throws(RedisEngineError) {
            let result = bytes.withUnsafeBytes {
                redisReaderFeed(reader, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count)
            }
            guard result == REDIS_OK else { throw problem }
        }

        /// - Returns: The next complete answer; nil if there is none yet.
        mutating func next() throws(RedisEngineError) -> RedisReply? {
            var reply: UnsafeMutableRawPointer?
            guard redisReaderGetReply(reader, &reply) == REDIS_OK else { throw problem }
            guard let reply else { return nil }
            defer { freeReplyObject(reply) }
            return Self.read(reply.assumingMemoryBound(to: redisReply.self).pointee)
        }

        private var problem: RedisEngineError {
            withUnsafeBytes(of: reader.pointee.errstr) {
                .unreadable(String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self))
            }
        }

        private static func read(_ reply: redisReply) -> RedisReply {
            switch reply.type {
            case REDIS_REPLY_INTEGER: .integer(Int64(reply.integer))
            case REDIS_REPLY_STRING, REDIS_REPLY_STATUS: .text(text(reply))
            case REDIS_REPLY_ERROR: .error(text(reply))
            case REDIS_REPLY_ARRAY:
                .list((0..<Int(reply.elements)).map { reply.element[$0].map { read($0.pointee) } ?? .null })
            default: .null
            }
        }

        private static func text(_ reply: redisReply) -> String {
            String(decoding: UnsafeRawBufferPointer(start: reply.str, count: Int(reply.len)), as: UTF8.self)
        }
    }

    /// A command in the server's protocol.
    enum RedisCommand {
        static func bytes(_ words: [String]) -> [UInt8] {
            var bytes = Array("*\(words.count)\r\n".utf8)
            for word in words {
                bytes += Array("$\(word.utf8.count)\r\n".utf8)
                bytes += Array(word.utf8)
                bytes += [13, 10]
            }
            return bytes
        }
    }
#endif
