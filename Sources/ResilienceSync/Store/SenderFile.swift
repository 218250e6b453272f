#if SQLite
    import Foundation
    import Resilience

    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// The sending lock of a database: a lock that the system holds on a file beside the database, and releases when
    /// the process ends. The file names the queue that had it last.
    ///
    /// The lock is not on the database itself, whose own locks would conflict with it on Apple's systems.
    final class SenderFile: Sendable {
        /// The place of the lock, depending on the place of the database.
        enum Place: Hashable, Sendable {
            case file(String)
            /// In memory, and so only in this process; only this connection has the database.
            case memory(ObjectIdentifier)
            /// In memory, shared by all connections with this path.
            case sharedMemory(String)
        }

        private struct State {
            var sender = SenderStateMachine()
            /// The open file; nil before the lock was first taken.
            var descriptor: CInt?
        }

        /// nil if the database is in memory.
        private let path: String?
        private let state = Locked(State())
        /// The lock of a database in memory; nil if it is a file.
        private let shared: SharedSender?

        init(database: Place) {
            switch database {
            case .file(let file): (path, shared) = (file + Self.suffix, nil)
            case .memory, .sharedMemory: (path, shared) = (nil, SharedSender.of(database))
            }
        }

        /// The end of the file's name, after the database's name.
        static let suffix = "-sender"

        func lock(for queue: UUID) throws -> SendingLock {
            try state.withLock { state in
                var sender = state.sender
                let answer = sender.lock(for: queue)
                guard state.sender.holder == nil else { return answer }
                if let shared {
                    let answer = shared.sender.withLock { $0.lock(for: queue) }
                    if answer != .denied { state.sender = sender }
                    return answer
                }
                guard let path else { return .denied }
                guard let descriptor = try Self.lock(path, &state.descriptor) else { return .denied }
                state.sender = sender
                return Self.note(queue, in: descriptor, path) ? .taken : .takenAgain
            }
        }

        func unlock(for queue: UUID) {
            state.withLock { state in
                guard state.sender.unlock(for: queue) else { return }
                shared?.unlock(for: queue)
                if let descriptor = state.descriptor { _ = systemLock(descriptor, LOCK_UN) }
            }
        }

        deinit {
            let (sender, descriptor) = state.withLock { ($0.sender, $0.descriptor) }
            if let holder = sender.holder { shared?.unlock(for: holder) }
            if let descriptor { _ = close(descriptor) }
        }

        /// - Returns: The file's descriptor; nil if another has the lock.
        private static func lock(_ path: String, _ descriptor: inout CInt?) throws -> CInt? {
            while true {
                let file = try descriptor ?? open(path)
                descriptor = file
                guard try flock(file, path: path) else { return nil }
                // The file may have been removed since it was opened; then other processes lock a new file.
                if isThere(file, at: path) { return file }
                _ = close(file)
                descriptor = nil
            }
        }

        private static func open(_ path: String) throws -> CInt {
            while true {
                let descriptor = systemOpen(path, O_RDWR)
                if descriptor >= 0 { return try plainFile(descriptor, path) }
                switch errno {
                case ENOENT:
                    if let new = try make(path) { return new }
                case EACCES, EPERM, EROFS:
                    // Locking does not need write access.
                    let readOnly = systemOpen(path, O_RDONLY)
                    guard readOnly >= 0 else { throw failure(path) }
                    return try plainFile(readOnly, path)
                default: throw failure(path)
                }
            }
        }

        /// - Returns: The descriptor, if it is a regular file's. The file's owner shares it again, because the process
        ///   that created the file may have ended before it shared the file.
        private static func plainFile(_ descriptor: CInt, _ path: String) throws -> CInt {
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                _ = close(descriptor)
                throw SyncQueueError.storeFailed(path: path, reason: "It is not a file.")
            }
            // Root shares only a file that it has just made: another user may have put this one here.
            if geteuid() != 0, status.st_uid == geteuid() { share(descriptor, path) }
            return descriptor
        }

        /// - Returns: The new file's descriptor; nil if another process has made it meanwhile.
        private static func make(_ path: String) throws -> CInt? {
            let descriptor = systemOpen(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
            guard descriptor >= 0 else {
                if errno == EEXIST { return nil }
                throw failure(path)
            }
            share(descriptor, path)
            return descriptor
        }

        /// Makes the file accessible to all users of the database, even if root or a process with a restrictive umask
        /// made it. Without the permission to do this, the file stays unchanged.
        private static func share(_ descriptor: CInt, _ path: String) {
            guard let database = status(ofDatabaseOf: path) else { return }
            var mode = database.st_mode & 0o666
            // A user other than root can't change the owner, but can share the file with one of their groups.
            if fchown(descriptor, database.st_uid, database.st_gid) != 0,
                fchown(descriptor, uid_t.max, database.st_gid) != 0
            {
                mode &= ~0o060
            }
            // After the group is set: before that, another group might open it.
            _ = fchmod(descriptor, mode)
        }

        private static func status(ofDatabaseOf path: String) -> stat? {
            var status = stat()
            return stat(String(path.dropLast(suffix.count)), &status) == 0 ? status : nil
        }

        private static func flock(_ descriptor: CInt, path: String) throws -> Bool {
            if systemLock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
            guard errno == EWOULDBLOCK else { throw failure(path) }
            return false
        }

        private static func isThere(_ descriptor: CInt, at path: String) -> Bool {
            var (ours, found) = (stat(), stat())
            guard fstat(descriptor, &ours) == 0, stat(path, &found) == 0 else { return false }
            return ours.st_ino == found.st_ino && ours.st_dev == found.st_dev
        }

        /// - Returns: Whether another queue may have had the lock since. No queue is noted if the disk is full, or in a
        ///   file that has a second name.
        private static func note(_ queue: UUID, in descriptor: CInt, _ path: String) -> Bool {
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_nlink <= 1 else { return true }
            let ours = Array(queue.uuidString.utf8)
            var found = [UInt8](repeating: 0, count: ours.count)
            // Unreadable bytes stay zero, which names no queue.
            _ = pread(descriptor, &found, found.count, 0)
            let isNoted = found == ours
            if !isNoted { _ = pwrite(descriptor, ours, ours.count, 0) }
            return !isNoted || !allMayWrite(to: status, path)
        }

        /// Whether all users who may write to the database may also write to the lock's file. A process without write
        /// access takes the lock and notes nothing.
        private static func allMayWrite(to status: stat, _ path: String) -> Bool {
            guard let database = Self.status(ofDatabaseOf: path) else { return false }
            return status.st_uid == database.st_uid && status.st_gid == database.st_gid
                && database.st_mode & ~status.st_mode & 0o222 == 0
        }

        private static func failure(_ path: String) -> SyncQueueError {
            .storeFailed(path: path, reason: "\(String(cString: strerror(errno))).")
        }
    }

    // These functions must not have the names of the methods above.

    /// Follows no link, which could make root open another user's file, and does not wait for a pipe's other end.
    private func systemOpen(_ path: String, _ flags: CInt, _ mode: mode_t = 0) -> CInt {
        unlessInterrupted { open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode) }
    }

    private func systemLock(_ descriptor: CInt, _ operation: CInt) -> CInt {
        unlessInterrupted { flock(descriptor, operation) }
    }

    /// Calls the system again if a signal has interrupted it.
    private func unlessInterrupted(_ call: () -> CInt) -> CInt {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }

    /// The sender for a database in memory, for all stores on that database.
    private final class SharedSender: Sendable {
        private struct Weak: Sendable { weak var sender: SharedSender? }

        private static let all = Locked<[SenderFile.Place: Weak]>([:])

        static func of(_ place: SenderFile.Place) -> SharedSender {
            all.withLock { all in
                all = all.filter { $0.value.sender != nil }
                if let sender = all[place]?.sender { return sender }
                let sender = SharedSender()
                all[place] = Weak(sender: sender)
                return sender
            }
        }

        let sender = Locked(SenderStateMachine())

        func unlock(for queue: UUID) { sender.withLock { _ = $0.unlock(for: queue) } }
    }
#endif
