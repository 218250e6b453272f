#if Dashboard
    import Foundation
    import Resilience
    import ResilienceObservability
    import ResilienceTesting
    import TestSupport
    import Testing

    @testable import ResilienceDashboard

    /// Random requests of a page, or of another sender.
    @Suite(.heavy) struct DashboardActionFuzzTests {
        @Test("random JSON is an action if it has a component, a place and an action's name, and only then")
        func documents() {
            var random = RandomActions(seed: 21)
            var taken = 0
            for _ in 0..<10_000 {
                let document = random.document()
                let action = try? JSONDecoder().decode(DashboardAction.self, from: Data(document.text.utf8))
                #expect(action == document.action, "\(document.text.debugDescription)")
                if action != nil { taken += 1 }
            }
            #expect(taken > 1_000 && taken < 9_000)
        }

        @Test("random bytes and changed actions do not trap, and an accepted action has the name that they contain")
        func bytes() {
            var random = RandomActions(seed: 22)
            var taken = 0
            for _ in 0..<20_000 {
                let bytes = random.bytes()
                guard let action = try? JSONDecoder().decode(DashboardAction.self, from: Data(bytes)) else { continue }
                taken += 1
                let text = String(decoding: bytes, as: UTF8.self)
                // An escape may stand for any letter.
                let isNamed = text.contains("\"\(action.action)\"") || text.contains("\\")
                #expect(isNamed, "\(text.debugDescription)")
            }
            #expect(taken > 100)
        }

        @Test("excessive nesting is not an action", arguments: [1_000, 4_000])
        func nesting(depth: Int) {
            for text in [String(repeating: "[", count: depth), String(repeating: #"{"component":"#, count: depth)] {
                #expect(throws: DecodingError.self) {
                    try JSONDecoder().decode(DashboardAction.self, from: Data(text.utf8))
                }
            }
        }

        @Test("a random action changes only the circuit or throttle that it names")
        func actions() {
            var random = RandomActions(seed: 23)
            let clock = ManualClock()
            let one = CircuitBreaker("one", openFor: .seconds(60), timeBase: clock)
            let other = CircuitBreaker("other", openFor: .seconds(60), timeBase: clock)
            let throttle = Throttle(limit: .unlimited, timeBase: clock)
            let monitor = HealthMonitor {
                one
                other
                throttle
            }
            for _ in 0..<5_000 {
                let action = random.action()
                throttle.hold(for: .seconds(60))
                let before = [one, other].map { [$0.mode == .isolated, $0.status.state == .open] }
                let named: Int? = action.place == 0 ? ["0": 0, "1": 1][action.component] : nil
                let isDone = action.perform(on: monitor)
                let endsHold = action == DashboardAction(component: "2", place: 0, action: "endHold")
                #expect(throttle.status.isAllowed == endsHold, "\(action)")
                #expect(isDone == false || named != nil || endsHold, "\(action)")
                for (index, breaker) in [one, other].enumerated() {
                    let isIsolated = breaker.mode == .isolated
                    let after = [isIsolated, breaker.status.state == .open]
                    guard index == named, isDone else {
                        #expect(after == before[index], "\(action)")
                        continue
                    }
                    switch action.action {
                    case "open": #expect(breaker.status.state == .open, "\(action)")
                    case "close": #expect(isIsolated == before[index][0], "\(action)")
                    case "isolate": #expect(isIsolated, "\(action)")
                    case "automatic": #expect(!isIsolated, "\(action)")
                    default: Issue.record("a circuit has none: \(action)")
                    }
                }
                if let named, ["close", "isolate", "automatic"].contains(action.action) {
                    #expect(isDone, "\(action) of \(named)")
                }
            }
        }
    }

    /// Random actions, from a seed.
    private struct RandomActions {
        /// A text, and its action; nil if it has none.
        struct Document {
            let text: String
            let action: DashboardAction?
        }

        private static let kinds = ["open", "close", "isolate", "automatic", "endHold", "", "opens"]
        private static let components = ["0", "1", "", "2/eu", "/", "-1", "99999999999999999999", "ü🦆\"\\\n\u{0}"]

        private var generator: SeededGenerator

        init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

        private mutating func one(in count: Int) -> Bool { Int.random(in: 0..<count, using: &generator) == 0 }

        private mutating func pick<Value>(_ values: [Value]) -> Value {
            values[Int.random(in: 0..<values.count, using: &generator)]
        }

        /// An action, usually on an existing policy.
        mutating func action() -> DashboardAction {
            let component = one(in: 2) ? pick(["0", "1", "2"]) : pick(Self.components)
            return DashboardAction(
                component: component, place: one(in: 2) ? 0 : pick([1, -1, .max, .min]), action: pick(Self.kinds))
        }

        /// JSON of an action, or with one wrong or missing member.
        mutating func document() -> Document {
            let action = self.action()
            var members = [
                "component": Self.quoted(action.component), "place": "\(action.place)",
                "action": "\"\(action.action)\"",
            ]
            // The action's name may be written with an escape of the same letter.
            if action.action == "open", one(in: 4) { members["action"] = "\"\\u006fpen\"" }
            var isSound = true
            if one(in: 2) {
                let name = pick(["component", "place", "action"])
                members[name] = wrong(name)
                isSound = false
            }
            if one(in: 4) { members["extra"] = pick(["1", "null", "[]", "{\"action\":\"open\"}", "\"isolate\""]) }
            let space = pick(["", " ", "\n", "\t"])
            var all = members.sorted { $0.key < $1.key }.map { "\"\($0.key)\"\(space):\(space)\($0.value)" }
            all.shuffle(using: &generator)
            let body = all.joined(separator: "\(space),")
            var text = "\(space){\(body)}\(space)"
            if one(in: 12) {
                text = pick(["[\(text)]", "\(text)x", "x\(text)", "\(text)\(text)", "{\"a\":\(text)}", "", "{", "null"])
                isSound = false
            }
            return Document(text: text, action: isSound ? action : nil)
        }

        /// A wrong value for a member; nil removes it.
        private mutating func wrong(_ name: String) -> String? {
            let others = ["null", "true", "1.5", "[]", "{}", "[\"open\"]"]
            if one(in: 5) { return nil }
            if one(in: 3) { return pick(others) }
            switch name {
            case "component": return pick(["0", "-1", "1e2"])
            case "place": return pick(["\"0\"", "9223372036854775808", "1e99", "0.1"])
            default: return "0"
            }
        }

        /// Random bytes, or JSON with some bytes changed.
        mutating func bytes() -> [UInt8] {
            if one(in: 4) {
                let count = Int.random(in: 0...60, using: &generator)
                return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            }
            var bytes = Array(document().text.utf8)
            for _ in 0..<Int.random(in: 0...4, using: &generator) {
                guard let index = bytes.indices.randomElement(using: &generator) else { break }
                switch Int.random(in: 0..<5, using: &generator) {
                case 0: bytes[index] = UInt8.random(in: .min ... .max, using: &generator)
                case 1: bytes[index] = pick(Array("{}[]\",:\\u0019-e.".utf8))
                case 2: bytes.remove(at: index)
                case 3: bytes.swapAt(index, Int.random(in: bytes.indices, using: &generator))
                default: bytes.removeSubrange(index...)
                }
            }
            return bytes
        }

        private static func quoted(_ text: String) -> String {
            guard let data = try? JSONEncoder().encode(text) else { return "\"\"" }
            return String(decoding: data, as: UTF8.self)
        }
    }
#endif
