#if Hummingbird
    import Hummingbird
    import NIOCore
    import ResilienceTesting
    import Testing

    @testable import ResilienceHummingbird

    @Suite struct ClientKeyTests {
        @Test(
            "an address is reduced to the network of one client",
            arguments: [
                ("192.0.2.7", "192.0.2.7"), ("2001:db8:0:7:1:2:3:4", "2001:db8:0:7::/64"),
                ("2001:db8::1", "2001:db8:0:0::/64"),
                ("::1", "0:0:0:0::/64"), ("fe80::1:2:3:4", "fe80:0:0:0::/64"), ("1::", "1:0:0:0::/64"),
                ("::ffff:192.0.2.7", "192.0.2.7"), ("64:ff9b::192.0.2.7", "64:ff9b:0:0::/64"),
            ])
        func networks(address: String, key: String) throws {
            #expect(try ClientKey.address(SocketAddress(ipAddress: address, port: 80)) == key)
        }

        @Test("a connection without an address has no key")
        func none() throws {
            #expect(ClientKey.address(nil) == nil)
            #expect(try ClientKey.address(SocketAddress(unixDomainSocketPath: "/run/server")) == nil)
        }

        @Test(
            "behind proxies, the client is the address that the first proxy wrote",
            arguments: [
                (["192.0.2.7"], 1, "192.0.2.7"), (["made up, 192.0.2.7"], 1, "192.0.2.7"),
                (["192.0.2.9, 192.0.2.7, 198.51.100.1"], 2, "192.0.2.7"), (["192.0.2.9", "192.0.2.7"], 1, "192.0.2.7"),
                (["192.0.2.9", "192.0.2.7"], 2, "192.0.2.9"), (["192.0.2.7:4711"], 1, "192.0.2.7"),
                (["[2001:db8::1]:4711"], 1, "2001:db8:0:0::/64"), (["2001:db8::1"], 1, "2001:db8:0:0::/64"),
                (["\t 192.0.2.7 \t"], 0, "192.0.2.7"),
            ])
        func forwarded(values: [String], proxies: Int, key: String) {
            #expect(ClientKey.forwarded(values, proxies: proxies) == key)
        }

        @Test(
            "a value that is not an address is not a key",
            arguments: [
                [], [""], [","], ["192.0.2.7,"], ["unknown"], ["_hidden"], ["192.0.2"], ["192.0.2.7 8"], ["[::1"],
                ["::1]"],
                ["192.0.2.07x"], [String(repeating: "1", count: 70_000)],
            ])
        func unreadable(values: [String]) { #expect(ClientKey.forwarded(values, proxies: 1) == nil) }

        @Test("5 000 mutated fields give an address in its own form, or nothing")
        func fuzz() throws {
            var random = SeededGenerator(seed: 20_261_124)
            let seeds = [
                "192.0.2.7, 2001:db8::1", "[2001:db8::1]:80,192.0.2.7:80", "::ffff:192.0.2.7", "1:2:3:4:5:6:7:8",
            ]
            let bytes = Array("0123456789abcdef:.,[]% \t\u{0}x".utf8)
            var read = 0
            // One expectation for all values: an expectation costs more than its comparison.
            var wrong: [String] = []
            for _ in 0..<5_000 {
                var value = Array(try #require(seeds.randomElement(using: &random)).utf8)
                for _ in 0..<Int.random(in: 0...3, using: &random) {
                    let index = Int.random(in: value.indices, using: &random)
                    value[index] = bytes[Int.random(in: bytes.indices, using: &random)]
                }
                let text = String(decoding: value, as: UTF8.self)
                guard let key = ClientKey.forwarded([text], proxies: Int.random(in: 1...3, using: &random)) else {
                    continue
                }
                read += 1
                let address = key.hasSuffix("::/64") ? String(key.dropLast(3)) : key
                let isAddress = (try? SocketAddress(ipAddress: address, port: 0)) != nil
                if !isAddress || key.utf8.count > 24 { wrong.append("\(text) → \(key)") }
            }
            #expect(wrong == [])
            #expect(read > 1_000 && read < 4_800)
        }

        @Test(
            "a long key is replaced by a digest: equal keys have equal digests; keys that only begin alike have different digests"
        )
        func bounded() {
            let long = String(repeating: "a", count: 129)
            #expect(ClientKey.bounded(long) == ClientKey.bounded(long))
            #expect(ClientKey.bounded(long) != ClientKey.bounded(long + "b"))
            #expect(ClientKey.bounded(long).utf8.count <= 41)
            let short = String(repeating: "a", count: 128)
            #expect(ClientKey.bounded(short) == short)
        }
    }
#endif
