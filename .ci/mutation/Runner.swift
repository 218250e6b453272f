import Foundation
import Synchronization

/// Tests that run together, and their time limits.
struct Stage: Sendable {
    let arguments: [String]
    /// In seconds, of processor time (which other work on the machine does not use up) and of time.
    var limits = (work: 120.0, time: 240.0)
}

/// Runs the tests that were built.
struct Runner: Sendable {
    enum Result { case passed, failed, timedOut, notTried }

    let tests: URL
    /// The number of tests at a time: `JOBS`, or two.
    private let jobs = ProcessInfo.processInfo.environment["JOBS"].flatMap { Int($0) } ?? 2

    init(tests: URL) { self.tests = tests }

    /// Tests that pass without any change, limited to five times their time; nil if there are none.
    func stage(filter: String, skip: String? = nil) -> Stage? {
        var stage = Stage(arguments: ["--filter", filter] + (skip.map { ["--skip", $0] } ?? []))
        let (began, before) = (Date(), Self.workOfChildren())
        switch run(stage, mutant: 0) {
        case .passed: break
        case .notTried: return nil
        case .failed, .timedOut: Mutants.stop("\(filter) fails without any change")
        }
        stage.limits.work = max(4, (Self.workOfChildren() - before) * 5)
        stage.limits.time = max(60, Date().timeIntervalSince(began) * 5)
        return stage
    }

    private static func workOfChildren() -> Double {
        var usage = rusage()
        getrusage(RUSAGE_CHILDREN.rawValue, &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
    }

    func results(of mutants: [Mutant], _ stages: [Stage], until deadline: Date) -> [Result] {
        let next = Atomic(0)
        let results = Mutex(Array(repeating: Result.notTried, count: mutants.count))
        DispatchQueue.concurrentPerform(iterations: jobs) { _ in
            while true {
                let index = next.add(1, ordering: .relaxed).oldValue
                guard index < mutants.count, Date() < deadline else { return }
                let result = result(of: mutants[index], stages)
                results.withLock { $0[index] = result }
            }
        }
        return results.withLock { $0 }
    }

    /// The result of the first stage that notices the mutant.
    func result(of mutant: Mutant, _ stages: [Stage]) -> Result {
        stages.lazy.map { run($0, mutant: mutant.number) }.first { $0 != .passed } ?? .passed
    }

    /// Runs until the first issue, or until a limit is reached.
    private func run(_ stage: Stage, mutant: Int) -> Result {
        let process = Process()
        let output = Pipe()
        let ended = DispatchSemaphore(value: 0)
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments =
            [
                "-c", #"ulimit -c 0; ulimit -t \#(Int(stage.limits.work)); ulimit -v 8000000; exec "$0" "$@""#,
                tests.path,
                "--testing-library", "swift-testing",
            ] + stage.arguments
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["MUTANT": "\(mutant)", "SWIFT_BACKTRACE": "enable=no"], uniquingKeysWith: { $1 })
        process.standardOutput = output
        process.standardError = output
        process.terminationHandler = { _ in ended.signal() }
        do { try process.run() } catch { Mutants.stop("\(tests.path): \(error)") }
        let pid = process.processIdentifier
        let timeout = DispatchWorkItem { kill(pid, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + stage.limits.time, execute: timeout)
        // The end of the output, long enough for the beginning of an issue: a line can have any length.
        var tail = ""
        var issue: String?
        while issue == nil, case let data = output.fileHandleForReading.availableData, !data.isEmpty {
            tail += String(decoding: data, as: UTF8.self)
            if let start = tail.range(of: "recorded an issue")?.lowerBound {
                tail = String(tail[start...])
                issue = tail.range(of: "\n").map { String(tail[..<$0.lowerBound]) }
            } else {
                tail = String(tail.suffix(20))
            }
        }
        if issue != nil { kill(pid, SIGKILL) }
        ended.wait()
        timeout.cancel()
        if let issue { return issue.contains("Time limit was exceeded") ? .timedOut : .failed }
        switch (process.terminationReason, process.terminationStatus) {
        case (.exit, 0): return .passed
        // The test library's exit code if no test is left.
        case (.exit, EX_UNAVAILABLE): return .notTried
        case (.uncaughtSignal, SIGXCPU), (.uncaughtSignal, SIGKILL): return .timedOut
        default: return .failed
        }
    }
}
