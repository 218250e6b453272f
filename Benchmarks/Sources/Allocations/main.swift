import Calls
import Foundation

// Makes calls of one kind, for a tool that counts allocations: `Allocations NAME COUNT`. Without arguments: the names.
let all = Calls.all + Calls.delays
let arguments = CommandLine.arguments.dropFirst()
guard let name = arguments.first, let count = arguments.dropFirst().first.flatMap({ Int($0) }) else {
    for calls in all { print(calls.name) }
    exit(0)
}
guard let calls = all.first(where: { $0.name == name }) else { fatalError("no calls named \(name)") }

// The main thread waits: valgrind fails if it ends into the dispatch main loop.
let done = DispatchSemaphore(value: 0)
Task.detached {
    try await calls.make(count)
    done.signal()
}
done.wait()
exit(0)
