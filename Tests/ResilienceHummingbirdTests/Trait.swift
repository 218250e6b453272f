// These tests are empty without the trait Hummingbird.
