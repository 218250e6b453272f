import Resilience
import ResilienceTraffic

struct Client: Sendable {
    func search(at address: String) async throws -> String { address }
}

struct Reply: Sendable {
    let isGood = true
}

func lookup(_ name: String) async -> [String] { [name] }

func send(_ text: String, to address: String) async -> Reply { Reply() }

let client = Client()
let addresses = ["10.0.0.1", "10.0.0.2"]
let breakers = CircuitBreakerRegistry<String> { CircuitBreaker($0) }
let hedged = Pipeline("search", isIdempotent: true) { Hedge() }
