import Foundation
import TestSupport
import Testing

@Suite struct GatewayLengthTests {
    @Test("the gateway is as short as its page claims")
    func lines() throws {
        let lines = try ["Gateway", "ResilientGateway"].flatMap { name in
            let file = repository.appending(path: "Sources/ResilientGateway/\(name).swift")
            return try String(contentsOf: file, encoding: .utf8)
                .components(separatedBy: "\n#else")[0].split(separator: "\n")
                .map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let code = lines.filter { line in !line.isEmpty && !["//", "import ", "#"].contains { line.hasPrefix($0) } }
        #expect((50...80).contains(code.count), "\(code.count)")
    }
}
