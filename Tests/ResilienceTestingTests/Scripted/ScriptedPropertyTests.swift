import ResilienceTesting
import Testing

// C3
@Suite(.timeLimit(.minutes(20))) struct ScriptedPropertyTests {
    private protocol Session {
        var token: String? { get set }
        var name: String { get }
    }

    private struct TestSession: Session, Sendable {
        @ScriptedProperty var token: String? = nil
        @ScriptedProperty var name = "home"
    }

    /// A `Sendable` class: its properties are constants.
    private final class SharedSession: Session, Sendable {
        let tokens = ScriptedProperty<String?>(wrappedValue: "first")

        var token: String? {
            get { tokens.wrappedValue }
            set { tokens.wrappedValue = newValue }
        }
        var name: String { "shared" }
    }

    @Test("without a script a property returns its initial value, then the last written one")
    func plain() {
        let session = TestSession()
        #expect(session.token == nil && session.name == "home")
        session.token = "a"
        session.token = "b"
        #expect(session.token == "b")
        session.token = nil
        #expect(session.token == nil)
        #expect(session.$token.writes.inputs == ["a", "b", nil])
    }

    @Test("every read is counted, and every write")
    func counted() {
        var session: any Session = SharedSession()
        let tokens = (session as? SharedSession)?.tokens
        #expect(session.token == "first" && session.token == "first")
        session.token = "second"
        #expect(session.token == "second")
        #expect(tokens?.reads.callCount == 3 && tokens?.writes.callCount == 1)
    }

    @Test("scripted reads come first, then the last written value; a fallback overrides the written value")
    func scripted() {
        let session = TestSession()
        session.$token.reads.enqueue(.success("expired"), .success(nil))
        session.token = "fresh"
        #expect([session.token, session.token, session.token] == ["expired", nil, "fresh"])
        session.$token.reads.fallback = .success("fixed")
        session.token = "later"
        #expect(session.token == "fixed")
        session.$token.reads.fallback = nil
        #expect(session.token == "later")
    }

    @Test("changing a property in place reads it once and writes it once")
    func inPlace() {
        let session = TestSession()
        session.token = "a"
        session.token?.append("b")
        #expect(session.$token.writes.inputs == ["a", "ab"] && session.$token.reads.callCount == 1)
    }

    @Test("reset removes reads, writes and script, and the property has its initial value")
    func reset() {
        let session = TestSession()
        session.$name.reads.enqueue(.success("script"))
        session.$name.reads.fallback = .success("fallback")
        session.name = "away"
        session.$name.reset()
        #expect(session.$name.writes.inputs.isEmpty && session.$name.reads.callCount == 0)
        #expect(session.name == "home")
        session.name = "again"
        #expect(session.name == "again" && session.$name.writes.inputs == ["again"])
    }

    @Test("copies of a double share their script and their record")
    func shared() {
        let session = TestSession()
        let copy = session
        copy.token = "a"
        #expect(session.token == "a" && session.$token.writes.callCount == 1)
    }
}
