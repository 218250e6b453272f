/// The last few objects of one kind, so that one of them can be reused instead of a new, equal object.
///
/// A registry makes a policy for each key, nearly always with the same settings. So all of them share one object with
/// the constant part. This type keeps no object alive.
struct Recent<Object: AnyObject & Sendable>: ~Copyable, Sendable {
    private struct Reference: Sendable {
        weak var object: Object?
    }

    private let references = Locked<[Reference]>([])

    /// A small number, since each new object is compared with all of them. If each key has a pipeline, that pipeline
    /// has about this many policies.
    private static var most: Int { 8 }

    /// Returns a recent object that is like a new one, or the new one.
    /// - Parameter isAlike: Whether two objects are interchangeable. It runs under a lock. An object that is not even
    ///   like itself is not shared.
    func shared(_ made: Object, _ isAlike: (Object, Object) -> Bool) -> Object {
        guard isAlike(made, made) else { return made }
        // Released after the lock.
        var seen: [Object] = []
        return references.withLock { references in
            for reference in references.reversed() {
                guard let object = reference.object else { continue }
                if isAlike(object, made) { return object }
                seen.append(object)
            }
            references.removeAll { $0.object == nil }
            if references.count == Self.most { references.removeFirst() }
            references.append(Reference(object: made))
            return made
        }
    }
}
