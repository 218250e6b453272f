import Foundation
import Resilience

let file = Data("{}".utf8)
