import Foundation
import ResilienceSync
import TestSupport
import Testing

@Suite struct SyncLocalizedErrorTests {
    private static let errors: [any Error] = [
        SyncQueueError.stopped, UndecodablePayload(id: "a", kind: "rename", reason: "no JSON"),
        BatchResultsMismatch(kind: "rename", mutations: 2, results: 1),
        StatementError(sqlState: "53100", message: "could not extend file: No space left on device"),
    ]

    @Test("every public error of the queue has a localized description: its sentence for people")
    func texts() throws {
        for error in Self.errors { #expect(error.localizedDescription == "\(error)") }
        #expect(Set(Self.errors.map { "\(type(of: $0))" }) == (try publicErrors(of: "ResilienceSync")))
    }
}
