#if GRPC
    import GRPCCore

    /// The response for the caller to read.
    struct ResponseParts<Bytes: GRPCContiguousBytes & Sendable>: AsyncSequence, Sendable {
        typealias Element = RPCResponsePart<Bytes>
        typealias Failure = any Error

        let exchange: Watched<Exchange<Bytes>>

        func makeAsyncIterator() -> Iterator { Iterator(exchange: exchange) }

        struct Iterator: AsyncIteratorProtocol {
            let exchange: Watched<Exchange<Bytes>>

            mutating func next() async throws -> Element? { try await next(isolation: nil) }

            mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Element? {
                let reading: Exchange<Bytes>.Reading
                do {
                    reading = try await exchange.wait { $0.read() }
                } catch {
                    // gRPC turns any foreign error into UNKNOWN.
                    throw RPCError(policyFailure: error) ?? error
                }
                switch reading {
                case .part(let part): return part
                case .failed(let error): throw error
                case .nothing: return nil
                }
            }
        }
    }

    /// The request for the caller to write. A write returns when an attempt has taken the part, so that a slow server
    /// slows the caller down.
    struct RequestWriter<Bytes: GRPCContiguousBytes & Sendable>: ClosableRPCWriterProtocol {
        let exchange: Watched<Exchange<Bytes>>

        func write(_ element: RPCRequestPart<Bytes>) async throws {
            let index = exchange.change { exchange in
                defer { if !exchange.isOver { exchange.requests.append(element) } }
                return exchange.requests.count
            }
            let isTaken = try await exchange.wait { exchange in
                exchange.requests.furthest > index ? true : exchange.isOver ? false : nil
            }
            if !isTaken { throw RPCError(code: .cancelled, message: "The RPC has ended; nothing more can be written.") }
        }

        func write(contentsOf elements: some Sequence<RPCRequestPart<Bytes>>) async throws {
            for element in elements { try await write(element) }
        }

        func finish() async { exchange.change { $0.requests.finish(.finished) } }

        func finish(throwing error: any Error) async { exchange.change { $0.requests.finish(.failed(error)) } }
    }
#endif
