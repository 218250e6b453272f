/// The result of one fetch from the other side.
public struct SyncPage<Value: Sendable>: Sendable {
    /// The fetched value.
    public let value: Value
    /// The cursor that the next increment continues from.
    public let cursor: Int64
    /// Whether there is another page to fetch at once.
    public let hasMore: Bool

    /// Creates a page.
    ///
    /// - Parameters:
    ///   - value: The fetched value.
    ///   - cursor: The cursor that the next increment continues from.
    ///   - hasMore: Whether there is another page to fetch at once; false by default.
    public init(_ value: Value, cursor: Int64, hasMore: Bool = false) {
        self.value = value
        self.cursor = cursor
        self.hasMore = hasMore
    }
}
