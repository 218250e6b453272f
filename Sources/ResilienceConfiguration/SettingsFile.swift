#if Configuration
    internal import Configuration
    internal import Foundation
    internal import Resilience

    /// A JSON file of settings. Its last readable content stays in use, whatever happens to the file.
    final class SettingsFile: ConfigProvider {
        /// The content of a file, and its keys.
        struct Content: Sendable {
            let data: Data
            let snapshot: JSONSnapshot
            /// The keys, each as the names on its path. An empty object is also a key.
            let keys: [[String]]
        }

        /// Why a file can't be read.
        struct Unreadable: Error, Equatable, CustomStringConvertible {
            let description: String

            init(_ description: String) { self.description = description }
        }

        private struct State {
            var content: Content
            /// The last reported problem, while it lasts.
            var told: Unreadable?
        }

        /// More than any settings need.
        private static let mostBytes = 1 << 20

        let path: String
        private let read: @Sendable () throws -> Data
        private let state: Locked<State>

        /// - Parameter read: Reads the file.
        /// - Throws: Why it can't be read.
        init(_ path: String, read: @escaping @Sendable () throws -> Data) throws(Unreadable) {
            self.path = path
            self.read = read
            state = Locked(State(content: try Self.content(read, path)))
        }

        convenience init(_ path: String) throws(Unreadable) {
            try self.init(path) {
                guard let file = FileHandle(forReadingAtPath: path) else {
                    throw Unreadable(FileManager.default.fileExists(atPath: path) ? "it can't be opened" : "it is gone")
                }
                defer { try? file.close() }
                let data = try file.read(upToCount: Self.mostBytes + 1) ?? Data()
                guard data.count <= Self.mostBytes else { throw Unreadable("it has more than \(Self.mostBytes) bytes") }
                return data
            }
        }

        var keys: [[String]] { state.withLock { $0.content.keys } }

        /// Reads the file again.
        /// - Returns: Whether its content has changed; and the problem, if it is new.
        func look() -> (hasChanged: Bool, problem: Unreadable?) {
            do {
                let content = try Self.content(read, path)
                return state.withLock { state in
                    state.told = nil
                    guard content.data != state.content.data else { return (false, nil) }
                    state.content = content
                    return (true, nil)
                }
            } catch {
                return state.withLock { state in
                    defer { state.told = error }
                    return (false, state.told == error ? nil : error)
                }
            }
        }

        private static func content(_ read: () throws -> Data, _ path: String) throws(Unreadable) -> Content {
            let data: Data
            do {
                data = try read()
            } catch let error as Unreadable {
                throw error
            } catch {
                throw Unreadable("\(error)")
            }
            do {
                let object = try JSONSerialization.jsonObject(with: data)
                let snapshot = try JSONSnapshot(data: data.bytes, providerName: path, parsingOptions: .default)
                var keys: [[String]] = []
                collect(object, [], into: &keys)
                return Content(data: data, snapshot: snapshot, keys: keys)
            } catch {
                let reason = (error as NSError).userInfo[NSDebugDescriptionErrorKey] as? String ?? "\(error)"
                throw Unreadable("it is not usable JSON: \(reason)")
            }
        }

        private static func collect(_ value: Any, _ path: [String], into keys: inout [[String]]) {
            guard let members = value as? [String: Any], !members.isEmpty else { return keys.append(path) }
            for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                collect(member, path + [name], into: &keys)
            }
        }

        // MARK: The provider

        var providerName: String { "SettingsFile[\(path)]" }

        func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
            try state.withLock { $0.content.snapshot }.value(forKey: key, type: type)
        }

        func fetchValue(forKey key: AbsoluteConfigKey, type: ConfigType) async throws -> LookupResult {
            try value(forKey: key, type: type)
        }

        // Nobody watches through this provider: its owner reads the file at intervals.
        func watchValue<Return: ~Copyable>(
            forKey key: AbsoluteConfigKey, type: ConfigType,
            updatesHandler: (ConfigUpdatesAsyncSequence<Result<LookupResult, any Error>, Never>) async throws -> Return
        ) async throws -> Return {
            try await watchValueFromValue(forKey: key, type: type, updatesHandler: updatesHandler)
        }

        func snapshot() -> any ConfigSnapshot { state.withLock { $0.content.snapshot } }

        func watchSnapshot<Return: ~Copyable>(
            updatesHandler: (ConfigUpdatesAsyncSequence<any ConfigSnapshot, Never>) async throws -> Return
        ) async throws -> Return {
            try await watchSnapshotFromSnapshot(updatesHandler: updatesHandler)
        }
    }
#endif
