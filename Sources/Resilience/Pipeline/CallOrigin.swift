import Synchronization

/// The priority and the attempt of the request that a task answers.
///
/// Set it where the request arrives. It applies to every pipeline call that the work makes, also in child tasks.
///
/// ```swift
/// try await CallOrigin(priority: .low, attempt: 2).run {
///     let page = try await catalog.run { try await client.page() }
///     return render(page)
/// }
/// ```
///
/// - A call without a ``RunOptions/priority`` of its own has the request's priority.
/// - If the request is itself a retry, its calls are not retried: its caller retries. A ``Retry`` below gives up with
///   ``RetriesExhausted/Reason/callerRetries`` unless one of its rules says ``Retry/Decision/retry``. Otherwise three
///   layers with three retries each would make 64 calls of one.
/// - If a retry below has failed, the caller should not retry: ``shouldCallerRetry``.
///
/// Make one value for each request: the value notes the request's failed retries. The operation of a `SingleFlight` has
/// the priority and the attempt of the call that began it; all its callers learn of failed retries. Background
/// refreshes of a `CallCache` have no origin.
///
/// Source: B. Beyer and others, *Site Reliability Engineering*, 2016, chapters 21 and 22: criticality, retries in one
/// layer, three attempts for a request, "overloaded; don't retry".
public struct CallOrigin: Sendable {
    /// The total number of attempts for a request: 3.
    public static let mostAttempts = 3

    /// How important the request is; nil if it names no priority.
    public let priority: CallPriority?
    /// The number of this attempt among the caller's attempts; 1 or more.
    public let attempt: Int

    private final class Notes: Sendable {
        let hasRetried = Atomic(false)
    }

    private let notes = Notes()

    /// Creates an origin.
    ///
    /// - Parameters:
    ///   - priority: How important the request is; nil, the default, if it names no priority.
    ///   - attempt: The number of this attempt among the caller's attempts. 1 by default; less counts as 1.
    public init(priority: CallPriority? = nil, attempt: Int = 1) {
        self.priority = priority
        self.attempt = max(1, attempt)
    }

    /// The origin that travels with this task; nil if there is none.
    public static var current: CallOrigin? { wasEverSet.load(ordering: .relaxed) ? travelling : nil }

    /// Runs the work that answers the request.
    ///
    /// - Parameter body: The work. It runs in the caller's isolation.
    /// - Returns: The work's result.
    /// - Throws: The work's error.
    public nonisolated(nonsending) func run<R>(_ body: nonisolated(nonsending) () async throws -> R) async rethrows -> R
    {
        Self.wasEverSet.store(true, ordering: .relaxed)
        return try await Self.$travelling.withValue(self) { try await body() }
    }

    /// Whether the caller should try again if the request fails now.
    ///
    /// nil if another attempt may help; false if
    ///
    /// - a ``Retry`` below has tried again and failed, or had no budget for that, at any point of the request,
    /// - or the request has been tried ``mostAttempts`` times.
    public var shouldCallerRetry: Bool? { attempt >= Self.mostAttempts || hasRetried ? false : nil }

    /// Whether a retry below has failed, or had no budget.
    package var hasRetried: Bool { notes.hasRetried.load(ordering: .relaxed) }
    package func noteRetried() { notes.hasRetried.store(true, ordering: .relaxed) }

    /// An origin for work that several requests wait for: like the present origin, but with its own notes. nil if no
    /// request of this process has an origin.
    package static var shared: CallOrigin? {
        guard wasEverSet.load(ordering: .relaxed) else { return nil }
        return CallOrigin(priority: travelling?.priority, attempt: travelling?.attempt ?? 1)
    }

    /// Runs work with an origin; with nil, the work keeps the present origin.
    package nonisolated(nonsending) static func within<R>(
        _ origin: CallOrigin?, _ body: nonisolated(nonsending) () async throws -> R
    ) async rethrows -> R {
        guard let origin else { return try await body() }
        return try await $travelling.withValue(origin) { try await body() }
    }

    /// Runs work outside of any request.
    package nonisolated(nonsending) static func lifting<R>(
        _ body: nonisolated(nonsending) () async throws -> R
    ) async rethrows -> R {
        guard current != nil else { return try await body() }
        return try await $travelling.withValue(nil) { try await body() }
    }

    @TaskLocal private static var travelling: CallOrigin?

    /// Whether an origin has ever travelled in this process. Reading a task-local value costs more than this.
    private static let wasEverSet = Atomic(false)
}

extension RunOptions {
    /// The call's own priority, or the priority of the request that this task answers.
    package var effectivePriority: CallPriority? { priority ?? CallOrigin.current?.priority }
}

extension CallOrigin {
    /// The attempt number to send to the other side: the call's, or the higher number of the request that this task
    /// answers.
    package static func told(_ attempt: Int) -> Int { max(attempt, current?.attempt ?? 1) }
}
