/// An invalid answer of the engine: another program has written to the key, or the engine is not of the expected kind.
public struct UnreadableAnswer: Error, Hashable, CustomStringConvertible {
    /// The script that was run.
    public let script: String

    public var description: String {
        "The engine's answer to the script \"\(script)\" is unreadable: is its key used by something else?"
    }
}
