// What the toolkit costs a gateway, and whether that stays: `gateway-trials [MINUTES]`. One process has a service, a gateway with
// all that resilient-gateway has, the same gateway without the toolkit, and the clients, over loopback. The gateways take turns of
// half a second. A line a minute tells the requests per second of both and the memory; the trial fails where the last third of the
// minutes needs more memory or has a worse ratio than the first.
#if Gateway
    import Foundation

    let minutes = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1
    guard minutes > 0 else {
        print("gateway-trials [MINUTES], at least 1")
        exit(2)
    }
    let stands = try await withHouse { house in
        // What is made once is made, and the processor's caches know both.
        for gateway in house.gateways { _ = try await house.turn(at: gateway) }
        print(
            "| minute | without, per second | with | with / without (median of turns) | MB |\n|---|---:|---:|---:|---:|"
        )
        var lines: [Minute] = []
        for number in 1...minutes {
            lines.append(try await Minute(of: house))
            print("| \(number) \(lines[number - 1])")
            fflush(nil)
        }
        return Minute.areFlat(lines)
    }
    if !stands { print("not flat") }
    exit(stands ? 0 : 1)
#else
    print("The trial needs its packages: swift run -c release --traits Gateway gateway-trials")
#endif
