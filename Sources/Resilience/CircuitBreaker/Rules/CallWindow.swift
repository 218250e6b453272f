/// The latest calls that a rule counts.
public struct CallWindow: SettingsGroup, CustomStringConvertible {
    enum Kind: Sendable, Hashable {
        case calls(Int)
        case time(nanoseconds: Int64, buckets: Int)
    }

    /// The number of latest calls that count, whatever their age; 1…10 000 000. Give either this or `lengthSeconds`.
    private var count: Int?
    /// How far back calls count; above 0 s. Give either this or `calls`.
    private var length: Duration?
    /// The number of steps in which a window of time advances; 1…100 000, 10 by default.
    private var buckets: Int?

    /// The default window, for the rules that have a default.
    static let standard = CallWindow(count: 100)

    var kind: Kind {
        count.map { .calls($0) }
            ?? .time(nanoseconds: (length ?? .seconds(1)).saturatedNanoseconds, buckets: buckets ?? 10)
    }

    /// The last `count` calls, however long ago.
    ///
    /// - Parameter count: 1…10 000 000. One bit per call is kept.
    public static func calls(_ count: Int) -> CallWindow {
        CallWindow(count: count).valid()
    }

    /// The calls of the last `length`.
    ///
    /// The window advances by one bucket at a time, so it covers between `length` minus one bucket and `length`.
    ///
    /// - Parameters:
    ///   - length: Above 0; rounded up to a whole number of nanoseconds per bucket.
    ///   - buckets: 1…100 000. Two counts per bucket are kept, however many calls there are.
    public static func time(_ length: Duration, buckets: Int = 10) -> CallWindow {
        CallWindow(length: length, buckets: buckets).valid()
    }

    /// `{"calls": 100}`, or `{"lengthSeconds": 10, "buckets": 10}`.
    public static let schema = SettingsSchema(
        "CallWindow", standard: CallWindow(length: .seconds(1)),
        [
            SettingField(
                "calls", \.count, .within(1, 10_000_000),
                need: .conditional("must be given if `lengthSeconds` is missing")),
            SettingField(
                "lengthSeconds", \.length, .above(0), need: .conditional("must be given if `calls` is missing")),
            SettingField("buckets", \.buckets, .within(1, 100_000), need: .conditional("10")),
        ]
    ) { window, given in
        guard given.areSound("calls") else { return }
        guard window.count != nil else {
            if !given.has("lengthSeconds") { given.noteMissing("lengthSeconds") }
            window.buckets = window.buckets ?? 10
            return
        }
        for name in ["lengthSeconds", "buckets"] where given.isInFile && given.has(name) {
            given.note(name, "given", "is no setting: there are calls")
        }
        (window.length, window.buckets) = (nil, nil)
    }

    public var description: String {
        switch kind {
        case .calls(let count): "the last \(count) calls"
        case .time(let nanoseconds, _): "the last \(Duration.nanoseconds(nanoseconds).text)"
        }
    }
}
