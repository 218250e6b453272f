import Foundation
import Resilience
import ResilienceHTTP
import ResilienceSync
import ResilienceTesting
import ResilienceTraffic
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

let server = URL(filePath: "/")
let path = ""

func signIn() async throws -> String { "" }
