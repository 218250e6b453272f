#if canImport(Darwin) || canImport(Glibc) || canImport(Musl) || canImport(Android)
    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #else
        import Android
    #endif
    import Resilience
    import Synchronization

    /// Brings the tasks that inherit no executor into a run: `Task {}`, `Task.detached {}`, and their children.
    ///
    /// The runtime passes every step of such a task to the global executor, and asks `swift_task_enqueueGlobal_hook`
    /// first. This hook keeps a step if the thread that enqueues it is inside a run, and passes every other step on. So
    /// tests on other threads are not affected.
    enum GlobalExecutorHook {
        private typealias Original = @convention(thin) (UnownedJob) -> Void
        private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

        /// The place where the runtime looks for a hook; nil if it can't be found, as in a program that links the
        /// runtime statically. A hook is stored here as its address, which can be compared.
        ///
        /// Safe: it is the address of a variable of the runtime, which never moves. Only `install` and `uninstall`
        /// write to it.
        nonisolated(unsafe) private static let place: UnsafeMutablePointer<UInt>? =
            dlsym(dlopen(nil, RTLD_LAZY), "swift_task_enqueueGlobal_hook")?.assumingMemoryBound(to: UInt.self)

        /// The hook of another library that was installed before this one; 0 if there was none.
        private static let earlier = Atomic<UInt>(0)

        /// The number of runs at this moment.
        private static let runs = Locked(0)

        /// Each thread's run, as an unretained ``SteppedExecutor``.
        private static let current: pthread_key_t = {
            var key = pthread_key_t()
            pthread_key_create(&key, nil)
            return key
        }()

        private static let ours: Hook = { job, original in
            if takeIn(job) { return }
            let earlier = earlier.load(ordering: .acquiring)
            if earlier == 0 {
                original(job)
            } else {
                // Safe: the runtime itself would call this if this hook were not installed.
                unsafeBitCast(earlier, to: Hook.self)(job, original)
            }
        }

        /// Gives a step to the run of this thread; false if there is none.
        static func takeIn(_ job: UnownedJob) -> Bool {
            guard let run = pthread_getspecific(current) else { return false }
            // Safe: `during` keeps the executor alive as long as the thread refers to it.
            return Unmanaged<SteppedExecutor>.fromOpaque(run).takeUnretainedValue().takeIn(job)
        }

        /// Runs `body`; the steps that this thread passes to the global executor meanwhile go to `executor`.
        static func during<R>(_ executor: SteppedExecutor, _ body: () throws -> R) rethrows -> R {
            install()
            let outer = pthread_getspecific(current)
            pthread_setspecific(current, Unmanaged.passUnretained(executor).toOpaque())
            defer {
                pthread_setspecific(current, outer)
                uninstall()
                withExtendedLifetime(executor) {}
            }
            return try body()
        }

        // The hook is installed only during a run, because some libraries treat any hook that they find as their own.
        // Threads that enqueue meanwhile read one word, from before or after the change, and both remain valid.

        /// Safe: a thin function is its address, and this one is only compared and stored where the runtime calls it.
        private static var address: UInt { unsafeBitCast(ours, to: UInt.self) }

        private static func install() {
            guard let place else { return }
            let ours = address
            runs.withLock { runs in
                runs += 1
                guard runs == 1, place.pointee != ours else { return }
                earlier.store(place.pointee, ordering: .releasing)
                place.pointee = ours
            }
        }

        private static func uninstall() {
            guard let place else { return }
            let ours = address
            runs.withLock { runs in
                runs -= 1
                guard runs == 0, place.pointee == ours else { return }
                place.pointee = earlier.load(ordering: .acquiring)
            }
        }
    }
#else
    /// The runtime's hook can't be reached here: tasks that inherit no executor are not part of a run.
    enum GlobalExecutorHook {
        static func takeIn(_ job: UnownedJob) -> Bool { false }

        static func during<R>(_ executor: SteppedExecutor, _ body: () throws -> R) rethrows -> R { try body() }
    }
#endif
