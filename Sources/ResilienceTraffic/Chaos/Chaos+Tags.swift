import Resilience

extension Chaos {
    @TaskLocal private static var tag: String?

    /// The tag that travels with this task; nil if there is none.
    public static var currentTag: String? { tag }

    /// Runs work, and gives its calls a tag, in child tasks as well, for a ``ChaosScope`` that names the tag.
    ///
    /// - Parameters:
    ///   - tag: The tag.
    ///   - body: The work. It runs in the caller's isolation.
    /// - Returns: The work's result.
    /// - Throws: The work's error.
    public nonisolated(nonsending) static func tagged<R>(
        _ tag: String, _ body: nonisolated(nonsending) () async throws -> R
    ) async rethrows -> R {
        try await $tag.withValue(tag) { try await body() }
    }
}
