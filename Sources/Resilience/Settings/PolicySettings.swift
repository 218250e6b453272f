/// The way in for settings that come from outside: a file, an environment, a reloaded configuration.
///
/// A policy that is made with a setting that can't be traps: in source code that is a mistake to be seen at once. Settings from
/// outside must not end the process. Make such policies in here:
///
/// ```swift
/// let bulkhead = try PolicySettings.checked { Bulkhead(limit: loaded.limit, queue: loaded.queue) }
/// ```
///
/// Whole pipelines and registries can be made so, too.
public enum PolicySettings {
    /// Calls `make`, and throws instead of trapping if it makes anything with a setting that can't be.
    ///
    /// It covers what `make` does by itself, not what it leaves for later, such as the values that a registry makes for its
    /// keys: see ``PolicyRegistry/reconfigure(make:)``. What `make` changes while it runs (``Bulkhead/setLimit(_:)``,
    /// ``Throttle/setRate(_:burst:)``, `reconfigure`) is not changed if a setting was invalid up to there.
    ///
    /// It ends when it returns: a task that `make` began traps on an invalid setting from then on, as outside.
    ///
    /// One within another throws what was wrong in it alone. If `make` lets that out, the outer one throws it with its own; if
    /// `make` handles it, the outer one does not throw. What is changed in the inner one is not changed if a setting was
    /// invalid in either.
    /// - Returns: what `make` returned.
    /// - Throws: ``InvalidSettings``, with everything that was wrong; what `make` threw, if its settings were valid.
    public static func checked<T>(_ make: () throws -> T) throws -> T {
        let problems = Problems()
        let made = Result { try Problems.$innermost.withValue(problems, operation: make) }
        var found = problems.close()
        guard !found.isEmpty else { return try made.get() }
        if case .failure(let inner as InvalidSettings) = made {
            found += inner.problems.filter { !found.contains($0) }
        }
        throw InvalidSettings(problems: found)
    }
}

/// A setting that can't be.
public struct InvalidSetting: Sendable, Hashable, CustomStringConvertible {
    /// What was to be made with it: "Bulkhead".
    public let subject: String
    /// The parameter's name: "limit".
    public let parameter: String
    /// What it was: "0".
    public let value: String
    /// What it must be: "must be at least 1".
    public let requirement: String

    public init(subject: String, parameter: String, value: String, requirement: String) {
        self.subject = subject
        self.parameter = parameter
        self.value = value
        self.requirement = requirement
    }

    public var description: String { "\(subject): \(parameter) is \(value), and \(requirement)" }
}

/// Settings that can't be, thrown by ``PolicySettings/checked(_:)``.
public struct InvalidSettings: Error, Hashable, CustomStringConvertible {
    /// All that were found, in the order in which they were; one at least.
    public let problems: [InvalidSetting]

    public init(problems: [InvalidSetting]) { self.problems = problems }

    public var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// Where invalid settings are noted while somebody asks for them: the problems of one check.
final class Problems: Sendable {
    @TaskLocal fileprivate static var innermost: Problems?

    /// Of the check around this one.
    private let outer = all.first { $0.isOpen }
    /// nil once the check has returned. A task that was begun in it keeps this object.
    private let found = Locked<[InvalidSetting]?>([])

    /// The innermost first.
    private static var all: some Sequence<Problems> {
        sequence(state: innermost) { next in
            defer { next = next?.outer }
            return next
        }
    }

    private var isOpen: Bool { found.withLock { $0 != nil } }

    /// Whether somebody asks for them.
    static var areNoted: Bool { all.contains { $0.isOpen } }

    /// Whether any check that has not returned has one.
    static var areFound: Bool { all.contains { $0.found.withLock { $0?.isEmpty == false } } }

    /// Notes a problem for the innermost check that has not returned.
    /// - Returns: false if there is none.
    static func note(_ problem: InvalidSetting) -> Bool {
        all.contains { $0.found.withLock { $0?.append(problem) != nil } }
    }

    /// The check returns.
    /// - Returns: what was found.
    fileprivate func close() -> [InvalidSetting] { found.withLock { $0.take() } ?? [] }
}

/// The checks of one type's settings. Each returns a valid value: the one given, or, where problems are noted, one to go on
/// with until they are thrown.
package struct SettingChecks: Sendable {
    let subject: String

    package init(_ subject: String) { self.subject = subject }

    /// - Parameter requirement: what follows "and": "must be …".
    package func require<Value>(
        _ isValid: Bool, _ value: Value, _ parameter: String, _ requirement: @autoclosure () -> String,
        else valid: @autoclosure () -> Value
    ) -> Value {
        allows(isValid, value, parameter, requirement()) ? value : valid()
    }

    /// For a change of what is there already: it is to be left out if this is false.
    package func allows<Value>(
        _ isValid: Bool, _ value: Value, _ parameter: String, _ requirement: @autoclosure () -> String
    ) -> Bool {
        if isValid { return true }
        let problem = InvalidSetting(
            subject: subject, parameter: parameter, value: Self.text(value), requirement: requirement())
        guard Problems.note(problem) else { preconditionFailure("\(problem)") }
        return false
    }

    private static func text(_ value: Any) -> String {
        switch value {
        case let duration as Duration: duration.text
        case let durations as [Duration]: "[\(durations.map(\.text).joined(separator: ", "))]"
        default: "\(value)"
        }
    }

    /// Whether a change may be made: not if a setting was invalid that may be part of it.
    package static var mayChange: Bool { !Problems.areFound }

    package func atLeast(_ least: Int, _ value: Int, _ parameter: String) -> Int {
        isAtLeast(least, value, parameter) ? value : least
    }

    /// As ``allows(_:_:_:_:)``.
    func isAtLeast(_ least: Int, _ value: Int, _ parameter: String) -> Bool {
        allows(
            value >= least, value, parameter, least == 0 ? "must not be negative" : "must be at least \(least)")
    }

    package func notNegative(_ value: Duration, _ parameter: String) -> Duration {
        require(value >= .zero, value, parameter, "must not be negative", else: .zero)
    }

    package func aboveZero(_ value: Duration, _ parameter: String) -> Duration {
        require(value > .zero, value, parameter, "must be above zero", else: .seconds(1))
    }

    package func within<Value: Comparable>(_ range: ClosedRange<Value>, _ value: Value, _ parameter: String) -> Value {
        require(
            range.contains(value), value, parameter, "must lie in \(range.lowerBound)...\(range.upperBound)",
            else: value > range.upperBound ? range.upperBound : range.lowerBound)
    }

    /// What can have a substitute or another attempt.
    func failures(_ value: VerdictSet, _ parameter: String) -> VerdictSet {
        let others: VerdictSet = [.success, .cancelled]
        return require(
            value.isDisjoint(with: others), value, parameter, "must have neither success nor cancelled among them",
            else: value.subtracting(others))
    }

    package func share(_ value: Double, _ parameter: String) -> Double {
        require((0...1).contains(value), value, parameter, "must lie in 0...1", else: 0)
    }
}
