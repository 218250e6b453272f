import Resilience

/// The endpoints of an ``EndpointPool`` that one call has tried.
///
/// The call's next attempt goes to another endpoint.
///
/// ```swift
/// var tried = TriedEndpoints()
/// for _ in 0..<3 {
///     let permit = try pool.pick(after: &tried)
///     let reply = await send(request, to: permit.endpoint)
///     permit.complete(reply.isGood ? .success : .transient)
///     if reply.isGood { break }
/// }
/// ```
///
/// It belongs to one call, and to one pool.
public struct TriedEndpoints: Sendable, Hashable {
    /// The number of the first endpoint; 0 for none, since no endpoint has that number. It is not in `others`, so that
    /// a call with only one endpoint allocates nothing.
    private var first = 0
    private var others: [Int] = []
    /// The endpoints that have rejected the present attempt, which does not return to them.
    var rejected: [Int] = []

    /// Creates an empty list.
    public init() {}

    /// The number of endpoints that the call has tried since it last tried all of them.
    public var count: Int { first == 0 ? 0 : others.count + 1 }

    var isEmpty: Bool { first == 0 }

    func contains(_ id: Int) -> Bool { first == id || others.contains(id) }

    mutating func add(_ id: Int) {
        if first == 0 { first = id } else { others.append(id) }
    }

    /// All endpoints have been tried: from now on avoids only the last endpoint and the given endpoints.
    mutating func startOver(keeping inFlight: [Int]) {
        guard first != 0 else { return }
        let last = others.last ?? first
        (first, others) = (last, inFlight.filter { $0 != last })
    }

    mutating func removeAll() { (first, others) = (0, []) }
}
