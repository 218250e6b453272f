// swift-tools-version: 6.2
import PackageDescription

extension Target.Dependency {
    /// A product that only a trait needs.
    static func product(_ name: String, of package: String, if trait: String) -> Self {
        .product(name: name, package: package, condition: .when(traits: [trait]))
    }
}

// On Linux every compiler finds the header, and pkg-config only makes SwiftPM warn of a flag that it ignores.
#if os(Linux)
    let hiredis: String? = nil
#else
    let hiredis: String? = "hiredis"
#endif

let package = Package(
    name: "swift-resilience",
    platforms: [.macOS(.v15), .macCatalyst(.v18), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Resilience", targets: ["Resilience"]),
        .library(name: "ResilienceTraffic", targets: ["ResilienceTraffic"]),
        .library(name: "ResilienceBlocking", targets: ["ResilienceBlocking"]),
        .library(name: "ResilienceHTTP", targets: ["ResilienceHTTP"]),
        .library(name: "ResilienceSync", targets: ["ResilienceSync"]),
        .library(name: "ResilienceTesting", targets: ["ResilienceTesting"]),
        .library(name: "ResilienceSimulation", targets: ["ResilienceSimulation"]),
        .library(name: "ResilienceSyncTesting", targets: ["ResilienceSyncTesting"]),
        .library(name: "ResilienceAsyncHTTPClient", targets: ["ResilienceAsyncHTTPClient"]),
        .library(name: "ResilienceGRPC", targets: ["ResilienceGRPC"]),
        .library(name: "ResilienceHummingbird", targets: ["ResilienceHummingbird"]),
        .library(name: "ResilienceObservability", targets: ["ResilienceObservability"]),
        .library(name: "ResilienceConfiguration", targets: ["ResilienceConfiguration"]),
        .library(name: "ResilienceDashboard", targets: ["ResilienceDashboard"]),
        .library(name: "ResilienceFleet", targets: ["ResilienceFleet"]),
        .executable(name: "retry-storm", targets: ["RetryStorm"]),
        .executable(name: "resilient-gateway", targets: ["ResilientGateway"]),
        .executable(name: "resilience-lab", targets: ["ResilienceLab"]),
        .executable(name: "resilience-queue", targets: ["ResilienceQueue"]),
    ],
    traits: [
        .trait(name: "SQLite", description: "The sync queue's durable store, on GRDB (needs libsqlite3-dev on Linux)."),
        .trait(
            name: "PostgreSQL",
            description: "An engine on libpq for the sync queue's store in PostgreSQL (needs libpq-dev on Linux)."),
        .trait(
            name: "ServiceLifecycle",
            description:
                "The sync queue, and pipelines that follow a configuration, as swift-service-lifecycle's services."
        ),
        .trait(
            name: "Demo",
            description: "The retry-storm executable: a real HTTP server, and the storm drained against it.",
            enabledTraits: ["SQLite"]
        ),
        .trait(
            name: "Lab", description: "The resilience-lab executable: outages in simulated time.",
            enabledTraits: ["StubServer"]),
        .trait(
            name: "QueueTool",
            description: "The resilience-queue executable: looks at a queue in SQLite or PostgreSQL, and changes it.",
            enabledTraits: ["SQLite", "PostgreSQL"]
        ),
        .trait(name: "StubServer", description: "The testing kit's HTTP server on loopback, on FlyingFox's sockets."),
        .trait(name: "HTTPTypes", description: "Verdicts of swift-http-types' responses, semantics of its requests."),
        .trait(
            name: "AsyncHTTPClient", description: "Requests of async-http-client through a pipeline.",
            enabledTraits: ["HTTPTypes"]),
        .trait(name: "GRPC", description: "Interceptors for clients and servers of gRPC Swift 2."),
        .trait(
            name: "Hummingbird", description: "Middleware for Hummingbird's servers.", enabledTraits: ["HTTPTypes"]),
        .trait(name: "Logging", description: "Events of policies as lines of swift-log."),
        .trait(name: "Metrics", description: "Events and statuses of policies as metrics of swift-metrics."),
        .trait(
            name: "Redis",
            description: "The fleet's engine on Redis or Valkey, with hiredis (needs libhiredis-dev on Linux)."),
        .trait(name: "Tracing", description: "A span for each call, with swift-distributed-tracing."),
        .trait(name: "Configuration", description: "Pipelines and registries from a reader of swift-configuration."),
        .trait(
            name: "Dashboard", description: "A live page of circuits, limits and queues for Hummingbird's servers.",
            enabledTraits: ["Hummingbird"]),
        .trait(
            name: "Gateway", description: "The resilient-gateway executable: a Hummingbird service with a live page.",
            enabledTraits: [
                "AsyncHTTPClient", "Hummingbird", "Logging", "Configuration", "Dashboard", "ServiceLifecycle",
            ]),
    ],
    // Every product of these is behind a trait below: the default traits fetch none of them.
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.9.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.30.0"),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.2.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.20.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.9.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.7.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.0.0"),
    ],
    targets: [
        .target(name: "Resilience"),
        .target(name: "ResilienceTraffic", dependencies: ["Resilience"]),
        .target(name: "ResilienceBlocking", dependencies: ["Resilience"]),
        .target(name: "ResilienceSimulation", dependencies: ["Resilience"]),
        .target(
            name: "ResilienceHTTP",
            dependencies: [
                "Resilience",
                .product("HTTPTypes", of: "swift-http-types", if: "HTTPTypes"),
            ]),
        .target(
            name: "ResilienceAsyncHTTPClient",
            dependencies: [
                "Resilience", "ResilienceHTTP",
                .product("AsyncHTTPClient", of: "async-http-client", if: "AsyncHTTPClient"),
                .product("NIOCore", of: "swift-nio", if: "AsyncHTTPClient"),
                .product("NIOHTTP1", of: "swift-nio", if: "AsyncHTTPClient"),
                .product("NIOPosix", of: "swift-nio", if: "AsyncHTTPClient"),
                .product("NIOSSL", of: "swift-nio-ssl", if: "AsyncHTTPClient"),
                .product("Logging", of: "swift-log", if: "AsyncHTTPClient"),
            ]),
        .target(
            name: "ResilienceGRPC",
            dependencies: [
                "Resilience", "ResilienceHTTP",
                .product("GRPCCore", of: "grpc-swift-2", if: "GRPC"),
            ]),
        .target(
            name: "ResilienceHummingbird",
            dependencies: [
                "Resilience", "ResilienceHTTP",
                .product("Hummingbird", of: "hummingbird", if: "Hummingbird"),
                .product("HTTPTypes", of: "swift-http-types", if: "Hummingbird"),
                .product("Logging", of: "swift-log", if: "Hummingbird"),
                .product("NIOCore", of: "swift-nio", if: "Hummingbird"),
                .product("AsyncHTTPClient", of: "async-http-client", if: "AsyncHTTPClient"),
                .product("NIOHTTP1", of: "swift-nio", if: "AsyncHTTPClient"),
            ]),
        .target(
            name: "ResilienceObservability",
            dependencies: [
                "Resilience",
                .product("Logging", of: "swift-log", if: "Logging"),
                .product("CoreMetrics", of: "swift-metrics", if: "Metrics"),
                .product("Tracing", of: "swift-distributed-tracing", if: "Tracing"),
                .product("ServiceLifecycle", of: "swift-service-lifecycle", if: "ServiceLifecycle"),
            ]),
        .target(
            name: "ResilienceConfiguration",
            dependencies: [
                "Resilience",
                .product("Configuration", of: "swift-configuration", if: "Configuration"),
                .product("ServiceLifecycle", of: "swift-service-lifecycle", if: "ServiceLifecycle"),
            ]),
        .target(
            name: "ResilienceDashboard",
            dependencies: [
                "Resilience", "ResilienceObservability",
                .product("Hummingbird", of: "hummingbird", if: "Dashboard"),
                .product("HTTPTypes", of: "swift-http-types", if: "Dashboard"),
                .product("NIOCore", of: "swift-nio", if: "Dashboard"),
                .product("ServiceLifecycle", of: "swift-service-lifecycle", if: "Dashboard"),
            ],
            resources: [.embedInCode("Page")]),
        .target(
            name: "ResilienceFleet",
            dependencies: ["Resilience", .target(name: "CHiredisSystem", condition: .when(traits: ["Redis"]))],
            resources: [
                .embedInCode("Budget/budget.lua"), .embedInCode("Bulkhead/bulkhead.lua"),
                .embedInCode("CircuitBreaker/breaker.lua"), .embedInCode("Throttle/throttle.lua"),
            ]),
        .systemLibrary(
            name: "CHiredisSystem", pkgConfig: hiredis,
            providers: [.apt(["libhiredis-dev"]), .yum(["hiredis-devel"]), .brew(["hiredis"])]),
        .executableTarget(
            name: "ResilientGateway",
            dependencies: [
                "Resilience", "ResilienceTraffic", "ResilienceHTTP", "ResilienceAsyncHTTPClient",
                "ResilienceHummingbird", "ResilienceObservability", "ResilienceConfiguration", "ResilienceDashboard",
                "ResilienceSimulation",
                .product("AsyncHTTPClient", of: "async-http-client", if: "Gateway"),
                .product("Hummingbird", of: "hummingbird", if: "Gateway"),
                .product("Configuration", of: "swift-configuration", if: "Gateway"),
                .product("Logging", of: "swift-log", if: "Gateway"),
                .product("HTTPTypes", of: "swift-http-types", if: "Gateway"),
                .product("UnixSignals", of: "swift-service-lifecycle", if: "Gateway"),
                .product("ServiceLifecycle", of: "swift-service-lifecycle", if: "Gateway"),
            ],
            exclude: ["gateway.json"]),
        .target(
            name: "ResilienceSync",
            dependencies: [
                "Resilience",
                .product("GRDB", of: "GRDB.swift", if: "SQLite"),
                .target(name: "CSQLiteSystem", condition: .when(platforms: [.linux], traits: ["SQLite"])),
                .target(name: "CPostgreSQLSystem", condition: .when(traits: ["PostgreSQL"])),
                .product("ServiceLifecycle", of: "swift-service-lifecycle", if: "ServiceLifecycle"),
            ],
            resources: [.embedInCode("Store/schema.sql")]
        ),
        // Tells a Linux machine without SQLite's headers what to install.
        .systemLibrary(
            name: "CSQLiteSystem", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .yum(["sqlite-devel"])]),
        .systemLibrary(
            name: "CPostgreSQLSystem", pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"]), .yum(["libpq-devel"]), .brew(["libpq"])]),
        .target(
            name: "ResilienceTesting",
            dependencies: [
                "Resilience",
                .product("FlyingSocks", of: "FlyingFox", if: "StubServer"),
            ]
        ),
        .target(
            name: "ResilienceSyncTesting", dependencies: ["Resilience", "ResilienceSync", "ResilienceTesting"]),
        .executableTarget(
            name: "RetryStorm",
            dependencies: [
                "Resilience", "ResilienceHTTP", "ResilienceSync",
                .product("FlyingFox", of: "FlyingFox", if: "Demo"),
                .product("ArgumentParser", of: "swift-argument-parser", if: "Demo"),
            ]
        ),
        .executableTarget(
            name: "ResilienceLab",
            dependencies: [
                "Resilience", "ResilienceTraffic", "ResilienceSimulation", "ResilienceSync", "ResilienceTesting",
                .product("ArgumentParser", of: "swift-argument-parser", if: "Lab"),
            ]
        ),
        .executableTarget(
            name: "ResilienceQueue",
            dependencies: [
                "Resilience", "ResilienceSync",
                .product("ArgumentParser", of: "swift-argument-parser", if: "QueueTool"),
            ]
        ),
        .executableTarget(name: "stress", dependencies: ["Resilience", "ResilienceTesting"], path: "Tests/Stress"),
        .executableTarget(
            name: "crash", dependencies: ["Resilience", "ResilienceSync", "ResilienceTesting", "KilledProgram"],
            path: "Tests/Crash"),
        // Shared by the two targets that kill programs.
        .target(name: "KilledProgram", dependencies: ["Resilience", "ResilienceSync"], path: "Tests/KilledProgram"),
        .executableTarget(
            name: "fleet", dependencies: ["Resilience", "ResilienceFleet", "TestServers"], path: "Tests/Fleet"),
        .target(name: "PostgreSQLServer", dependencies: ["Resilience"], path: "Tests/PostgreSQLServer"),
        .executableTarget(
            name: "postgresql-trials",
            dependencies: [
                "Resilience", "ResilienceSync", "ResilienceTesting", "PostgreSQLServer", "KilledProgram",
                .target(name: "CSQLiteSystem", condition: .when(platforms: [.linux], traits: ["SQLite"])),
            ],
            path: "Tests/PostgreSQLTrials"),
        // .ci/docs compares the page of settings and their JSON Schema with its output.
        .executableTarget(
            name: "settings-pages", dependencies: ["Resilience", "ResilienceTraffic", "ResilienceConfiguration"],
            path: "Tests/SettingsPages"),
        // .ci/dashboard shows it in a browser.
        .executableTarget(
            name: "dashboard-demo",
            dependencies: [
                "Resilience", "ResilienceSync", "ResilienceObservability", "ResilienceDashboard",
                .product("Hummingbird", of: "hummingbird", if: "Dashboard"),
                .product("Logging", of: "swift-log", if: "Dashboard"),
            ],
            path: "Tests/DashboardDemo"),
        // Apart from TestSupport, which needs Testing.
        .target(name: "TestServers", dependencies: ["Resilience"], path: "Tests/Servers"),
        .target(name: "TestSupport", dependencies: ["Resilience", "ResilienceTesting"], path: "Tests/Support"),
        .testTarget(
            name: "ResilienceBlockingTests",
            dependencies: ["Resilience", "ResilienceBlocking", "ResilienceTesting", "TestSupport"]),
        .testTarget(
            name: "ResilienceTests",
            dependencies: [
                "Resilience", "ResilienceTraffic", "ResilienceTesting", "ResilienceSimulation", "TestSupport",
                "FuzzOracles",
            ]),
        .testTarget(
            name: "ResilienceTrafficTests",
            dependencies: [
                "Resilience", "ResilienceTraffic", "ResilienceTesting", "ResilienceSimulation", "TestSupport",
            ]),
        .testTarget(
            name: "ResilienceHTTPTests",
            dependencies: [
                "Resilience", "ResilienceTraffic", "ResilienceHTTP", "ResilienceTesting", "FuzzOracles", "TestSupport",
                .product("HTTPTypes", of: "swift-http-types", if: "HTTPTypes"),
            ]),
        .testTarget(
            name: "ResilienceAsyncHTTPClientTests",
            dependencies: [
                "Resilience", "ResilienceTraffic", "ResilienceHTTP", "ResilienceAsyncHTTPClient",
                "ResilienceTesting", "TestSupport",
                .product("AsyncHTTPClient", of: "async-http-client", if: "AsyncHTTPClient"),
                .product("NIOCore", of: "swift-nio", if: "AsyncHTTPClient"),
                .product("NIOHTTP1", of: "swift-nio", if: "AsyncHTTPClient"),
                .product("NIOPosix", of: "swift-nio", if: "AsyncHTTPClient"),
                .product("NIOSSL", of: "swift-nio-ssl", if: "AsyncHTTPClient"),
            ]),
        .testTarget(
            name: "ResilienceGRPCTests",
            dependencies: [
                "Resilience", "ResilienceTraffic", "ResilienceHTTP", "ResilienceGRPC", "ResilienceTesting",
                "TestSupport",
                .product("GRPCCore", of: "grpc-swift-2", if: "GRPC"),
                .product("GRPCInProcessTransport", of: "grpc-swift-2", if: "GRPC"),
            ]),
        .testTarget(
            name: "ResilienceHummingbirdTests",
            dependencies: [
                "Resilience", "ResilienceHTTP", "ResilienceHummingbird", "ResilienceAsyncHTTPClient",
                "ResilienceObservability", "ResilienceDashboard", "ResilienceTesting", "TestSupport",
                .product("AsyncHTTPClient", of: "async-http-client", if: "AsyncHTTPClient"),
                .product("Hummingbird", of: "hummingbird", if: "Hummingbird"),
                .product("HummingbirdTesting", of: "hummingbird", if: "Hummingbird"),
                .product("HTTPTypes", of: "swift-http-types", if: "Hummingbird"),
                .product("Logging", of: "swift-log", if: "Hummingbird"),
                .product("NIOCore", of: "swift-nio", if: "Hummingbird"),
                .product("NIOHTTP1", of: "swift-nio", if: "AsyncHTTPClient"),
                .product("NIOPosix", of: "swift-nio", if: "Hummingbird"),
                .product("ServiceLifecycle", of: "swift-service-lifecycle", if: "Hummingbird"),
            ]),
        .testTarget(
            name: "ResilienceObservabilityTests",
            dependencies: [
                "Resilience", "ResilienceTraffic", "ResilienceSync", "ResilienceObservability", "ResilienceTesting",
                "TestSupport",
                .product("Logging", of: "swift-log", if: "Logging"),
                .product("InMemoryLogging", of: "swift-log", if: "Logging"),
                .product("CoreMetrics", of: "swift-metrics", if: "Metrics"),
                .product("MetricsTestKit", of: "swift-metrics", if: "Metrics"),
                .product("Tracing", of: "swift-distributed-tracing", if: "Tracing"),
                .product("InMemoryTracing", of: "swift-distributed-tracing", if: "Tracing"),
                .product("ServiceLifecycle", of: "swift-service-lifecycle", if: "ServiceLifecycle"),
                .product("ServiceLifecycleTestKit", of: "swift-service-lifecycle", if: "ServiceLifecycle"),
            ]),
        .testTarget(
            name: "ResilienceConfigurationTests",
            dependencies: [
                "Resilience", "ResilienceTraffic", "ResilienceConfiguration", "ResilienceTesting", "TestSupport",
                .product("Configuration", of: "swift-configuration", if: "Configuration"),
                .product("ServiceLifecycle", of: "swift-service-lifecycle", if: "ServiceLifecycle"),
                .product("ServiceLifecycleTestKit", of: "swift-service-lifecycle", if: "ServiceLifecycle"),
            ]),
        .testTarget(
            name: "ResilienceDashboardTests",
            dependencies: [
                "Resilience", "ResilienceTraffic", "ResilienceSync", "ResilienceObservability", "ResilienceDashboard",
                "ResilienceTesting",
                "TestSupport",
                .product("Hummingbird", of: "hummingbird", if: "Dashboard"),
                .product("HummingbirdTesting", of: "hummingbird", if: "Dashboard"),
                .product("HTTPTypes", of: "swift-http-types", if: "Dashboard"),
                .product("NIOCore", of: "swift-nio", if: "Dashboard"),
                .product("NIOPosix", of: "swift-nio", if: "Dashboard"),
            ]),
        .testTarget(
            name: "ResilienceFleetTests",
            dependencies: ["Resilience", "ResilienceFleet", "ResilienceTesting", "TestServers", "TestSupport"]),
        .testTarget(
            name: "ResilienceSyncTests",
            dependencies: [
                "Resilience", "ResilienceTraffic", "ResilienceHTTP", "ResilienceSync", "ResilienceTesting",
                "ResilienceSyncTesting", "ResilienceSimulation", "FuzzOracles", "TestSupport", "PostgreSQLServer",
                .product("GRDB", of: "GRDB.swift", if: "SQLite"),
                .product("ServiceLifecycle", of: "swift-service-lifecycle", if: "ServiceLifecycle"),
                .product("ServiceLifecycleTestKit", of: "swift-service-lifecycle", if: "ServiceLifecycle"),
            ]
        ),
        .testTarget(
            name: "ResilienceTestingTests",
            dependencies: [
                "Resilience", "ResilienceHTTP", "ResilienceTesting", "TestSupport",
                .product("FlyingSocks", of: "FlyingFox", if: "StubServer"),
            ]
        ),
        .testTarget(
            name: "ResilienceSimulationTests",
            dependencies: [
                "Resilience", "ResilienceTraffic", "ResilienceSimulation", "ResilienceTesting", "TestSupport",
            ]),
        .testTarget(
            name: "ResilienceLabTests",
            dependencies: [
                "ResilienceLab", "Resilience", "ResilienceTraffic", "ResilienceSimulation", "ResilienceSync",
                "TestSupport",
            ]),
        .testTarget(
            name: "RetryStormTests",
            dependencies: [
                "RetryStorm", "Resilience", "ResilienceSync", "ResilienceTesting", "TestSupport",
            ]),
        .testTarget(
            name: "ResilienceQueueTests",
            dependencies: [
                "ResilienceQueue", "Resilience", "ResilienceSync", "TestSupport", "PostgreSQLServer",
                .product("GRDB", of: "GRDB.swift", if: "QueueTool"),
                .product("ArgumentParser", of: "swift-argument-parser", if: "QueueTool"),
            ]),
        // Checks of all code that reads outside data: for the tests, and for the fuzzers below.
        .target(
            name: "FuzzOracles",
            dependencies: [
                "Resilience", "ResilienceTraffic", "ResilienceHTTP", "ResilienceSync", "ResilienceTesting",
                "ResilienceSimulation",
                .product("GRDB", of: "GRDB.swift", if: "SQLite"),
            ],
            path: "Tests/Fuzzing/Oracles"
        ),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where target.type != .system {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InferIsolatedConformances"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ]
    // Only for our own builds: a newer compiler's warning must not break the builds of packages that import this one.
    if Context.environment["WARNINGS_AS_ERRORS"] != nil {
        target.swiftSettings?.append(.treatAllWarnings(as: .error))
    }
    // For .ci/run: tests spend most of their time in the libraries. With a debug build's checks.
    if Context.environment["OPTIMIZED"] != nil, target.type == .regular {
        target.swiftSettings?.append(.unsafeFlags(["-O", "-assert-config", "Debug"]))
    }
}

// For .ci/thread-sanitizer: of the tests only these files, and no programs.
if let files = Context.environment["SANITIZED"]?.split(separator: " ") {
    for target in package.targets where target.type == .test {
        let folder = "Tests/\(target.name)/"
        target.sources = files.filter { $0.hasPrefix(folder) }.map { String($0.dropFirst(folder.count)) }
    }
    package.products.removeAll { $0 is Product.Executable }
    package.targets.removeAll { $0.type == .executable || $0.type == .test && $0.sources == [] }
}

// For .ci/fuzz: an executable for each folder of Tests/Fuzzing that holds a fuzzer.
if Context.environment["FUZZING"] != nil {
    for reader in [
        "CircuitSnapshot", "Configuration", "DeadlineField", "HTTPEndpoint", "HTTPVerdict",
        "OriginFields",
        "QueueFile", "Recording", "RetryAfter", "StoredRow",
    ] {
        package.targets.append(
            .executableTarget(
                name: "Fuzz\(reader)", dependencies: ["FuzzOracles"], path: "Tests/Fuzzing/\(reader)"))
    }
    for target in package.targets where target.type == .regular || target.name.hasPrefix("Fuzz") {
        target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(["-sanitize=fuzzer,address"])]
        target.linkerSettings = [.unsafeFlags(["-sanitize=fuzzer,address"])]
    }
}
