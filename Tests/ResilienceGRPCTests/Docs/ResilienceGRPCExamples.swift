#if GRPC
    import GRPCCore
    import GRPCInProcessTransport
    import Resilience
    import ResilienceTraffic
    import ResilienceGRPC
    import ResilienceTesting
    import TestSupport
    import Testing

    /// The code of Sources/ResilienceGRPC/ResilienceGRPC.docc/ResilienceGRPC.md, unchanged.
    @Suite(.responsive) struct ResilienceGRPCExamples {
        let pipeline = Pipeline("greeter") { Retry(maxRetries: 3, backoff: .none) }

        private func serve<R: Sendable>(
            _ script: Script, _ body: (InProcessTransport.Client) async throws -> R
        ) async throws -> R {
            let inProcess = InProcessTransport()
            let (listener, service) = (inProcess.server, ScriptedService(script: script))
            let limits = Pipeline("limits") { Bulkhead(limit: 64, queue: 32) }
            let server = GRPCServer(
                transport: listener, services: [service],
                interceptors: [PipelineServerInterceptor(through: limits)])
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await server.serve() }
                defer { server.beginGracefulShutdown() }
                return try await body(inProcess.client)
            }
        }

        @Test("a client's RPC is repeated")
        func client() async throws {
            let script = Script(fail(.unavailable), answer("hello, world"))
            let greeting = try await serve(script) { http2 in
                let transport = PipelineClientTransport(http2, through: pipeline)
                let greeting = try await withGRPCClient(transport: transport) { client in
                    try await Greeter.Client(wrapping: client).sayHello("world")
                }
                return greeting
            }
            #expect(greeting == "hello, world" && script.visits.map(\.messages) == [["world"], ["world"]])
        }

        @Test("a pipeline around one call classifies the call's error")
        func one() async throws {
            let script = Script(fail(.unavailable), answer("hello, world"))
            let reply = try await serve(script) { http2 in
                try await withGRPCClient(transport: http2) { client in
                    let greeter = Greeter.Client(wrapping: client)
                    let reply = try await pipeline.run { try await greeter.sayHello("world") }
                    return reply
                }
            }
            #expect(reply == "hello, world" && script.visits.count == 2)
        }

        @Test("an RPC that is not declared idempotent gets no copy")
        func hedged() async throws {
            let script = Script(fail(.unavailable), answer("hello, world"))
            let fast = Pipeline("greeter") {
                Hedge("greeter")
                Bulkhead(limit: 64)
            }
            _ = try await serve(script) { http2 in
                let hedged = PipelineClientTransport(http2, through: fast) { method in
                    RunOptions(isIdempotent: method.method.hasPrefix("Get"))
                }
                try await withGRPCClient(transport: hedged) { client in
                    #expect(await client.failure(to: method)?.code == .unavailable, "nobody says that it is idempotent")
                }
            }
            #expect(script.visits.count == 1 && fast.policies(of: Hedge.self)[0].status.ranOnce == 0)
        }

        @Test("an idempotent method is repeated after an uncertain failure")
        func idempotent() async throws {
            let script = Script(fail(.unknown), answer("hello, world"))
            _ = try await serve(script) { http2 in
                let transport = PipelineClientTransport(http2, through: pipeline) { method in
                    RunOptions(isIdempotent: method.method.hasPrefix("Get"))
                }
                try await withGRPCClient(transport: transport) { client in
                    #expect(await client.failure(to: method)?.code == .unknown)
                }
            }
            #expect(script.visits.count == 1)
        }
    }

    /// Stands in for generated code.
    private enum Greeter {
        struct Client<Transport: ClientTransport> {
            let client: GRPCClient<Transport>

            init(wrapping client: GRPCClient<Transport>) { self.client = client }

            func sayHello(_ name: String) async throws -> String { try await client.send(name) }
        }
    }

    private struct ScriptedService: RegistrableRPCService {
        let script: Script

        func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
            router.registerHandler(
                forMethod: method, deserializer: Text(), serializer: Text(),
                handler: { try await script.handle($0, $1) })
        }
    }
#endif
