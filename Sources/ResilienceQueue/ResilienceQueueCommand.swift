#if QueueTool
    import ArgumentParser
    import Foundation
    import Resilience
    import ResilienceSync

    @main
    struct ResilienceQueueCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "resilience-queue",
            abstract: "Shows and changes a durable queue, even while programs send from it.",
            discussion: """
                Name a queue by the path of its SQLite file, which may be a program's own database, or by the \
                postgresql://… URL of its database. Give the password in PGPASSWORD or ~/.pgpass: other users can \
                see a process's arguments. The tool never sends or migrates; only salvage creates a file.

                Exit status: 0 done; 1 failed, or only partly done; 64 wrong arguments.
                """,
            subcommands: [
                List.self, Show.self, Retry.self, Discard.self, Cancel.self, Pause.self, Resume.self, Salvage.self,
            ])

        static func main() async {
            // If a standard stream is closed, a file or socket opened later would get its number, and then receive the
            // output.
            while (0...2).contains(open("/dev/null", O_RDWR)) {}
            do {
                let command = try parseAsRoot()
                guard var command = command as? any AsyncParsableCommand else { throw CleanExit.helpRequest() }
                try await command.run()
                guard fflush(nil) == 0 else { throw Failure("The output can't be written.") }
            } catch {
                let code = Self.exitCode(for: error)
                if code == .success { exit(withError: error) }
                tell(remark(on: error, Array(CommandLine.arguments.dropFirst())))
                exit(withError: code)
            }
        }

        /// The message to the user about an error.
        static func remark(on error: any Error, _ arguments: [String]) -> String {
            if error is ExitCode { return "" }
            guard exitCode(for: error) == .failure else {
                return withoutAddresses(fullMessage(for: error), arguments) + "\n"
            }
            let message = "resilience-queue: \(escaped(withoutAddresses("\(error)", arguments)))\n"
            return message + (message.contains("malformed") ? "Try resilience-queue salvage FILE NEWFILE.\n" : "")
        }

        struct List: AsyncParsableCommand {
            static let configuration = CommandConfiguration(abstract: "Lists pending or dead mutations, and totals.")
            @OptionGroup var place: QueuePlace
            @Flag(help: "List dead mutations.") var dead = false
            @Option(help: "The most mutations to list.") var limit = 100
            @Option(help: "List only mutations at higher positions.") var after = Int64.min
            @Flag(help: "Print one JSON object.") var json = false

            func run() async throws {
                let queue = try await place.open().queue
                var (position, left, isFirst) = (after, limit, true)
                print(json ? "{\"mutations\": [" : Row.header)
                while left > 0 {
                    let most = min(left, 1_000)
                    let page =
                        try await dead
                        ? queue.dead(after: position, limit: most) : queue.pending(after: position, limit: most)
                    guard let last = page.last, last.position > position else { break }
                    for stored in page {
                        let row = Row(stored, withPayload: false)
                        print(json ? "\(isFirst ? "" : ", ")\(try row.json)" : row.line)
                        isFirst = false
                    }
                    (position, left) = (last.position, left - page.count)
                }
                let totals = try await Totals(queue)
                print(json ? "], \"totals\": \(try totals.json)}" : "\n\(totals.text)")
            }
        }

        struct Show: AsyncParsableCommand {
            static let configuration = CommandConfiguration(abstract: "Shows one mutation, pending or dead.")
            @OptionGroup var place: QueuePlace
            @OptionGroup var naming: Naming
            @Argument(help: "The mutation's id.") var id: String
            @Flag(help: "Print one JSON object.") var json = false
            @Flag(help: "Also print the payload: as text, or as Base64 if it is not UTF-8; in JSON always Base64.")
            var payload = false

            func validate() throws { try naming.check([id]) }

            func run() async throws {
                let queue = try await place.open().queue
                guard let stored = try await naming.mutation(id, in: queue) else {
                    throw Failure("\(id) is not in the queue.")
                }
                let row = Row(stored, withPayload: payload)
                print(json ? try row.json : row.text)
            }
        }

        struct Cancel: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Removes pending mutations.",
                discussion:
                    "A mutation in flight may still take effect. After \"--\", an id may begin with a dash."
            )
            @OptionGroup var place: QueuePlace
            @OptionGroup var naming: Naming
            @Argument(help: "The ids of the mutations.") var ids: [String]

            func validate() throws { try naming.check(ids) }

            func run() async throws {
                let open = try await place.open()
                var isDone = true
                for id in ids {
                    let name = try await naming.isPosition ? naming.mutation(id, in: open.queue)?.mutation.id : id
                    let cancelled = if let name { try await open.queue.cancel(name) } else { StoredMutation?.none }
                    isDone = isDone && cancelled != nil
                    let remark = cancelled.map {
                        $0.isAttempted ? "cancelled; it may have been sent" : "cancelled, never sent"
                    }
                    print("\(escaped(id)): \(remark ?? "not pending")")
                }
                await open.tellWorkers()
                if !isDone { throw ExitCode.failure }
            }
        }

        struct Retry: AsyncParsableCommand {
            static let configuration = CommandConfiguration(abstract: "Makes dead mutations pending again.")
            @OptionGroup var place: QueuePlace
            @OptionGroup var choice: DeadChoice
            @Flag(
                help: """
                    Include overtaken mutations: a later one of their entity was sent, so they may overwrite it.
                    """)
            var evenOvertaken = false

            func run() async throws {
                let count = try await place.change { queue in
                    try await queue.retryDead(choice.chosen, evenOvertaken: evenOvertaken)
                }
                try choice.tell("\(count) pending again", count)
            }
        }

        struct Discard: AsyncParsableCommand {
            static let configuration = CommandConfiguration(abstract: "Removes dead mutations for good.")
            @OptionGroup var place: QueuePlace
            @OptionGroup var choice: DeadChoice

            func run() async throws {
                let count = try await place.change { try await $0.discardDead(choice.chosen) }
                try choice.tell("\(count) discarded", count)
            }
        }

        struct Pause: AsyncParsableCommand {
            static let configuration = CommandConfiguration(abstract: "Pauses sending in all workers.")
            @OptionGroup var place: QueuePlace
            @Option(name: .customLong("for"), help: "The length, such as 90s, 10m, 2h or 1d. (default: until resume)")
            var length: Length?

            func run() async throws {
                try await place.change { try await $0.pause(for: length?.duration) }
                print(length.map { "paused for \($0.text)" } ?? "paused, until it is resumed")
            }
        }

        struct Resume: AsyncParsableCommand {
            static let configuration = CommandConfiguration(abstract: "Ends a pause, even one that a server asked for.")
            @OptionGroup var place: QueuePlace

            func run() async throws {
                try await place.change { try await $0.resume() }
                print("resumed")
            }
        }

        struct Salvage: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Copies the readable mutations of a damaged SQLite file into a new one.",
                discussion: """
                    First stop every program that sends from the damaged file. If its disk is read-only, first \
                    copy it and the files beside it.
                    """)
            @Argument(help: "The damaged file, which is left as it is.") var file: String
            @Argument(help: "The path of the new file, which must not exist yet.") var newFile: String

            func run() async throws {
                let salvaged = try SQLiteStore.salvage(file, into: newFile)
                print(
                    "\(salvaged.pending) pending, \(salvaged.dead) dead; missing: "
                        + (salvaged.missing.map { "\($0)" } ?? "unknown, the damaged file's counts can't be read"))
                if salvaged.missing != 0 { throw ExitCode.failure }
            }
        }
    }
#else
    import Foundation

    @main
    enum ResilienceQueueCommand {
        static func main() {
            FileHandle.standardError.write(
                Data("resilience-queue needs the QueueTool trait: swift run --traits QueueTool resilience-queue\n".utf8)
            )
            exit(1)
        }
    }
#endif
