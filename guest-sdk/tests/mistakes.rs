//! What rustc says to a mistake is part of the SDK: each file in `mistakes/` has one, and beside it what is said.
//!
//! `TRYBUILD=overwrite cargo test -p queuelet-guest --test mistakes` writes anew what is said.

#[test]
fn each_mistake_is_named_and_pointed_at() {
    trybuild::TestCases::new().compile_fail("tests/mistakes/*.rs");
}
