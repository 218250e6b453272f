import Dispatch

/// A rule that a reader has violated: its oracle throws this.
package struct Finding: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

func expect(_ holds: Bool, _ otherwise: @autoclosure () -> String) throws {
    guard holds else { throw Finding(otherwise()) }
}

/// The body of a fuzzer: traps on a finding, so that libFuzzer keeps the input.
package func fuzz(
    _ start: UnsafePointer<UInt8>?, _ count: Int, awaiting check: @Sendable @escaping ([UInt8]) async throws -> Bool
) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    let isDone = DispatchSemaphore(value: 0)
    Task {
        do { _ = try await check(input) } catch { fatalError("\(error)") }
        isDone.signal()
    }
    isDone.wait()
    return 0
}

/// The body of a fuzzer whose oracle never suspends.
package func fuzz(
    _ start: UnsafePointer<UInt8>?, _ count: Int, _ check: ([UInt8]) throws -> Bool
) -> CInt {
    do { _ = try check(Array(UnsafeBufferPointer(start: start, count: count))) } catch { fatalError("\(error)") }
    return 0
}
