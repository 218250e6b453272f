/// An invalid answer of the engine: another program wrote to the key, or the engine is of another kind.
public struct UnreadableAnswer: Error, Hashable, CustomStringConvertible {
    /// The script that was run.
    public let script: String

    public var description: String {
        "The engine's answer to the script \"\(script)\" is unreadable: is its key used by something else?"
    }
}
