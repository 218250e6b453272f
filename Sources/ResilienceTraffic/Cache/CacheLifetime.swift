/// How long a ``CallCache`` keeps a value, and when the cache returns it, by its age.
public struct CacheLifetime: Sendable, Hashable {
    /// How long the value is fresh: it is returned without a load; 0 for never.
    public var freshFor: Duration
    /// How long after ``freshFor`` the value is still returned at once, while a new value is loaded; by default 0
    /// (`stale-while-revalidate`, RFC 5861).
    public var staleWhileRevalidate: Duration
    /// How long after ``freshFor`` the value is returned if a new one can't be loaded; by default 0 (`stale-if-error`,
    /// RFC 5861).
    public var staleIfError: Duration

    /// Creates a lifetime.
    ///
    /// - Parameters:
    ///   - freshFor: How long the value is fresh; 0 for never.
    ///   - staleWhileRevalidate: How long after that it is still returned at once, while a new value is loaded. 0 by
    ///     default.
    ///   - staleIfError: How long after `freshFor` it is returned if a new value can't be loaded. 0 by default.
    public init(freshFor: Duration, staleWhileRevalidate: Duration = .zero, staleIfError: Duration = .zero) {
        self.freshFor = freshFor
        self.staleWhileRevalidate = staleWhileRevalidate
        self.staleIfError = staleIfError
    }

    /// This lifetime, with 0 for each negative time.
    var clamped: CacheLifetime {
        CacheLifetime(
            freshFor: max(.zero, freshFor), staleWhileRevalidate: max(.zero, staleWhileRevalidate),
            staleIfError: max(.zero, staleIfError))
    }
}
