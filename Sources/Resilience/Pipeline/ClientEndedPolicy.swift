/// A policy that gives the operation a deadline at which it ends by itself, as ``ClientTimeout`` does.
protocol ClientEndedPolicy: Policy {}
