extension Bulkhead {
    /// The order in which waiting calls get a permit.
    ///
    /// When the queue is full, the call whose turn would come last is rejected, whether it is the new call or a waiting
    /// one.
    public enum Order: String, SettingChoice {
        /// The oldest call first. A full queue rejects the new call.
        case firstInFirstOut
        /// The newest call first: under overload, its caller is the likeliest to be still waiting (Maurer, "Fail at
        /// Scale", ACM Queue 2015). Older calls wait longer, some until they give up. A full queue rejects its oldest
        /// call.
        case lastInFirstOut
        /// Turns by ``RunOptions/priority``: eight times as many for a priority that is higher by 64. Among equals, the
        /// oldest call first.
        ///
        /// The first turn of a priority comes the later the lower it is, so a few important calls are all before the less
        /// important. However many they are, the others get their share. A full queue rejects the call whose turn would
        /// come last; the next one of its priority has that turn instead.
        case byPriority
    }
}
