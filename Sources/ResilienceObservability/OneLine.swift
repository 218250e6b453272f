import Resilience

extension String {
    /// The text, made safe for a log line or an attribute: names of endpoints and texts of errors may come from
    /// outside.
    ///
    /// Characters that break a line or change its direction are written as escapes, such as `\n` and `\u{1B}`. Text
    /// after the first 1 000 characters is left out.
    var onOneLine: String {
        if utf8.count <= Self.longest, unicodeScalars.allSatisfy(\.isHarmless) { return self }
        var text = ""
        var length = 0
        for scalar in unicodeScalars {
            length += 1
            if length > Self.longest { return text + "…" }
            switch scalar {
            case _ where scalar.isHarmless: text.unicodeScalars.append(scalar)
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            default: text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            }
        }
        return text
    }

    /// The text, made safe for the value of a metric's label: not every exporter escapes quotation marks and
    /// backslashes, so these and all characters that ``onOneLine`` escapes become `_`. At most 128 characters.
    var asLabel: String {
        let isHarmless = { (scalar: Unicode.Scalar) in scalar.isHarmless && scalar != "\"" && scalar != "\\" }
        if utf8.count <= Self.longestLabel, unicodeScalars.allSatisfy(isHarmless) { return self }
        var text = ""
        for scalar in unicodeScalars.prefix(Self.longestLabel) {
            text.unicodeScalars.append(isHarmless(scalar) ? scalar : "_")
        }
        return text
    }

    private static var longest: Int { 1_000 }
    private static var longestLabel: Int { 128 }
}
