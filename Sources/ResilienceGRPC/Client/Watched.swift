#if GRPC
    import Resilience

    /// A state that several tasks change, each of which can wait until the state allows it to continue.
    ///
    /// All decisions are in the state, which is a value; this class is only the lock and the wake-ups.
    final class Watched<State: Sendable>: Sendable {
        private struct Inside: Sendable {
            var state: State
            /// Grows with each change, so that no change is missed between a look at the state and the wait.
            var version = 0
            var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
            /// The waits that were cancelled before they had a continuation.
            var cancelled: Set<Int> = []
            var nextWait = 0
        }

        private let inside: Locked<Inside>

        init(_ state: State) { inside = Locked(Inside(state: state)) }

        /// Changes the state, and wakes all waits.
        @discardableResult
        func change<R: Sendable>(_ body: (inout State) -> R) -> R {
            let (result, woken) = inside.withLock { inside in
                let result = body(&inside.state)
                return (result, Self.changed(&inside))
            }
            for waiter in woken { waiter.resume() }
            return result
        }

        /// Waits until `answer` is not nil, and returns it. `answer` may change the state, unless it returns nil.
        /// - Throws: `CancellationError` if the task is cancelled and there is no answer.
        func wait<R: Sendable>(_ answer: (inout State) -> R?) async throws -> R {
            while true {
                let (result, version, woken) = inside.withLock {
                    inside -> (R?, Int, [CheckedContinuation<Void, Never>]) in
                    guard let result = answer(&inside.state) else { return (nil, inside.version, []) }
                    return (result, inside.version, Self.changed(&inside))
                }
                for waiter in woken { waiter.resume() }
                if let result { return result }
                try Task.checkCancellation()
                await waitForChange(since: version)
            }
        }

        private static func changed(_ inside: inout Inside) -> [CheckedContinuation<Void, Never>] {
            inside.version += 1
            defer { inside.waiters = [:] }
            return Array(inside.waiters.values)
        }

        private func waitForChange(since version: Int) async {
            let id = inside.withLock { inside in
                inside.nextWait += 1
                return inside.nextWait
            }
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let isOver = inside.withLock { inside in
                        if inside.version != version || inside.cancelled.contains(id) { return true }
                        inside.waiters[id] = continuation
                        return false
                    }
                    if isOver { continuation.resume() }
                }
            } onCancel: {
                let waiter = inside.withLock { inside in
                    let waiter = inside.waiters.removeValue(forKey: id)
                    if waiter == nil { inside.cancelled.insert(id) }
                    return waiter
                }
                waiter?.resume()
            }
            inside.withLock { inside in _ = inside.cancelled.remove(id) }
        }
    }
#endif
