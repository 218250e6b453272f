import Foundation
import ResilienceTesting
import Synchronization
import Testing

/// The kit and another library that uses the runtime's hook. Each test has its own process, since the hook belongs to
/// the process.
@Suite(.timeLimit(.minutes(20))) struct GlobalExecutorHookTests {
    typealias Original = @convention(thin) (UnownedJob) -> Void
    typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

    /// Safe: this is the address of a variable of the runtime. Each test is alone in its process, and writes before
    /// others read.
    nonisolated(unsafe) private static let place = dlsym(dlopen(nil, RTLD_LAZY), "swift_task_enqueueGlobal_hook")!
        .assumingMemoryBound(to: UInt.self)

    /// The runtime's hook as an address; 0 if it is not set.
    static var hook: UInt {
        get { place.pointee }
        set { place.pointee = newValue }
    }

    /// The steps that the other library saw.
    static let steps = Counter()
    static let other: Hook = { job, original in
        steps.add()
        original(job)
    }

    final class Counter: Sendable {
        private let count = Atomic(0)

        var value: Int { count.load(ordering: .relaxed) }

        func add() { count.add(1, ordering: .relaxed) }
    }

    @Test("after a run the runtime has no hook, as before, however many runs were concurrent")
    func leavesNothing() async {
        await #expect(processExitsWith: .success) {
            #expect(Self.hook == 0)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<20 { group.addTask { try? ManualClock().run { await Task {}.value } } }
            }
            try ManualClock().run { try ManualClock().run { #expect(Self.hook != 0) } }
            #expect(Self.hook == 0)
        }
    }

    @Test("another library's hook sees every step outside a run, and is restored afterwards")
    func keepsAnother() async {
        await #expect(processExitsWith: .success) {
            let other = unsafeBitCast(Self.other, to: UInt.self)
            Self.hook = other
            try ManualClock().run {
                let before = Self.steps.value
                for _ in 0..<10 { await Task {}.value }
                #expect(Self.steps.value == before)
                let isStarted = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    Task {}
                    isStarted.signal()
                }
                block(until: isStarted)
                #expect(Self.steps.value == before + 1)
            }
            #expect(Self.hook == other)
        }
    }

    @Test("a hook that another library sets during a run stays set")
    func keepsALaterOne() async {
        await #expect(processExitsWith: .success) {
            let other = unsafeBitCast(Self.other, to: UInt.self)
            try ManualClock().run { Self.hook = other }
            #expect(Self.hook == other)
            try ManualClock().run { await Task {}.value }
            #expect(Self.hook == other)
        }
    }
}

/// Blocks the thread, which no step of a run should do. Here it is safe: the other thread needs nothing from this one.
func block(until semaphore: DispatchSemaphore) { semaphore.wait() }
