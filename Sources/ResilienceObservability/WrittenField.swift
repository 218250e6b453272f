import Resilience

extension EventFields.Field {
    enum Written {
        case text(String)
        case integer(Int)
        case double(Double)
    }

    /// The name in logs and traces; a duration's name ends in `_ms`.
    var key: String {
        if case .duration = value { "resilience.\(name)_ms" } else { "resilience.\(name)" }
    }

    var written: Written {
        switch value {
        case .text(let text): .text(text.onOneLine)
        case .integer(let number): .integer(number)
        case .duration(let time): .double((time.inSeconds * 1_000_000).rounded() / 1_000)
        }
    }
}
