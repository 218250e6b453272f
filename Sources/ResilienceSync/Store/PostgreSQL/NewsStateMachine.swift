import Resilience

/// Decides when a queue that follows a shared store looks, so that not all of them look for each mutation.
///
/// All hear the same notifications, in the same order. Some are news, each with a number of its own; whoever finds that no
/// lane is free any more says which news it had heard of before it looked. The queue that said so last, or that found something
/// since, looks at once. The others wait, each for another time, and look unless it was said meanwhile that what they heard is served.
struct NewsStateMachine: Sendable, Hashable {
    /// Longer than the first needs to take what is free. Nobody is known to be the first until one has said something.
    static let leastWait = Duration.milliseconds(50)
    static let spread = Duration.milliseconds(450)

    /// What a notification says.
    enum Notification: Sendable, Hashable {
        /// Everybody is to look: at a pause, or because something may have been missed.
        case everybody
        case news(String)
        /// A queue ended without sending all that it had taken.
        case left(String)
        case served(String, by: String)

        init(_ text: String) {
            let number = String(text.dropFirst())
            self =
                switch text.first {
                case "n": .news(number)
                case "l": .left(number)
                case "s": .served("\(number.prefix { $0 != "." })", by: "\(number.drop { $0 != "." }.dropFirst())")
                case nil, .some: .everybody
                }
        }

        var text: String {
            switch self {
            case .everybody: ""
            case .news(let number): "n\(number)"
            case .left(let number): "l\(number)"
            case .served(let number, let name): "s\(number).\(name)"
            }
        }
    }

    enum Step: Sendable, Hashable {
        case wait
        /// Look whether there is anything, because of this news; nil if because of none.
        case look(String?)
        /// Begin to send: there probably is something.
        case begin
    }

    /// Tells it from all others.
    let name: String
    /// The last news that was heard, if nobody has said that it is served.
    private(set) var unserved: String?
    private var looksAt: MonotonicInstant?
    private var mustLook = false
    private var isFirst = false
    private var knowsOthers = false
    private var leftSome = false

    init(name: String) { self.name = name }

    /// - Parameter chance: From 0 to 1.
    /// - Returns: When to ask for the ``next(at:)`` step; nil if not because of this.
    mutating func heard(
        _ notification: Notification, at now: MonotonicInstant, chance: Double
    ) -> MonotonicInstant? {
        switch notification {
        case .everybody:
            mustLook = true
            return now
        case .left where leftSome:
            // It tries again by itself.
            return nil
        case .news(let number), .left(let number):
            unserved = number
            guard looksAt == nil else { return nil }
            let wait = knowsOthers ? Self.leastWait + Self.spread * chance : Self.leastWait * chance
            looksAt = isFirst ? now : now + wait
            return looksAt
        case .served(let number, let name):
            knowsOthers = true
            // Of two that began at once, one stays the first: all hear the same as the last.
            isFirst = name == self.name
            served(number)
            return nil
        }
    }

    /// Called when it is time to look even if nothing was heard.
    mutating func looksNowAndThen() { mustLook = true }

    mutating func next(at now: MonotonicInstant) -> Step {
        let isDue = looksAt.map { $0 <= now } ?? false
        guard isDue || mustLook else { return .wait }
        defer { mustLook = false }
        if isDue { looksAt = nil }
        if isDue, isFirst { return .begin }
        return .look(mustLook ? nil : unserved)
    }

    /// Called when the queue that sends has looked.
    /// - Parameters:
    ///   - foundSome: Whether it has taken any.
    ///   - served: The news that it has told the others is served; nil for none.
    mutating func looked(foundSome: Bool, served number: String?) {
        if foundSome { isFirst = true }
        if let number { served(number) }
    }

    /// Called when the queue ended.
    /// - Parameter leftSome: Whether it has not sent all that it had taken.
    mutating func ended(leftSome: Bool) {
        self.leftSome = leftSome
        if leftSome { isFirst = false }
    }

    private mutating func served(_ number: String) {
        // What was heard later may have come after that look.
        if unserved == number { (unserved, looksAt) = (nil, nil) }
    }
}
