import Resilience
import ResilienceSync

let pipeline = Pipeline("api") {}
let handlers = [SyncHandler.others { _ in }]
let title = "Plans"
let mutation = Mutation(entity: "note-7", kind: "rename")
