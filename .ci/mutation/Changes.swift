/// Answers that a state machine could mix up.
let answers = [
    "enter": "reject", "reject": "enter", "tooLate": "reject", "go": "probe", "probe": "go", "never": "go",
    "again": "rest", "rest": "again",
    "start": "join", "join": "start", "clearing": "start", "cancelInside": "nothing", "nothing": "cancelInside",
    "expired": "cancelled", "cancelled": "expired", "running": "ended", "ended": "running",
    "attemptsExhausted": "deadlineTooNear", "retryAfterTooLong": "deadlineTooNear",
    "deadlineTooNear": "attemptsExhausted", "notMine": "giveUp(.attemptsExhausted)", "late": "recorded(nil)",
    "closed": "open", "open": "closed", "halfOpen": "open", "healthy": "failing", "failing": "healthy",
    "takeResult": "abandon", "abandon": "takeResult", "abandoned": "ended", "endedLate": "ended",
]

/// Calls that compute a value, and their replacements.
let calls = [
    "min(": ["max", "first", "second"], "max(": ["min", "first", "second"],
    "saturatingAdding(": ["saturatingSubtracting", "&+", "left out"],
    "saturatingSubtracting(": ["saturatingAdding", "&-", "left out"],
    "saturatingMultiplied(": ["&*", "left out"],
]

/// Patterns in SQL, and their replacements.
let changesOfSQL: [(pattern: String, changes: @Sendable (String) -> [String])] = [
    (
        #"(?<= )(<=|>=|<>|<|>)(?= )"#,
        { ["<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"]][$0] ?? ["="] }
    ),
    (#" AND [\w.]+ (=|<|>|<=|>=) (\?\d?|\d+|[a-z_]+\.\w+)(?= |$|\))"#, { _ in [" "] }),
    (#"(?<=WHERE )[\w.]+ (=|<|>|<=|>=) (\?\d?|\d+) AND "#, { _ in [" "] }),
    (#"NOT EXISTS|NOT IN"#, { [String($0.dropFirst(4))] }),
    (#"(?<!NOT )EXISTS"#, { ["NOT \($0)"] }),
    (#" DESC\b"#, { _ in [" "] }),
    (#"ORDER BY \w+(, \w+)*(?! DESC)\b"#, { ["\($0) DESC", " "] }),
    (#"\b(MIN|MAX)(?=\()"#, { [$0 == "MIN" ? "MAX" : "MIN"] }),
    (#"(?<= )[-+](?= )"#, { [$0 == "+" ? "-" : "+"] }),
    // EXISTS ignores the selected values.
    (#"(?<!LIMIT )(?<!SELECT )(?<![\w?.:'])\d{1,6}(?![\w'])"#, { ["\((Int($0) ?? 0) + 1)"] }),
    (#"\b(OR REPLACE|UNIQUE|AUTOINCREMENT)\b"#, { _ in [" "] }),
    (#"\w+ = (\d+|NULL), "#, { _ in [" "] }),
    (#"\bOF state, payload\b"#, { _ in ["OF state", "OF payload"] }),
    (#"(?<= = )(FULL|ON|WAL)\b"#, { ["FULL": ["NORMAL"], "ON": ["OFF"]][$0] ?? ["DELETE"] }),
]

let comparison = "<T: Comparable>(a: T, b: T) -> Bool"
let equality = "<T: Equatable>(a: T, b: T) -> Bool"
let logic = "(a: Bool, b: @autoclosure () -> Bool) -> Bool"
let sum = "<T: AdditiveArithmetic>(a: T, b: T) -> T"
let integers = "<T: BinaryInteger>(a: T, b: T) -> T"
let wrapping = "<T: FixedWidthInteger>(a: inout T, b: T)"

/// Between spaces, each of these has its first form, and can take the others.
let operators: [String: (precedence: String, signatures: [String], forms: [String])] = [
    "<": ("Comparison", [comparison], ["a < b", "a <= b", "a >= b"]),
    "<=": ("Comparison", [comparison], ["a <= b", "a < b", "a > b"]),
    ">": ("Comparison", [comparison], ["a > b", "a >= b", "a <= b"]),
    ">=": ("Comparison", [comparison], ["a >= b", "a > b", "a < b"]),
    "==": ("Comparison", [equality], ["a == b", "a != b"]),
    "!=": ("Comparison", [equality], ["a != b", "a == b"]),
    "&&": ("LogicalConjunction", [logic], ["a && b()", "a || b()", "a", "b()"]),
    "||": ("LogicalDisjunction", [logic], ["a || b()", "a && b()", "a", "b()"]),
    "+": (
        "Addition", [sum, "(a: MonotonicInstant, b: Duration) -> MonotonicInstant"], ["a + b", "a + (.zero - b)", "a"]
    ),
    "-": ("Addition", [sum], ["a - b", "a + b", "a"]),
    "*": ("Multiplication", ["<T: Numeric>(a: T, b: T) -> T"], ["a * b", "a + b", "a"]),
    "/": ("Multiplication", [integers], ["a / b", "a * b", "a"]),
    "&": ("Multiplication", [integers], ["a & b", "a | b"]),
    "<<": ("BitwiseShift", [integers], ["a << b", "a >> b", "a"]),
    "+=": ("Assignment", ["<T: AdditiveArithmetic>(a: inout T, b: T)"], ["a += b", "a -= b"]),
    "-=": ("Assignment", ["<T: AdditiveArithmetic>(a: inout T, b: T)"], ["a -= b", "a += b"]),
    "*=": ("Assignment", ["<T: Numeric>(a: inout T, b: T)"], ["a *= b", "a += b"]),
    ">>=": ("Assignment", ["<T: BinaryInteger>(a: inout T, b: T)"], ["a >>= b", "a <<= b"]),
    "&+=": ("Assignment", [wrapping], ["a &+= b", "a &-= b"]),
]
