package import Resilience

/// A failure that had no effect.
package struct Outage: Error, Equatable, VerdictConvertible {
    package var verdict: Verdict { .transient }
    package var number: Int

    package init(number: Int = 1) { self.number = number }
}

/// An error that carries its own verdict.
package struct Judged: Error, Equatable, VerdictConvertible {
    package let verdict: Verdict

    package init(verdict: Verdict) { self.verdict = verdict }
}

package func cancelCurrentTask() { withUnsafeCurrentTask { $0?.cancel() } }
