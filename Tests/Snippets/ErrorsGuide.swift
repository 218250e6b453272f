import Resilience

struct Client: Sendable {
    func activities() async throws -> [String] { [] }
}

let client = Client()
let pipeline = Pipeline {}

func show(_ text: String) {}
func report(_ error: any Error) {}
func tryAgain(after wait: Duration) {}
