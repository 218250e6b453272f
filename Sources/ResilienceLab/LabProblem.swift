/// What a user gave is not usable.
struct LabProblem: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
