/// A delay that a user wrote. A class, so that a ``Backoff`` stays comparable: each is equal to itself.
final class CustomDelay: Sendable, Hashable {
    let body: @Sendable (_ retry: Int, _ previous: Duration) -> Duration

    init(_ body: @escaping @Sendable (_ retry: Int, _ previous: Duration) -> Duration) { self.body = body }

    static func == (a: CustomDelay, b: CustomDelay) -> Bool { a === b }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
