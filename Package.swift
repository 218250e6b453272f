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
        .executable(name: "retry-storm", targets: ["RetryStorm"]),
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
    ],
    // Every product of these is behind a trait below: with the default traits none of them is fetched.
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.9.0"),
    ],
    targets: [
        .target(name: "Resilience"),
        .target(name: "ResilienceHTTP", dependencies: ["Resilience"]),
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
        .target(name: "TestSupport", dependencies: ["Resilience", "ResilienceTesting"], path: "Tests/Support"),
        .testTarget(
            name: "ResilienceTests", dependencies: ["Resilience", "ResilienceTesting", "TestSupport", "FuzzOracles"]),
        .testTarget(
            name: "ResilienceHTTPTests",
            dependencies: ["Resilience", "ResilienceHTTP", "ResilienceTesting", "FuzzOracles", "TestSupport"]),
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
        "CircuitSnapshot", "Configuration", "HTTPVerdict", "MutationReader", "QueueFile", "RetryAfter", "StoredRow",
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
