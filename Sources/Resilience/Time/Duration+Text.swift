extension Duration {
    /// A short text for people: "1.66 ms", "60 s", "∞".
    package var text: String {
        let nanoseconds = saturatedNanoseconds
        if nanoseconds == .max { return "∞" }
        let size = nanoseconds.magnitude
        let (unit, name): (UInt64, String) =
            switch size {
            case 1_000_000_000...: (1_000_000_000, "s")
            case 1_000_000...: (1_000_000, "ms")
            case 1_000...: (1_000, "µs")
            case 1...: (1, "ns")
            default: (1, "s")
            }
        let sign = nanoseconds < 0 ? "-" : ""
        let hundredths = (UInt128(size) * 100 + UInt128(unit) / 2) / UInt128(unit)
        let (whole, rest) = hundredths.quotientAndRemainder(dividingBy: 100)
        let decimals = rest == 0 ? "" : rest % 10 == 0 ? ".\(rest / 10)" : rest < 10 ? ".0\(rest)" : ".\(rest)"
        return "\(sign)\(whole)\(decimals) \(name)"
    }
}
