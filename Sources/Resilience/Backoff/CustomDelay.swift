/// A user's delay function. A class, so that a ``Backoff`` stays equatable: each delay function is equal only to
/// itself.
final class CustomDelay: Sendable, Hashable {
    let body: @Sendable (_ retry: Int, _ previous: Duration) -> Duration

    init(_ body: @escaping @Sendable (_ retry: Int, _ previous: Duration) -> Duration) { self.body = body }

    static func == (a: CustomDelay, b: CustomDelay) -> Bool { a === b }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
