import Resilience

/// Decides when a queue that follows a shared store looks for mutations, so that not all queues look for each mutation.
///
/// All queues hear the same notifications, in the same order. Some are news, each with its own number. A queue that
/// finds no more free lanes announces that the news it heard before its look is served. The queue that announced last,
/// or that found something since, looks at once. The others wait, each for a different time, and look unless their news
/// was meanwhile announced as served.
struct NewsStateMachine: Sendable, Hashable {
    /// Longer than the first queue needs to take the free lanes. Until a queue has announced something, none is known
    /// to be the first.
    static let leastWait = Duration.milliseconds(50)
    static let spread = Duration.milliseconds(450)

    /// The content of a notification.
    enum Notification: Sendable, Hashable {
        /// All queues must look: at a pause, or because something may have been missed.
        case everybody
        case news(String)
        /// A queue ended without sending all of its taken mutations.
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
        /// Look for something to send, because of this news; nil for another reason.
        case look(String?)
        /// Begin to send: there probably is something.
        case begin
    }

    /// Its unique name.
    let name: String
    /// The last news heard, unless it was announced as served.
    private(set) var unserved: String?
    private var looksAt: MonotonicInstant?
    private var mustLook = false
    private var isFirst = false
    private var knowsOthers = false
    private var leftSome = false

    init(name: String) { self.name = name }

    /// - Parameter chance: From 0 to 1.
    /// - Returns: When to ask for the ``next(at:)`` step; nil if this changes nothing.
    mutating func heard(
        _ notification: Notification, at now: MonotonicInstant, chance: Double
    ) -> MonotonicInstant? {
        switch notification {
        case .everybody:
            mustLook = true
            return now
        case .left where leftSome:
            // This queue tries again automatically.
            return nil
        case .news(let number), .left(let number):
            unserved = number
            guard looksAt == nil else { return nil }
            let wait = knowsOthers ? Self.leastWait + Self.spread * chance : Self.leastWait * chance
            looksAt = isFirst ? now : now + wait
            return looksAt
        case .served(let number, let name):
            knowsOthers = true
            // If two queues began at once, one of them stays the first: all hear the same notification last.
            isFirst = name == self.name
            served(number)
            return nil
        }
    }

    /// Called when it is time to look even without a notification.
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
    ///   - foundSome: Whether it has taken any lanes.
    ///   - served: The news that it announced as served; nil for none.
    mutating func looked(foundSome: Bool, served number: String?) {
        if foundSome { isFirst = true }
        if let number { served(number) }
    }

    /// Called when the queue ended.
    /// - Parameter leftSome: Whether it has not sent all of its taken mutations.
    mutating func ended(leftSome: Bool) {
        self.leftSome = leftSome
        if leftSome { isFirst = false }
    }

    private mutating func served(_ number: String) {
        // Later news may have come after that look.
        if unserved == number { (unserved, looksAt) = (nil, nil) }
    }
}
