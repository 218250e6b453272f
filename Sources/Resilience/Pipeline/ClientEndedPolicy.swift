/// A policy that sets a deadline and relies on the operation to end itself then, as ``ClientTimeout`` does.
protocol ClientEndedPolicy: Policy {}
