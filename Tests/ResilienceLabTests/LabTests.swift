import Foundation
import Resilience
import ResilienceSimulation
import ResilienceTraffic
import TestSupport
import Testing

@testable import ResilienceLab

@Suite(.heavy) struct LabTests {
    @Test(
        "each scenario runs with its standard settings, and says the same again", arguments: LabScenario.all.map(\.name)
    )
    func scenarios(name: String) throws {
        let scenario = try LabScenario.named(name)
        // Smaller, because tests are not optimized.
        let small = ["clients=20", "runs=1", "pages=50", "phones=50", "rate=20"]
        let values = try scenario.values(
            small.filter { text in scenario.settings.contains { text.hasPrefix("\($0.name)=") } })
        let report = try scenario.report(seed: 1, values)
        #expect(!report.figures.isEmpty && report.figures.contains { $0.value?.isFinite == true })
        #expect(report.page.title == scenario.title && !report.page.sections.isEmpty)
        #expect(try scenario.report(seed: 1, values).json == report.json)
        let html = report.page.html()
        #expect(html.hasPrefix("<!") && html.contains("<svg") && !html.contains("http-equiv=\"refresh\""))
        // Nothing is fetched.
        #expect(!html.contains("src=\"http") && !html.contains("href=\"http"))
    }

    @Test("an unknown scenario or setting, and a value out of range, are errors that name what there is")
    func wrongNames() throws {
        #expect { try LabScenario.named("jiter") } throws: { "\($0)".contains("jitter, layers") }
        let layers = try LabScenario.named("layers")
        #expect { try layers.values(["retrys=1"]) } throws: { "\($0)".contains("retries, budget, rate") }
        #expect { try layers.values(["=5"]) } throws: { "\($0)".contains("no setting \"\"") }
        for text in ["retries", "retries=", "retries=x", "retries=11", "retries=-1", "retries=nan"] {
            #expect { try layers.values([text]) } throws: { "\($0)" == "retries must be 0 to 10" }
        }
    }

