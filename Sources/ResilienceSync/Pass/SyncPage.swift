/// What was fetched from the other side in one request.
public struct SyncPage<Value: Sendable>: Sendable {
    public let value: Value
    /// Where the next increment goes on from.
    public let cursor: Int64
    /// Whether there is more to fetch at once.
    public let hasMore: Bool

    public init(_ value: Value, cursor: Int64, hasMore: Bool = false) {
        self.value = value
        self.cursor = cursor
        self.hasMore = hasMore
    }
}
