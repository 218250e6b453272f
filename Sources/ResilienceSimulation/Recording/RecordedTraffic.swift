public import Foundation
public import Resilience

/// Calls that a ``TrafficRecorder`` wrote, to play back against other settings.
///
/// Calls come when they came, and an attempt takes as long, and ends, as the recorded attempt that began nearest to it.
/// An attempt that was cancelled is not answered again: nobody knows what its answer would have been. So is one after
/// the last recorded attempt by more than a second.
///
/// What it leaves out: a service that has more or less to do than it had answers as it did.
public struct RecordedTraffic: Sendable, Hashable {
    /// A call, or an attempt.
    public struct Entry: Sendable, Hashable {
        /// When it began, from the begin of the recording.
        public let begins: Duration
        /// How long it took.
        public let took: Duration
        /// How it ended.
        public let outcome: CallOutcome
    }

    /// The calls, in the order in which they began.
    public private(set) var calls: [Entry] = []
    /// The attempts, in the order in which they began.
    public private(set) var attempts: [Entry] = []

    /// Why a recording can't be read.
    public struct Unreadable: Error, Hashable, CustomStringConvertible {
        /// The number of the line, from 1; 0 if there is no usable line.
        public let line: Int
        public let description: String
    }

    /// Reads a recording.
    ///
    /// - Parameters:
    ///   - data: What a recorder wrote. A last line that is not complete is left out.
    ///   - pipeline: The pipeline's name; nil, the default, for all together.
    /// - Throws: ``Unreadable``.
    public init(reading data: Data, of pipeline: String? = nil) throws(Unreadable) {
        let decoder = JSONDecoder()
        let lines = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        var names: Set<String> = []
        for (index, text) in lines.enumerated() where !text.isEmpty {
            guard let line = try? decoder.decode(Line.self, from: text), line.isUsable,
                let outcome = CallOutcome(rawValue: line.outcome)
            else {
                if index == lines.count - 1, data.last != UInt8(ascii: "\n") { break }
                throw Unreadable(line: index + 1, description: "line \(index + 1) of the recording is not usable")
            }
            names.insert(line.pipeline)
            if let pipeline, pipeline != line.pipeline { continue }
            let entry = Entry(begins: .seconds(line.at), took: .seconds(line.took), outcome: outcome)
            switch line.kind {
            case .call: calls.append(entry)
            case .attempt: attempts.append(entry)
            }
        }
        guard !calls.isEmpty else {
            let known = names.isEmpty ? "" : ", but of \(names.sorted().joined(separator: ", "))"
            throw Unreadable(
                line: 0, description: "the recording has no calls\(pipeline.map { " of \($0)" } ?? "")\(known)")
        }
        // A call is written when it ends, and the first one's begin is the recording's.
        let first = min(calls.map(\.begins).min() ?? .zero, attempts.map(\.begins).min() ?? .infinite)
        for path in [\RecordedTraffic.calls, \.attempts] {
            self[keyPath: path] = self[keyPath: path].map {
                Entry(begins: $0.begins - first, took: $0.took, outcome: $0.outcome)
            }.sorted { $0.begins < $1.begins }
        }
    }

    /// Plays the calls back.
    ///
    /// - Parameters:
    ///   - seed: The same seed gives the same result.
    ///   - clients: How many clients make the calls in turn, each with its own pipeline; 1 or more.
    ///   - make: Makes a client's pipeline.
    /// - Returns: What callers would have seen.
    /// - Throws: ``NotSimulated``, or the error of `make`.
    public func run(seed: UInt64 = 0, clients: Int = 1, _ make: Scenario.Make) throws -> SimulationResult {
        let length = (calls.map { $0.begins + $0.took }.max() ?? .zero) + .seconds(10)
        // At most 10 000 intervals, whatever the file says.
        let scenario = Scenario(
            service: ServiceModel(serviceTime: .none), load: .open(perSecond: 1), clients: clients, length: length,
            interval: max(.seconds(1), length / 10_000))
        return try withoutActuallyEscaping(make) {
            try ScenarioRun(scenario, seed: seed, [$0], playing: self).finish()
        }
    }

    /// The recorded attempt that began nearest to a time; nil if there is none.
    func attempt(at elapsed: Duration) -> Entry? {
        var (low, high) = (0, attempts.count)
        while low < high {
            let middle = (low + high) / 2
            if attempts[middle].begins < elapsed { low = middle + 1 } else { high = middle }
        }
        let near = [low - 1, low].filter(attempts.indices.contains).map { attempts[$0] }
        let nearest = near.min { Self.distance($0, elapsed) < Self.distance($1, elapsed) }
        return nearest.flatMap { low == attempts.count && Self.distance($0, elapsed) > .seconds(1) ? nil : $0 }
    }

    private static func distance(_ entry: Entry, _ elapsed: Duration) -> Duration {
        max(entry.begins - elapsed, elapsed - entry.begins)
    }

    // MARK: Lines

    struct Line: Codable {
        enum Kind: String, Codable { case call, attempt }

        let kind: Kind
        let pipeline: String
        /// Seconds from the first event.
        var at: Double
        let took: Double
        /// The raw value of a ``CallOutcome``.
        let outcome: String

        init(_ kind: Kind, _ event: PolicyEvent, _ outcome: CallOutcome, _ took: Duration) {
            (self.kind, self.outcome) = (kind, outcome.rawValue)
            pipeline = event.pipeline ?? ""
            self.took = took / .seconds(1)
            at = Double(event.time.nanoseconds) / 1e9 - self.took
        }

        var isUsable: Bool { at.isFinite && took.isFinite && abs(at) < 1e9 && (0..<1e9).contains(took) }

        func text(since began: MonotonicInstant) -> Data {
            var line = self
            line.at -= Double(began.nanoseconds) / 1e9
            return ((try? JSONEncoder().encode(line)) ?? Data()) + Data("\n".utf8)
        }
    }
}

extension CallOutcome {
    /// The verdict with which an attempt ends like this; nil if it is not answered.
    var verdict: Verdict? {
        switch self {
        case .success: .success
        case .transient: .transient
        case .throttled: .throttled
        case .uncertain: .uncertain
        case .permanent: .permanent
        case .rejected, .rejectedInside: .rejected
        case .cancelled: nil
        }
    }
}
