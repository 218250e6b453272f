public import Synchronization

/// A value behind a lock: a `Mutex` that the thread sanitizer can see.
///
/// On Linux the lock of `Mutex` is in an uninstrumented library, so the sanitizer reports races on everything
/// that the lock guards. With `-D SANITIZE_THREAD` an atomic, which the sanitizer does see, frames every critical
/// section. The mutex still excludes other threads, and a value that is used without the lock is still reported.
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
        // Never inlined: on Linux the lock notes its thread's number, which is cached in a thread-local variable. In an
        // async function LLVM may take that variable's address before the function continues on another thread (Swift
        // 6.3).
        @inlinable @inline(never) package borrowing func withLock<R: ~Copyable, E: Error>(
            _ body: (inout sending Value) throws(E) -> sending R
        ) throws(E) -> sending R {
            try mutex.withLock(body)
        }
    #endif
}
