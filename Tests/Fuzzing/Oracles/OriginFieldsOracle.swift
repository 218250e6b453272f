import Resilience
import ResilienceHTTP

/// Compares the reader of the fields of a call's origin with a second, different reader, and writes the values again.
package enum OriginFieldsOracle {
    /// - Parameter input: The values of the two fields, with a line feed between them.
    /// - Returns: Whether the priority was accepted.
    package static func check(_ input: [UInt8]) throws -> Bool {
        let parts = input.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
        let priority = String(decoding: parts[0], as: UTF8.self)
        let attempt = parts.count > 1 ? String(decoding: parts[1], as: UTF8.self) : nil
        let origin = OriginFields.standard.origin { $0 == "priority" ? priority : attempt }
        try expect(origin.attempt >= 1, "attempt \(origin.attempt)")
        let digits = attempt.map { $0.filter { $0 != " " && $0 != "\t" } } ?? ""
        if let number = Int(digits), number > 1, digits == attempt, !digits.hasPrefix("+") {
            try expect(origin.attempt == number, "\(attempt ?? "") is read as \(origin.attempt)")
        }
        if origin.attempt > 1 {
            try expect(attempt?.utf8.contains { (0x31...0x39).contains($0) } == true, "an attempt from no digit")
        }
        guard let read = origin.priority else { return false }
        let urgency = 3 - Int(read.rawValue) / 32
        try expect(urgencies(in: priority).contains(urgency), "\(priority.debugDescription) is read as \(urgency)")
        let bounded = OriginFields.standard.origin(atMost: .normal) { _ in priority }
        try expect(bounded.priority.map { $0 <= .normal } ?? false, "more than it may")
        for (name, value) in OriginFields.standard.values(priority: read) where name == "priority" {
            try expect(OriginFields.priority(value) == read, "\(value) is not read as it is written")
        }
        return true
    }

    /// All numbers after `u=`, anywhere in the value.
    private static func urgencies(in value: String) -> Set<Int> {
        let bytes = Array(value.utf8)
        var found: Set<Int> = []
        for index in bytes.indices.dropLast(2) where bytes[index] == 0x75 && bytes[index + 1] == 0x3D {
            // "-0" counts as zero.
            let digits = bytes[(index + 2)...].drop { $0 == 0x2D }.prefix { (0x30...0x39).contains($0) }
            if let number = Int(String(decoding: digits, as: UTF8.self)) { found.insert(number) }
        }
        return found
    }
}
