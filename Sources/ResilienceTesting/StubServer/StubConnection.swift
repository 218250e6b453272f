#if StubServer
    import FlyingSocks
    import Foundation
    import Resilience

    /// One client's connection: reads and answers requests in turn, until one side ends it.
    struct StubConnection {
        let socket: AsyncSocket
        let script: ScriptedOperation<StubRequest, StubAnswer>
        let timeBase: any TimeBase

        func serve() async {
            // Without this, the second of two packets would wait until the client acknowledges the first, and be lost
            // in a reset.
            try? socket.socket.setValue(true, for: BoolSocketOption(level: Int32(IPPROTO_TCP), name: TCP_NODELAY))
            do {
                try await answerRequests()
            } catch is MalformedRequest {
                try? await socket.write(StubAnswer.status(400).bytes(for: "", isLast: true))
            } catch {
                // The client has disconnected, or the server stops.
            }
            try? socket.close()
        }

        private func answerRequests() async throws {
            var reader = RequestReader(socket)
            while true {
                let (request, isLast) = try await reader.next()
                let answer = try await answer(request)
                try await socket.write(answer.bytes(for: request.method, isLast: isLast))
                if answer.ending == .reset {
                    try socket.socket.setValue(linger(l_onoff: 1, l_linger: 0), for: Linger())
                }
                if isLast || answer.endsConnection { return }
            }
        }

        private func answer(_ request: StubRequest) async throws -> StubAnswer {
            do {
                return try await script(request) { answer in
                    guard answer.delay > .zero else { return }
                    let waiter = PolicyWaiter()
                    if await waiter.wait(until: timeBase.now + answer.delay, on: timeBase) == .cancelled {
                        throw CancellationError()
                    }
                }
            } catch let end as ScriptEnded {
                let place = "request \(end.call), \(request.method) \(request.path)"
                return .status(501, body: "StubServer: nothing is scripted for \(place), and there is no fallback.\n")
            }
        }
    }

    /// With a linger time of zero, closing a socket resets its connection.
    private struct Linger: SocketOption {
        var name: Int32 { SO_LINGER }
        func makeValue(from value: linger) -> linger { value }
        func makeSocketValue(from value: linger) -> linger { value }
    }
#endif
