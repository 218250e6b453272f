#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOHTTP1
    import Resilience
    import ResilienceHTTP

    extension OriginFields {
        /// Tells the server of the call's priority and the number of the attempt. What the request names itself stays.
        func write(_ attempt: CallAttempt, _ options: RunOptions, to request: inout HTTPClientRequest) {
            for (name, value) in values(of: attempt, options) where !request.headers.contains(name: name) {
                request.headers.add(name: name, value: value)
            }
        }
    }
#endif
