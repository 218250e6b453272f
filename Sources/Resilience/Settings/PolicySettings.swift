/// Checks settings that come from outside: a file, an environment, a reloaded configuration.
///
/// Making a policy with an invalid setting traps: a mistake in source code should show at once. But settings from
/// outside must not end the process. Make policies with such settings in ``checked(_:)``, which throws instead:
///
/// ```swift
/// let bulkhead = try PolicySettings.checked {
///     Bulkhead(limit: loaded.limit, queue: loaded.queue)
/// }
/// ```
///
/// You can also make whole pipelines and registries in it.
///
/// See <doc:ConfigurationGuide>.
public enum PolicySettings {
    /// Calls `make`, and throws instead of trapping if `make` uses an invalid setting.
    ///
    /// It covers what `make` does itself, not what happens later, such as the values that a registry makes for its
    /// keys: see ``PolicyRegistry/reconfigure(make:)``. A change that `make` makes (``Bulkhead/setLimit(_:)``,
    /// ``Throttle/setRate(_:burst:)``, `reconfigure`) is not made if an earlier setting was invalid.
    ///
    /// The check ends when `make` returns. From then on, a task that `make` began traps on an invalid setting.
    ///
    /// A check inside another check throws only its own problems. If the outer `make` rethrows that error, the outer
    /// check throws those problems with its own; if it handles the error, the outer check does not throw them. A change
    /// in the inner check is not made if either check has found an invalid setting.
    /// - Parameter make: Makes policies, pipelines or registries, or changes them.
    /// - Returns: The result of `make`.
    /// - Throws: ``InvalidSettings``, with all problems; the error of `make`, if all settings were valid.
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

/// An invalid setting, and what is wrong with it.
public struct InvalidSetting: Sendable, Hashable, CustomStringConvertible {
    /// What the setting configures, such as "Bulkhead".
    public let subject: String
    /// The parameter's name, such as "limit"; for a decoded setting its path, such as "search.bulkhead.limit".
    public let parameter: String
    /// The invalid value, such as "0".
    public let value: String
    /// What the value must be, such as "must be at least 1".
    public let requirement: String

    /// Creates an invalid setting.
    ///
    /// - Parameters:
    ///   - subject: What the setting configures, such as "Bulkhead".
    ///   - parameter: The parameter's name, such as "limit"; for a decoded setting its path.
    ///   - value: The invalid value, such as "0".
    ///   - requirement: What the value must be, such as "must be at least 1".
    public init(subject: String, parameter: String, value: String, requirement: String) {
        self.subject = subject
        self.parameter = parameter
        self.value = value
        self.requirement = requirement
    }

    public var description: String { "\(subject): \(parameter) is \(value), and \(requirement)" }
}

/// The invalid settings that [PolicySettings.checked(_:)](<doc:PolicySettings/checked(_:)>) found.
public struct InvalidSettings: Error, Hashable, CustomStringConvertible {
    /// All invalid settings, in the order in which they were found; at least one.
    public let problems: [InvalidSetting]

    /// Creates the error.
    ///
    /// - Parameter problems: All invalid settings; at least one.
    public init(problems: [InvalidSetting]) { self.problems = problems }

    public var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// The invalid settings that one check has found.
final class Problems: Sendable {
    @TaskLocal fileprivate static var innermost: Problems?

    /// The innermost check around this one that was open when this one began.
    private let outer = all.first { $0.isOpen }
    /// nil once the check has returned; until then the check is open. A task that began inside the check may use this
    /// object later.
    private let found = Locked<[InvalidSetting]?>([])

    /// The checks around the running code, innermost first.
    private static var all: some Sequence<Problems> {
        sequence(state: innermost) { next in
            defer { next = next?.outer }
            return next
        }
    }

    private var isOpen: Bool { found.withLock { $0 != nil } }

    /// Whether the running code is in an open check.
    static var areNoted: Bool { all.contains { $0.isOpen } }

    /// Whether an open check around the running code has found a problem.
    static var areFound: Bool { all.contains { $0.found.withLock { $0?.isEmpty == false } } }

    /// Notes a problem for the innermost open check.
    /// - Returns: false if there is no open check.
    static func note(_ problem: InvalidSetting) -> Bool {
        all.contains { $0.found.withLock { $0?.append(problem) != nil } }
    }

    /// Ends the check.
    /// - Returns: The problems.
    fileprivate func close() -> [InvalidSetting] { found.withLock { $0.take() } ?? [] }
}

/// The checks of one type's settings. Each returns a valid value: the given one, or, inside of
/// [PolicySettings.checked(_:)](<doc:PolicySettings/checked(_:)>), a substitute to use until the problem is thrown.
package struct SettingChecks: Sendable {
    let subject: String

    package init(_ subject: String) { self.subject = subject }

    /// Returns the value if it is valid; otherwise notes the problem and returns `valid`, or traps outside of a check.
    /// - Parameter requirement: The text after "and" in the message: "must be …".
    package func require<Value>(
        _ isValid: Bool, _ value: Value, _ parameter: String, _ requirement: @autoclosure () -> String,
        else valid: @autoclosure () -> Value
    ) -> Value {
        allows(isValid, value, parameter, requirement()) ? value : valid()
    }

    /// Returns whether a value is valid, for a change of an existing object. If the value is invalid, do not make the
    /// change: the problem is noted, or traps outside of a check.
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
        (value as? Duration)?.text ?? "\(value)"
    }

    /// Whether a change may be made: false if an open check has found an invalid setting, which may be part of the
    /// change.
    package static var mayChange: Bool { !Problems.areFound }

    package func atLeast(_ least: Int, _ value: Int, _ parameter: String) -> Int {
        require(
            value >= least, value, parameter, least == 0 ? "must not be negative" : "must be at least \(least)",
            else: least)
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

    /// Requires that `value` contains neither success nor cancelled: after these, a substitute or another attempt makes
    /// no sense.
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
