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

    /// The sending lock of a database: a lock that the system holds on a file beside it, and lets go of when its process
    /// ends. The file says who had it last.
    ///
    /// Not on the database itself, whose own locks would meet this one on Apple's systems.
    final class SenderFile: Sendable {
        private struct State {
            var sender = SenderStateMachine()
            /// Open from the first time on.
            var descriptor: CInt?
        }

        /// nil if the database is in memory, and so this process's alone.
        private let path: String?
        private let state = Locked(State())

        init(database: String) { path = database.isEmpty ? nil : database + Self.suffix }

        /// Of the file's name.
        static let suffix = "-sender"

        func lock(for queue: UUID) throws -> SendingLock {
            try state.withLock { state in
                var sender = state.sender
                let answer = sender.lock(for: queue)
                guard answer != .denied, let path, state.sender.holder == nil else {
                    state.sender = sender
                    return answer
                }
                guard let descriptor = try Self.lock(path, &state.descriptor) else { return .denied }
                state.sender = sender
                return Self.note(queue, in: descriptor) ? .taken : .takenAgain
            }
        }

        func unlock(for queue: UUID) {
            state.withLock { state in
                guard state.sender.unlock(for: queue), let descriptor = state.descriptor else { return }
                _ = systemLock(descriptor, LOCK_UN)
            }
        }

        deinit {
            if let descriptor = state.withLock({ $0.descriptor }) { _ = close(descriptor) }
        }

        /// - Returns: nil if another has it.
        private static func lock(_ path: String, _ descriptor: inout CInt?) throws -> CInt? {
            while true {
                let file = try descriptor ?? open(path)
                descriptor = file
                guard try flock(file, path: path) else { return nil }
                // Somebody may have removed it since it was opened; then others lock another.
                if isThere(file, at: path) { return file }
                _ = close(file)
                descriptor = nil
            }
        }

        private static func open(_ path: String) throws -> CInt {
            // For whom the database is.
            var database = stat()
            let isKnown = stat(String(path.dropLast(suffix.count)), &database) == 0
            let descriptor = retrying { systemOpen(path, isKnown ? database.st_mode & 0o666 : 0o600) }
            guard descriptor >= 0 else { throw failure(path) }
            return descriptor
        }

        private static func flock(_ descriptor: CInt, path: String) throws -> Bool {
            if retrying({ systemLock(descriptor, LOCK_EX | LOCK_NB) }) == 0 { return true }
            guard errno == EWOULDBLOCK else { throw failure(path) }
            return false
        }

        private static func isThere(_ descriptor: CInt, at path: String) -> Bool {
            var (ours, found) = (stat(), stat())
            guard fstat(descriptor, &ours) == 0, stat(path, &found) == 0 else { return false }
            return ours.st_ino == found.st_ino && ours.st_dev == found.st_dev
        }

        /// - Returns: whether another was noted. If the disk is full, nobody is.
        private static func note(_ queue: UUID, in descriptor: CInt) -> Bool {
            let ours = Array(queue.uuidString.utf8)
            var found = [UInt8](repeating: 0, count: ours.count)
            if pread(descriptor, &found, found.count, 0) == ours.count, found == ours { return false }
            _ = pwrite(descriptor, ours, ours.count, 0)
            return true
        }

        private static func retrying(_ call: () -> CInt) -> CInt {
            while true {
                let result = call()
                if result >= 0 || errno != EINTR { return result }
            }
        }

        private static func failure(_ path: String) -> SyncQueueError {
            .storeFailed(path: path, reason: "\(String(cString: strerror(errno))).")
        }
    }

    // By other names than the methods above.

    private func systemOpen(_ path: String, _ mode: mode_t) -> CInt { open(path, O_RDWR | O_CREAT | O_CLOEXEC, mode) }

    private func systemLock(_ descriptor: CInt, _ operation: CInt) -> CInt { flock(descriptor, operation) }
#endif
