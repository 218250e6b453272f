import Resilience
import Testing

@Suite struct BulkheadInputTests {
    @Test("a limit below one or a negative queue is rejected later too")
    func badChange() async {
        let limit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Bulkhead(limit: 1).setLimit(0)
        }
        #expect(text(limit).contains("limit is 0"))
        let queue = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Bulkhead(limit: 1).setQueue(-1)
        }
        #expect(text(queue).contains("queue is -1"))
    }
}

/// What a process that was expected to end wrote about it.
func text(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
}
