// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "swift-resilience",
    platforms: [.macOS(.v15), .macCatalyst(.v18), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Resilience", targets: ["Resilience"]),
        .library(name: "ResilienceHTTP", targets: ["ResilienceHTTP"]),
        .library(name: "ResilienceSync", targets: ["ResilienceSync"]),
        .library(name: "ResilienceTesting", targets: ["ResilienceTesting"]),
        .library(name: "ResilienceSyncTesting", targets: ["ResilienceSyncTesting"]),
        .library(name: "ResilienceAsyncHTTPClient", targets: ["ResilienceAsyncHTTPClient"]),
        .library(name: "ResilienceGRPC", targets: ["ResilienceGRPC"]),
        .library(name: "ResilienceHummingbird", targets: ["ResilienceHummingbird"]),
        .library(name: "ResilienceObservability", targets: ["ResilienceObservability"]),
        .library(name: "ResilienceConfiguration", targets: ["ResilienceConfiguration"]),
        .library(name: "ResilienceDashboard", targets: ["ResilienceDashboard"]),
        .executable(name: "retry-storm", targets: ["RetryStorm"]),
        .executable(name: "resilient-gateway", targets: ["ResilientGateway"]),
    ],
    traits: [
        .trait(name: "SQLite", description: "The sync queue's durable store, on GRDB (needs libsqlite3-dev on Linux)."),
        .trait(
            name: "ServiceLifecycle",
            description: "The sync queue as a service of swift-service-lifecycle, with a graceful shutdown."),
        .trait(
            name: "Demo",
            description: "The retry-storm executable: a real HTTP server, and the storm drained against it.",
            enabledTraits: ["SQLite"]
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
        .trait(name: "Tracing", description: "A span for each call, with swift-distributed-tracing."),
        .trait(name: "Configuration", description: "Pipelines and registries from a reader of swift-configuration."),
        .trait(
            name: "Dashboard", description: "A live page of circuits, limits and queues for Hummingbird's servers.",
            enabledTraits: ["Hummingbird"]),
        .trait(
            name: "Gateway", description: "The resilient-gateway executable: a service that uses all of the above.",
            enabledTraits: [
                "AsyncHTTPClient", "Hummingbird", "Logging", "Metrics", "Configuration", "Dashboard",
            ]),
    ],
    // Every product of these is behind a trait below: with the default traits none of them is fetched.
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
        .package(
            url: "https://github.com/apple/swift-configuration", from: "1.0.0",
            traits: [.defaults, .trait(name: "Reloading", condition: .when(traits: ["Gateway"]))]),
    ],
    targets: [
        .target(name: "Resilience"),
        .target(
            name: "ResilienceHTTP",
            dependencies: [
                "Resilience",
                .product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["HTTPTypes"])),
            ]),
        .target(
            name: "ResilienceAsyncHTTPClient",
            dependencies: [
                "Resilience", "ResilienceHTTP",
                .product(
                    name: "AsyncHTTPClient", package: "async-http-client",
                    condition: .when(traits: ["AsyncHTTPClient"])),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["AsyncHTTPClient"])),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["AsyncHTTPClient"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["AsyncHTTPClient"])),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["AsyncHTTPClient"])),
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["AsyncHTTPClient"])),
            ]),
        .target(
            name: "ResilienceGRPC",
            dependencies: [
                "Resilience",
                .product(name: "GRPCCore", package: "grpc-swift-2", condition: .when(traits: ["GRPC"])),
            ]),
        .target(
            name: "ResilienceHummingbird",
            dependencies: [
                "Resilience", "ResilienceHTTP",
                .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Hummingbird"])),
                .product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["Hummingbird"])),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Hummingbird"])),
            ]),
        .target(
            name: "ResilienceObservability",
            dependencies: [
                "Resilience", "ResilienceSync",
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Logging"])),
                .product(name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
                .product(
                    name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Tracing"])),
            ]),
        .target(
            name: "ResilienceConfiguration",
            dependencies: [
                "Resilience",
                .product(
                    name: "Configuration", package: "swift-configuration",
                    condition: .when(traits: ["Configuration"])),
            ]),
        .target(
            name: "ResilienceDashboard",
            dependencies: [
                "Resilience", "ResilienceSync", "ResilienceObservability",
                .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Dashboard"])),
                .product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["Dashboard"])),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Dashboard"])),
                .product(
                    name: "ServiceLifecycle", package: "swift-service-lifecycle",
                    condition: .when(traits: ["Dashboard"])),
            ]),
        .executableTarget(
            name: "ResilientGateway",
            dependencies: [
                "Resilience", "ResilienceHTTP", "ResilienceAsyncHTTPClient", "ResilienceHummingbird",
                "ResilienceObservability", "ResilienceConfiguration", "ResilienceDashboard",
                .product(name: "AsyncHTTPClient", package: "async-http-client", condition: .when(traits: ["Gateway"])),
                .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Gateway"])),
                .product(name: "Configuration", package: "swift-configuration", condition: .when(traits: ["Gateway"])),
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Gateway"])),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["Gateway"])),
                .product(
                    name: "UnixSignals", package: "swift-service-lifecycle",
                    condition: .when(traits: ["Gateway"])),
                .product(
                    name: "ServiceLifecycle", package: "swift-service-lifecycle",
                    condition: .when(traits: ["Gateway"])),
            ],
            exclude: ["gateway.json"]),
        .target(
            name: "ResilienceSync",
            dependencies: [
                "Resilience",
                .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["SQLite"])),
                .target(name: "CSQLiteSystem", condition: .when(platforms: [.linux], traits: ["SQLite"])),
                .product(
                    name: "ServiceLifecycle", package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])),
            ]
        ),
        // So that a Linux machine without SQLite's headers is told what to install.
        .systemLibrary(
            name: "CSQLiteSystem", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .yum(["sqlite-devel"])]),
        .target(
            name: "ResilienceTesting",
            dependencies: [
                "Resilience",
                .product(name: "FlyingSocks", package: "FlyingFox", condition: .when(traits: ["StubServer"])),
            ]
        ),
        .target(
            name: "ResilienceSyncTesting", dependencies: ["Resilience", "ResilienceSync", "ResilienceTesting"]),
        .target(name: "RetryStormInput", dependencies: ["Resilience", "ResilienceSync"]),
        .executableTarget(
            name: "RetryStorm",
            dependencies: [
                "Resilience", "ResilienceHTTP", "ResilienceSync", "RetryStormInput",
                .product(name: "FlyingFox", package: "FlyingFox", condition: .when(traits: ["Demo"])),
                .product(
                    name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["Demo"])),
            ]
        ),
        .executableTarget(name: "stress", dependencies: ["Resilience", "ResilienceTesting"], path: "Tests/Stress"),
        .executableTarget(
            name: "crash", dependencies: ["Resilience", "ResilienceSync", "ResilienceTesting"], path: "Tests/Crash"),
        // What .ci/dashboard shows in a browser.
        .executableTarget(
            name: "dashboard-demo",
            dependencies: [
                "Resilience", "ResilienceSync", "ResilienceObservability", "ResilienceDashboard",
                .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Dashboard"])),
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Dashboard"])),
            ],
            path: "Tests/DashboardDemo"),
        .target(name: "TestSupport", dependencies: ["Resilience", "ResilienceTesting"], path: "Tests/Support"),
        .testTarget(
            name: "ResilienceTests", dependencies: ["Resilience", "ResilienceTesting", "TestSupport", "FuzzOracles"]),
        .testTarget(
            name: "ResilienceHTTPTests",
            dependencies: [
                "Resilience", "ResilienceHTTP", "ResilienceTesting", "FuzzOracles", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["HTTPTypes"])),
            ]),
        .testTarget(
            name: "ResilienceAsyncHTTPClientTests",
            dependencies: [
                "Resilience", "ResilienceHTTP", "ResilienceAsyncHTTPClient", "ResilienceTesting", "TestSupport",
                .product(
                    name: "AsyncHTTPClient", package: "async-http-client",
                    condition: .when(traits: ["AsyncHTTPClient"])),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["AsyncHTTPClient"])),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["AsyncHTTPClient"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["AsyncHTTPClient"])),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["AsyncHTTPClient"])),
            ]),
        .testTarget(
            name: "ResilienceGRPCTests",
            dependencies: [
                "Resilience", "ResilienceGRPC", "ResilienceTesting", "TestSupport",
                .product(name: "GRPCCore", package: "grpc-swift-2", condition: .when(traits: ["GRPC"])),
                .product(name: "GRPCInProcessTransport", package: "grpc-swift-2", condition: .when(traits: ["GRPC"])),
            ]),
        .testTarget(
            name: "ResilienceHummingbirdTests",
            dependencies: [
                "Resilience", "ResilienceHTTP", "ResilienceHummingbird", "ResilienceTesting", "TestSupport",
                .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Hummingbird"])),
                .product(name: "HummingbirdTesting", package: "hummingbird", condition: .when(traits: ["Hummingbird"])),
                .product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["Hummingbird"])),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Hummingbird"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["Hummingbird"])),
                .product(
                    name: "ServiceLifecycle", package: "swift-service-lifecycle",
                    condition: .when(traits: ["Hummingbird"])),
            ]),
        .testTarget(
            name: "ResilienceObservabilityTests",
            dependencies: [
                "Resilience", "ResilienceSync", "ResilienceObservability", "ResilienceTesting", "TestSupport",
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Logging"])),
                .product(name: "InMemoryLogging", package: "swift-log", condition: .when(traits: ["Logging"])),
                .product(name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
                .product(name: "MetricsTestKit", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
                .product(
                    name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Tracing"])),
                .product(
                    name: "InMemoryTracing", package: "swift-distributed-tracing",
                    condition: .when(traits: ["Tracing"])),
            ]),
        .testTarget(
            name: "ResilienceConfigurationTests",
            dependencies: [
                "Resilience", "ResilienceConfiguration", "ResilienceTesting", "TestSupport",
                .product(
                    name: "Configuration", package: "swift-configuration",
                    condition: .when(traits: ["Configuration"])),
            ]),
        .testTarget(
            name: "ResilienceDashboardTests",
            dependencies: [
                "Resilience", "ResilienceSync", "ResilienceObservability", "ResilienceDashboard", "ResilienceTesting",
                "TestSupport",
                .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Dashboard"])),
                .product(name: "HummingbirdTesting", package: "hummingbird", condition: .when(traits: ["Dashboard"])),
                .product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["Dashboard"])),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Dashboard"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["Dashboard"])),
            ]),
        .testTarget(
            name: "ResilienceSyncTests",
            dependencies: [
                "Resilience", "ResilienceHTTP", "ResilienceSync", "ResilienceTesting", "ResilienceSyncTesting",
                "FuzzOracles", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["SQLite"])),
                .product(
                    name: "ServiceLifecycle", package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])),
                .product(
                    name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])),
            ]
        ),
        .testTarget(
            name: "ResilienceTestingTests",
            dependencies: [
                "Resilience", "ResilienceHTTP", "ResilienceTesting",
                .product(name: "FlyingSocks", package: "FlyingFox", condition: .when(traits: ["StubServer"])),
            ]
        ),
        .testTarget(
            name: "RetryStormInputTests",
            dependencies: ["RetryStormInput", "ResilienceSync", "ResilienceTesting", "FuzzOracles"]),
        .testTarget(
            name: "RetryStormTests",
            dependencies: ["RetryStorm", "RetryStormInput", "Resilience", "ResilienceSync", "ResilienceTesting"]),
        // What must hold of everything that reads outside data: for the tests, and for the fuzzers below.
        .target(
            name: "FuzzOracles",
            dependencies: [
                "Resilience", "ResilienceHTTP", "ResilienceSync", "ResilienceTesting", "RetryStormInput",
                .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["SQLite"])),
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
    // Only for our own builds: a warning of a newer compiler must not break the build of whoever imports us.
    if Context.environment["WARNINGS_AS_ERRORS"] != nil {
        target.swiftSettings?.append(.treatAllWarnings(as: .error))
    }
}

// For .ci/fuzz: an executable for each folder of Tests/Fuzzing that holds a fuzzer.
if Context.environment["FUZZING"] != nil {
    for reader in [
        "CircuitSnapshot", "Configuration", "DeadlineField", "HTTPEndpoint", "HTTPVerdict", "MutationReader",
        "QueueFile", "RetryAfter", "StoredRow",
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
