#if Configuration
    /// Settings that stand together, and their names: what can be looked up, since a reader can't list its keys.
    ///
    /// The names are those of the core's configurations. Tests compare the two, and the schema's page.
    enum SettingGroup: String, CaseIterable, Sendable {
        case pipeline, timeout, retry, hedge, adaptiveThrottle, circuitBreaker, throttle, bulkhead, chaos
        case backoff, hedgeDelay, rule, window, probes, breakLength, throttleLimit, adaptiveLimit, loadShedding
        case endpointPool, outlierEjection, deviation, failureShare, slowStart

        var fields: [SettingField] {
            switch self {
            case .pipeline:
                [
                    .init("timeout", .group(.timeout)), .init("retry", .group(.retry)),
                    .init("hedge", .group(.hedge)), .init("adaptiveThrottle", .group(.adaptiveThrottle)),
                    .init("circuitBreaker", .group(.circuitBreaker)), .init("throttle", .group(.throttle)),
                    .init("bulkhead", .group(.bulkhead)), .init("attemptTimeout", .group(.timeout)),
                    .init("chaos", .group(.chaos)), .init("policies", .names),
                    .init("isIdempotent", .flag, .any, .none),
                ]
            case .timeout:
                [
                    .init("limitSeconds", .seconds, .above(0), .required),
                    .init("enforcedBy", .choice(["policy", "client"]), .any, .value("policy")),
                ]
            case .retry:
                [
                    .init("maxRetries", .whole, .atLeast(0), .value("3")),
                    .init("maxElapsedSeconds", .seconds, .atLeast(0), .none),
                    .init(
                        "backoff", .group(.backoff), .any,
                        .value("baseSeconds 0.05, capSeconds 20, factor 2, jitter full, kind exponential")),
                    .init(
                        "throttledBackoff", .group(.backoff), .any,
                        .value("baseSeconds 1, capSeconds 20, factor 2, jitter full, kind exponential")),
                    .init("verdicts", .names, .verdicts, .value("transient + throttled")),
                    .init("retryAfterCeilingSeconds", .seconds, .atLeast(0), .value("120")),
                    .init("wrapsLastError", .flag, .any, .value("false")),
                ]
            case .hedge:
                [
                    .init(
                        "delay", .group(.hedgeDelay), .any,
                        .value("atLeastSeconds 0.001, kind percentile, minimumSamples 100, percentile 0.95")),
                    .init("maxHedges", .whole, .within(0, 10), .value("1")),
                    .init("verdicts", .names, .verdicts, .value("transient + uncertain")),
                ]
            case .adaptiveThrottle:
                [
                    .init("multiplier", .number, .within(1.1, 100), .value("2")),
                    .init("windowSeconds", .seconds, .above(0), .value("120")),
                    .init("minimumCalls", .whole, .atLeast(1), .value("10")),
                    .init("maxRejection", .number, .within(0, 1), .value("0.9")),
                    .init("failing", .names, .verdicts, .value("transient + uncertain + throttled")),
                ]
            case .circuitBreaker:
                [
                    .init(
                        "tripping", .group(.rule), .any,
                        .value(
                            "failing transient + uncertain, healthy success + permanent, kind consecutiveFailures, limit 5"
                        )), .init("openFor", .group(.breakLength), .any, .value("kind constant, lengthSeconds 60")),
                    .init("probes", .whole, .atLeast(1), .value("1")),
                    .init("closing", .group(.probes), .any, .value("probes 1, successes 1")),
                    .init("probeLeaseSeconds", .seconds, .above(0), .value("60")),
                    .init("excessWaitsSeconds", .seconds, .above(0), .none),
                    .init("rampSeconds", .seconds, .atLeast(0), .value("0")),
                    .init(
                        "mode", .choice(["automatic", "isolated", "disabled", "observing"]), .any, .value("automatic")),
                ]
            case .throttle:
                [
                    .init("limit", .group(.throttleLimit), .any, .required),
                    .init("maxWaitSeconds", .seconds, .atLeast(0), .value("0")),
                    .init("queue", .whole, .atLeast(0), .value("10000")),
                    .init("holdOnThrottled", .flag, .any, .value("false")),
                    .init(
                        "holdBackoff", .group(.backoff), .any,
                        .value("baseSeconds 1, capSeconds 60, factor 2, jitter none, kind exponential")),
                    .init("maxHoldSeconds", .seconds, .atLeast(0), .value("3600")),
                    .init("earlyProbeSeconds", .seconds, .atLeast(0), .value("300")),
                    .init("rampSeconds", .seconds, .atLeast(0), .value("0")),
                ]
            case .bulkhead:
                [
                    .init("limit", .whole, .atLeast(1), .required),
                    .init("adaptiveLimit", .group(.adaptiveLimit), .any, .none),
                    .init("queue", .whole, .atLeast(0), .value("0")),
                    .init(
                        "order", .choice(["firstInFirstOut", "lastInFirstOut", "byPriority"]), .any,
                        .value("firstInFirstOut")),
                    .init("maxWaitSeconds", .seconds, .atLeast(0), .none),
                    .init("predictsWait", .flag, .any, .value("true")),
                    .init("shedding", .group(.loadShedding), .any, .none),
                ]
            case .chaos:
                [
                    .init("until", .text, .any, .none),
                    .init("faultRate", .number, .within(0, 1), .value("0")),
                    .init(
                        "faultVerdict", .choice(["transient", "throttled", "permanent", "uncertain"]), .any,
                        .value("transient")),
                    .init("faultAfterSeconds", .seconds, .atLeast(0), .value("0")),
                    .init("lostAnswerRate", .number, .within(0, 1), .value("0")),
                    .init("delayRate", .number, .within(0, 1), .value("0")),
                    .init("delaySeconds", .seconds, .atLeast(0), .value("1")),
                    .init("maxDelaySeconds", .seconds, .atLeast(0), .none),
                    .init("cancellationRate", .number, .within(0, 1), .value("0")),
                    .init("script", .names, .any, .none), .init("tags", .names, .any, .none),
                    .init("maxPriority", .whole, .within(-128, 127), .none),
                    .init("limit", .whole, .atLeast(0), .none), .init("maxDelayed", .whole, .atLeast(0), .none),
                ]
            case .backoff:
                [
                    .init("kind", .choice(["constant", "linear", "exponential", "sequence"]), .any, .required),
                    .init("baseSeconds", .seconds, .atLeast(0), .kinds(["exponential": "0.05"])),
                    .init("factor", .number, .atLeast(1), .kinds(["exponential": "2"])),
                    .init("capSeconds", .seconds, .atLeast(0), .kinds(["exponential": "20", "linear": "20"])),
                    .init("sequenceSeconds", .secondsList, .atLeast(0), .byKind),
                    .init("atEnd", .choice(["repeatLast", "stop"]), .any, .kinds(["sequence": "repeatLast"])),
                    .init(
                        "jitter", .choice(["none", "full", "equal", "decorrelated", "proportional"]), .any,
                        .kinds(["constant": "none", "exponential": "full", "linear": "none", "sequence": "none"])),
                    .init("jitterShare", .number, .within(0, 1), .byKind),
                ]
            case .hedgeDelay:
                [
                    .init("kind", .choice(["constant", "percentile", "never"]), .any, .required),
                    .init("percentile", .number, .within(0.01, 0.999), .kinds(["percentile": "0.95"])),
                    .init("atLeastSeconds", .seconds, .atLeast(0), .kinds(["percentile": "0.001"])),
                    .init("minimumSamples", .whole, .within(1, 1_000), .kinds(["percentile": "100"])),
                    .init("delaySeconds", .seconds, .atLeast(0), .byKind),
                ]
            case .rule:
                [
                    .init(
                        "kind",
                        .choice([
                            "consecutiveFailures", "failures", "failureRatio", "slowCalls", "anyOf", "allOf",
                        ]), .any, .required),
                    .init("limit", .whole, .atLeast(1), .kinds(["consecutiveFailures": "5"])),
                    .init("count", .whole, .atLeast(1), .byKind),
                    .init("ratio", .number, .aboveUpTo(0, 1), .byKind),
                    .init("slownessSeconds", .seconds, .above(0), .byKind),
                    .init(
                        "window", .group(.window), .any,
                        .kinds(["failureRatio": "calls 100", "slowCalls": "calls 100"])),
                    .init(
                        "minimumCalls", .whole, .atLeast(1),
                        .kinds(["failureRatio": "10", "failures": "count", "slowCalls": "10"])),
                    .init(
                        "failing", .names, .verdicts,
                        .kinds([
                            "consecutiveFailures": "transient + uncertain", "failureRatio": "transient + uncertain",
                            "failures": "transient + uncertain",
                        ])),
                    .init(
                        "healthy", .names, .verdicts,
                        .kinds([
                            "consecutiveFailures": "success + permanent", "failureRatio": "success + permanent",
                            "failures": "success + permanent",
                        ])),
                    .init("rules", .groups(.rule)),
                ]
            case .window:
                [
                    .init("calls", .whole, .within(1, 10_000_000), .byKind),
                    .init("lengthSeconds", .seconds, .above(0), .byKind),
                    .init("buckets", .whole, .within(1, 100_000), .value("10")),
                ]
            case .probes:
                [
                    .init("successes", .whole, .atLeast(1), .required),
                    .init("probes", .whole, .atLeast(1), .value("successes")),
                ]
            case .breakLength:
                [
                    .init(
                        "kind", .choice(["constant", "exponential", "linear", "retryAfter", "jittered"]), .any,
                        .required),
                    .init("lengthSeconds", .seconds, .atLeast(0), .byKind),
                    .init("baseSeconds", .seconds, .atLeast(0), .kinds(["exponential": "30", "linear": "30"])),
                    .init("maxMultiplier", .whole, .atLeast(1), .kinds(["exponential": "10"])),
                    .init(
                        "capSeconds", .seconds, .atLeast(0),
                        .kinds(["exponential": "300", "linear": "300", "retryAfter": "3600"])),
                    .init(
                        "otherwise", .nested(.breakLength), .any,
                        .kinds(["retryAfter": "baseSeconds 30, capSeconds 300, kind exponential, maxMultiplier 10"])),
                    .init("break", .nested(.breakLength)),
                    .init("jitterShare", .number, .within(0, 1), .kinds(["jittered": "0.2"])),
                ]
            case .throttleLimit:
                [
                    .init("kind", .choice(["unlimited", "rate", "slidingWindow", "fixedWindow"]), .any, .required),
                    .init("calls", .whole, .atLeast(1), .byKind),
                    .init("periodSeconds", .seconds, .above(0), .byKind),
                    .init("burst", .whole, .atLeast(1), .kinds(["rate": "1"])),
                ]
            case .adaptiveLimit:
                [
                    .init("kind", .choice(["gradient", "vegas", "aimd", "fixed"]), .any, .required),
                    .init("lowest", .whole, .within(1, 1_000_000_000), Self.ofAdaptive("1")),
                    .init("highest", .whole, .within(1, 1_000_000_000), Self.ofAdaptive("200")),
                    .init("tolerance", .number, .within(0.01, 10), .kinds(["gradient": "0.1"])),
                    .init("leastQueue", .number, .within(0.01, 0.9), .kinds(["vegas": "0.03"])),
                    .init("mostQueue", .number, .within(0.01, 0.9), .kinds(["vegas": "0.08"])),
                    .init("increase", .number, .above(0), .kinds(["aimd": "1"])),
                    .init("decrease", .number, .between(0, 1), .kinds(["aimd": "0.9"])),
                    .init("windowSeconds", .seconds, .above(0), Self.ofAdaptive("0.1")),
                    .init("slowAfterSeconds", .seconds, .above(0), .none),
                    .init("verdicts", .names, .verdicts, Self.ofAdaptive("throttled")),
                ]
            case .loadShedding:
                [
                    .init("targetSeconds", .seconds, .atLeast(0), .value("0.005")),
                    .init("intervalSeconds", .seconds, .above(0), .value("0.1")),
                ]
            case .endpointPool:
                [
                    .init("choice", .choice(["roundRobin", "leastLoaded"]), .any, .value("leastLoaded")),
                    .init("ejection", .group(.outlierEjection)), .init("slowStart", .group(.slowStart)),
                    .init("panicThreshold", .number, .within(0, 1), .value("0.5")),
                    .init("failing", .names, .verdicts, .value("transient + uncertain")),
                ]
            case .outlierEjection:
                [
                    .init("consecutiveFailures", .whole, .atLeast(1), .value("5")),
                    .init("deviation", .group(.deviation)),
                    .init("failureShare", .group(.failureShare), .any, .none),
                    .init("intervalSeconds", .seconds, .above(0), .value("10")),
                    .init("timeSeconds", .seconds, .above(0), .value("30")),
                    .init("maxTimeSeconds", .seconds, .above(0), .value("300")),
                    .init("jitter", .number, .within(0, 1), .value("0.1")),
                    .init("maxEjected", .number, .within(0, 1), .value("0.1")),
                ]
            case .deviation:
                [
                    .init("factor", .number, .within(0, 100), .value("1.9")),
                    .init("minimumGap", .number, .within(0, 1), .value("0.05")),
                    .init("minimumEndpoints", .whole, .atLeast(2), .value("5")),
                    .init("minimumCalls", .whole, .atLeast(1), .value("100")),
                ]
            case .failureShare:
                [
                    .init("limit", .number, .within(0.01, 1), .value("0.85")),
                    .init("minimumEndpoints", .whole, .atLeast(1), .value("5")),
                    .init("minimumCalls", .whole, .atLeast(1), .value("50")),
                ]
            case .slowStart:
                [
                    .init("overSeconds", .seconds, .above(0), .value("30")),
                    .init("from", .number, .within(0.01, 1), .value("0.1")),
                ]
            }
        }

        /// The default of all kinds of adaptive limits.
        private static func ofAdaptive(_ text: String) -> SettingField.Default {
            .kinds(["gradient": text, "vegas": text, "aimd": text])
        }

        func field(named name: String) -> SettingField? { fields.first { $0.name == name } }
    }

    /// A setting: its name, and what it may be.
    struct SettingField: Sendable {
        enum Kind: Sendable, Hashable {
            case whole, number, seconds, flag, text, names, secondsList
            case choice([String])
            case group(SettingGroup)
            /// A group that contains one of its own kind: looked for only in a group of which something is given.
            case nested(SettingGroup)
            /// A list of groups, under the names 0, 1, 2, …; as `nested`.
            case groups(SettingGroup)
        }

        enum Range: Sendable, Hashable {
            case any, verdicts
            case atLeast(Double), above(Double), within(Double, Double), aboveUpTo(Double, Double)
            /// Without its ends.
            case between(Double, Double)
        }

        enum Default: Sendable, Hashable {
            case required
            /// The setting has no effect if it is left out.
            case none
            /// Of a group, its members in the order of their names.
            case value(String)
            /// The default for each `kind` that has one. A name of another setting stands for its value.
            case kinds([String: String])
            /// Whether it must be given depends on what else is.
            case byKind
        }

        let name: String
        let kind: Kind
        let range: Range
        let standard: Default

        init(_ name: String, _ kind: Kind, _ range: Range = .any, _ standard: Default = .byKind) {
            self.name = name
            self.kind = kind
            self.range = range
            self.standard = standard
        }

        /// Names that somebody probably meant this one with.
        var misspelt: [String] {
            guard name.hasSuffix("Seconds") else { return [] }
            let bare = String(name.dropLast("Seconds".count))
            return [bare, "\(bare)Milliseconds"]
        }
    }
#endif
