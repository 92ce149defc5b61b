//! The order that `guest-decode` and `guest-decode-batch` read.

use serde::Deserialize;

#[derive(Deserialize)]
#[expect(dead_code, reason = "what is not used is decoded all the same")]
pub(crate) struct Order {
    id: u64,
    pub(crate) cents: u64,
    customer: String,
    lines: Vec<Line>,
    note: String,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "what is not used is decoded all the same")]
struct Line {
    article: String,
    count: u32,
}
