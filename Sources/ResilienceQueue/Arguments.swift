#if QueueTool
    import ArgumentParser
    import Foundation
    import Resilience
    import ResilienceSync

    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }

    /// Where the queue is.
    struct QueuePlace: ParsableArguments {
        @Argument(help: ArgumentHelp("The queue: an SQLite file, or postgresql://…", valueName: "file-or-url"))
        var place: String
        @Option(help: "In PostgreSQL, the schema of the queue's tables.") var schema = "resilience"
        @Option(name: .customLong("queue"), help: "In PostgreSQL, the name of the queue.") var name = "sync"

        /// Opens the queue, stopped and without migration, so that it never sends.
        func open() async throws -> OpenQueue {
            guard place.hasPrefix("postgresql://") || place.hasPrefix("postgres://") else {
                return await OpenQueue(try SQLiteStore(existing: place)) {}
            }
            let engine = try PostgreSQLEngine(place, connections: 2)
            let store = try await PostgreSQLStore(engine, schema: schema, queue: name, migrates: false)
            return await OpenQueue(store) { try? await store.tellEverybody(in: engine) }
        }

        /// Changes the queue, then wakes its workers.
        func change<R>(_ body: (SyncQueue) async throws -> R) async throws -> R {
            let open = try await open()
            let result = try await body(open.queue)
            await open.tellWorkers()
            return result
        }
    }

    struct OpenQueue {
        let queue: SyncQueue
        /// Wakes the workers before their next poll.
        let tellWorkers: () async -> Void

        init(_ store: some MutationStore, tellWorkers: @escaping () async -> Void) async {
            let changed = Locked(0)
            // The queue changes up to 1,000 mutations per step.
            let progress = PolicyObservers { event in
                let step =
                    switch event.detail as? SyncEvent {
                    case .revived(let count), .discarded(let count): count
                    default: 0
                    }
                let total = changed.withLock { changed in
                    changed += step
                    return changed
                }
                if total / 10_000 > (total - step) / 10_000 {
                    tell("\(total) so far\n")
                }
            }
            queue = SyncQueue(
                "resilience-queue", store: store, pipeline: Pipeline("resilience-queue") {}, observers: progress,
                handlers: [])
            self.tellWorkers = tellWorkers
            await queue.stop()
        }
    }

    /// How the user names mutations.
    struct Naming: ParsableArguments {
        @Flag(name: .customLong("at"), help: "Name mutations by position, for ids that a shell can't pass.")
        var isPosition = false

        func check(_ names: [String]) throws {
            if isPosition, let name = names.first(where: { Int64($0) == nil }) {
                throw ValidationError("\(escaped(name)) is not a position.")
            }
        }

        func mutation(_ name: String, in queue: SyncQueue) async throws -> StoredMutation? {
            guard isPosition else { return try await queue.mutation(name) }
            guard let position = Int64(name), position > .min else { return nil }
            let found =
                try await queue.pending(after: position - 1, limit: 1)
                + queue.dead(after: position - 1, limit: 1)
            return found.first { $0.position == position }
        }
    }

    /// The chosen dead mutations.
    struct DeadChoice: ParsableArguments {
        @Argument(help: "The mutations' positions, as shown by list.") var positions: [Int64] = []
        @Flag(help: "All dead mutations.") var all = false

        /// The positions of the chosen mutations; nil for all.
        var chosen: [Int64]? { all ? nil : positions }

        func validate() throws {
            if all == !positions.isEmpty { throw ValidationError("Name either positions or --all.") }
        }

        func tell(_ what: String, _ count: Int) throws {
            let named = Set(positions).count
            print(all || count == named ? what : "\(what); \(named) positions were given")
            if !all, count < named { throw ExitCode.failure }
        }
    }

    /// A length of time, such as 90s, 10m, 2h or 1d.
    struct Length: ExpressibleByArgument {
        let text: String
        let duration: Duration

        init?(argument: String) {
            let units = ["s": 1.0, "m": 60, "h": 3_600, "d": 86_400]
            guard let unit = argument.last.flatMap({ units["\($0)"] }), let number = Double(argument.dropLast()),
                case let seconds = number * unit, seconds > 0, seconds <= 1e9
            else { return nil }
            (text, duration) = (argument, .seconds(seconds))
        }
    }
#endif
