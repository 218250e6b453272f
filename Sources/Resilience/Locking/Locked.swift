public import Synchronization

/// A value behind a lock: a `Mutex` that the thread sanitizer can see.
///
/// On Linux the lock of `Mutex` lies in a library that is not instrumented, so the sanitizer takes all that it guards for
/// races. With `-D SANITIZE_THREAD` every critical section is framed by an atomic of our own, which it does see. The
/// exclusion stays the mutex's; a value used without the lock is still reported.
@frozen @usableFromInline package struct Locked<Value: ~Copyable>: ~Copyable, Sendable {
    @usableFromInline let mutex: Mutex<Value>
    #if SANITIZE_THREAD
        private let order = Atomic(0)
    #endif

    @inlinable package init(_ value: consuming sending Value) { mutex = Mutex(value) }

    #if SANITIZE_THREAD
        @usableFromInline package borrowing func withLock<R: ~Copyable, E: Error>(
            _ body: (inout sending Value) throws(E) -> sending R
        ) throws(E) -> sending R {
            try mutex.withLock { value throws(E) in
                _ = order.load(ordering: .acquiring)
                defer { order.store(0, ordering: .releasing) }
                return try body(&value)
            }
        }
    #else
        @inlinable @inline(__always) package borrowing func withLock<R: ~Copyable, E: Error>(
            _ body: (inout sending Value) throws(E) -> sending R
        ) throws(E) -> sending R {
            try mutex.withLock(body)
        }
    #endif
}
