// The functions that the switches in the copy of the package call: see mutation/Mutants.swift.

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

public let mutant = getenv("MUTANT").flatMap { Int(String(cString: $0)) } ?? 0

public func mutantHolds(_ number: Int) -> Bool { mutant != number }
public func mutantNot(_ number: Int, _ value: Bool) -> Bool { mutant == number ? !value : value }
public func mutantCondition(_ number: Int, _ value: Bool) -> Bool {
    mutant == number ? true : mutant == number + 1 ? false : value
}
public func mutantChoice<T>(_ number: Int, _ value: T, _ other: T) -> T { mutant == number ? other : value }
public func mutantNumber<T: AdditiveArithmetic & ExpressibleByIntegerLiteral>(_ number: Int, _ value: T) -> T {
    mutant == number ? value + 1 : value
}
public func mutantText(_ number: Int, _ text: String, _ others: String...) -> String {
    others.indices.contains(mutant - number) ? others[mutant - number] : text
}
/// Returns the form of `a /*m20~<=~>=*/</*m*/ b` for mutant 20 or 21; a place's numbers begin with a multiple of ten.
public func mutantSQL(_ sql: String) -> String {
    guard let start = sql.firstRange(of: "/*m\(mutant / 10 * 10)~"),
        let choice = sql[start.upperBound...].firstRange(of: "*/")
    else { return sql }
    let others = sql[start.upperBound..<choice.lowerBound].split(separator: "~", omittingEmptySubsequences: false)
    // The replaced text may hold further places.
    var depth = 1
    var end = choice.upperBound
    while depth > 0 {
        guard let next = sql[end...].firstRange(of: "/*m"), let close = sql[next.upperBound...].firstRange(of: "*/")
        else {
            return sql
        }
        depth += close.lowerBound == next.upperBound ? -1 : 1
        end = close.upperBound
    }
    guard others.indices.contains(mutant % 10) else { return sql }
    return String(sql[..<start.lowerBound] + others[mutant % 10] + sql[end...])
}
public func minMutant<T: Comparable>(_ number: Int, _ a: T, _ b: T) -> T {
    mutant == number ? max(a, b) : mutant == number + 1 ? a : mutant == number + 2 ? b : min(a, b)
}
public func maxMutant<T: Comparable>(_ number: Int, _ a: T, _ b: T) -> T {
    mutant == number ? min(a, b) : mutant == number + 1 ? a : mutant == number + 2 ? b : max(a, b)
}

extension FixedWidthInteger {
    public func saturatingAddingMutant(_ number: Int, _ other: Self) -> Self {
        mutant == number
            ? saturatingSubtracting(other)
            : mutant == number + 1 ? self &+ other : mutant == number + 2 ? self : saturatingAdding(other)
    }
    public func saturatingSubtractingMutant(_ number: Int, _ other: Self) -> Self {
        mutant == number
            ? saturatingAdding(other)
            : mutant == number + 1 ? self &- other : mutant == number + 2 ? self : saturatingSubtracting(other)
    }
    public func saturatingMultipliedMutant(_ number: Int, by other: Self) -> Self {
        mutant == number ? self &* other : mutant == number + 1 ? self : saturatingMultiplied(by: other)
    }
}