    @Test("a file of the gateway has its registry's default and overrides; a pipeline's settings may stand alone")
    func settingsFiles() throws {
        let gateway = try Data(contentsOf: repository.appending(path: "Sources/ResilientGateway/gateway.json"))
        let file = try SettingsFile(gateway)
        #expect(file.pipelines.keys.sorted() == ["upstreams", "upstreams.prices"])
        #expect(try file.settings(of: "upstreams").settings.retry?.maxRetries == 2)
        let prices = try file.settings(of: "upstreams.prices").settings
        #expect(prices.retry?.maxRetries == 0 && prices.bulkhead?.limit == 16)
        #expect { try file.settings(of: nil) } throws: { "\($0)".contains("upstreams, upstreams.prices") }
        #expect { try file.settings(of: "x") } throws: { "\($0)".contains("no pipeline \"x\"") }

        let alone = try SettingsFile(Data(#"{"retry": {"maxRetries": 1}}"#.utf8))
        #expect(try alone.settings(of: nil).settings.retry?.maxRetries == 1)
    }

    @Test(
        "a file that is not usable is an error that says why",
        arguments: [
            ("", "not usable JSON"), ("[1]", "must hold a JSON object"),
            (#"{"retry": {"maxRetries": -1}}"#, "maxRetries"),
            (#"{"retri": {}}"#, "retri"), (#"{"pipelines": {"a": {"retry": 7}}}"#, "a: "),
            (#"{"pipelines": {"a": {"retry": {}}, "b": 5}}"#, "b must be a JSON object"),
            (#"{"registries": {"a": {"default": 5}}}"#, "a.default must be a JSON object"),
            (#"{"orders": {"retry": {}}}"#, "without \"pipelines\" and \"registries\""),
        ])
    func badFiles(text: String, problem: String) {
        #expect { try SettingsFile(Data(text.utf8)) } throws: { "\($0)".contains(problem) }
    }

    @Test("a service in words has what the words say")
    func services() throws {
        let service = try ServiceText.service(
            "p50 20ms  p99 400ms capacity 200/s queue 7 network 2ms limit 600/min burst 3 loss 1% errors 0.5%")
        #expect(abs(service.capacity - 200) < 11)
        #expect(service.queue == 7 && service.network == .constant(.milliseconds(2)))
        #expect(service.rateLimit == .init(perSecond: 10, burst: 3))
        #expect(service.loss == 0.01 && service.failureShare == 0.005)
    }

    @Test(
        "a service in wrong words is an error that says why",
        arguments: [
            ("", "p50 is missing"), ("p50 20ms", "p99 is missing"), ("p50 20ms p99", "pairs"),
            ("p50 20ms p99 10ms capacity 1/s", "p99 not below"), ("p50 0s p99 10ms capacity 1/s", "above 0"),
            ("p50 20 p99 10ms capacity 1/s", "not a time"), ("p50 20ms p99 1s capacity 0/s", "not a rate"),
            ("p50 20ms p99 1s capacity infs/s", "not a rate"),
            ("p50 20ms p99 1s capacity 1e-323/min", "not a rate"),
            ("p50 20ms p99 1s capacity 1/s limit 1e-30/s", "not a rate"),
            ("p50 20ms p99 1s capacity 9/s loss 101%", "not a share"),
            ("p50 20ms p99 1s capacity 9/s cores 4", "\"cores\" is not known"),
            ("p50 20ms p50 20ms p99 1s capacity 9/s", "given twice"),
            ("p50 20ms p99 1s capacity 9/s queue -1", "not a count"),
        ])
    func badServices(text: String, problem: String) {
        #expect { try ServiceText.service(text) } throws: { "\($0)".contains(problem) }
    }

    @Test("a trial of settings that retry without limits finds better ones, and its page shows both")
    func trial() throws {
        var settings = Pipeline.AllSettings()
        settings.retry = Retry.Settings(maxRetries: 4, backoff: .constant(.milliseconds(10)))
        settings.attemptTimeout = Timeout.Settings(limit: .seconds(2))
        let trial = Trial(
            name: "orders", settings: settings,
            service: ServiceModel(p50: .milliseconds(20), p99: .milliseconds(100), capacity: 50),
            load: 25, clients: 5, length: .seconds(10), isIdempotent: true, seed: 1)
        let own = try trial.run()
        #expect(own.count == trial.cases.count)
        let better = try trial.alternatives(to: own)
        #expect(better.count == 2 && better[0].cost <= better[1].cost)
        #expect(better[1].cost < own.reduce(0) { $0 + $1.cost })
        let page = try trial.report().page
        #expect(page.sections[1].tables[0].head == ["", "these settings"] + better.map(\.change))
    }

    @Test("a scenario in a file runs like the same scenario in code")
    func scenarioFiles() throws {
        let text = """
            {
                "service": "p50 20ms p99 400ms capacity 200/s", "load": "100/s", "length": "1min", "clients": 3,
                "troubles": [
                    {"kind": "outage", "at": "20s", "for": "10s"},
                    {"kind": "brownOut", "slower": 3, "at": "40s", "for": "5s"}
                ],
                "pipeline": {"retry": {"maxRetries": 1}}
            }
            """
        let file = try ScenarioFile(reading: Data(text.utf8))
        let scenario = Scenario(
            service: ServiceModel(p50: .milliseconds(20), p99: .milliseconds(400), capacity: 200),
            load: .open(perSecond: 100), clients: 3,
            troubles: [
                Trouble(.outage, at: .seconds(20), for: .seconds(10)),
                Trouble(.brownOut(slower: 3), at: .seconds(40), for: .seconds(5)),
            ], length: .seconds(60))
        #expect(try file.scenario() == scenario)
        let result = try scenario.run(seed: 5) { timeBase in
            Pipeline("calls", timeBase: timeBase) { Retry("retry", maxRetries: 1) }
        }
        #expect(try file.report(seed: 5, name: "calls").json == LabReport([("calls", result)]).json)
    }

    @Test(
        "a scenario's file that is not usable is an error that says why",
        arguments: [
            ("{", "not usable"), (#"{"service": "x"}"#, "not usable"),
            (file(troubles: #"[{"kind": "flood", "at": "1s", "for": "1s"}]"#), "no kind of trouble"),
            (file(troubles: #"[{"kind": "errors", "at": "1s", "for": "1s"}]"#), "needs share, 0 to 1"),
            (file(troubles: #"[{"kind": "errors", "share": 2, "at": "1s", "for": "1s"}]"#), "needs share"),
            (file(troubles: #"[{"kind": "outage", "at": "1", "for": "1s"}]"#), "not a time"),
            (file(length: "0s"), "length above 0"), (file(troubles: #"[{"kind": "outage", "til": "1s"}]"#), "\"til\""),
            (file(length: "900000s", load: "1000000/s"), "too many"),
            (
                file(troubles: #"[{"kind": "surge", "factor": 1000000, "at": "5s", "for": "1us"}]"#, load: "50/s"),
                "too many"
            ),
            (file(troubles: #"[{"kind": "outage", "share": 0.1, "at": "1s", "for": "1s"}]"#), "\"share\" is not known"),
            (file(troubles: #"[{"kind": "outage", "zones": [], "at": "1s", "for": "1s"}]"#), "zones of a trouble"),
            (file(troubles: #"[{"kind": "outage", "zones": [1], "at": "1s", "for": "1s"}]"#), "are 0 to 0"),
            (file(service: "p50 1us p99 999999s capacity 200/s"), "1000000000 workers"),
        ])
    func badScenarioFiles(text: String, problem: String) {
        #expect { try ScenarioFile(reading: Data(text.utf8)).scenario() } throws: { "\($0)".contains(problem) }
    }

    private static func file(
        troubles: String = "[]", length: String = "10s", load: String = "5/s",
        service: String = "p50 20ms p99 1s capacity 9/s"
    ) -> String {
        #"{"service": "\#(service)", "load": "\#(load)", "length": "\#(length)", "troubles": \#(troubles), "pipeline": {"retry": {}}}"#
    }
}
