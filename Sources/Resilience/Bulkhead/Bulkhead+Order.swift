extension Bulkhead {
    /// The order in which waiting calls get a permit.
    ///
    /// When the queue is full, the call whose turn would come last is rejected, whether it is the new call or a waiting
    /// one.
    public enum Order: String, SettingChoice {
        /// The oldest call first.
        ///
        /// A full queue rejects the new call.
        case firstInFirstOut
        /// The newest call first: under overload, its caller is the likeliest to be still waiting (Maurer, "Fail at
        /// Scale", ACM Queue 2015).
        ///
        /// Older calls wait longer, some until they give up. A full queue rejects its oldest call.
        case lastInFirstOut
        /// Calls take turns by ``RunOptions/priority``: a priority that is higher by 64 gets eight times as many turns.
        ///
        /// Among calls of equal priority, the oldest is first.
        ///
        /// The lower a priority, the later its first turn, so a few important calls precede the less important calls.
        /// However many important calls there are, the less important calls get their share. A full queue rejects the
        /// call whose turn would come last; the next call of the same priority takes that turn.
        case byPriority
    }
}
