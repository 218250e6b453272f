import Foundation

/// The names of the public errors that a target declares.
package func publicErrors(of target: String) throws -> Set<String> {
    let folder = repository.appending(path: "Sources/\(target)")
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    let names = try (files?.allObjects ?? []).compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
        .flatMap { file in
            try String(contentsOf: file, encoding: .utf8)
                .matches(of: /public (?:struct|enum|final class) (\w+)\s*:[^{]*\b(?:Error|PolicyError|Rejection)\b/)
                .map { String($0.output.1) }
        }
    return Set(names)
}
