//! Reads an order from its JSON and has nothing to do: what a handler costs that does hardly more.

use queuelet_guest::{HandlerOutcome, SqsQueue, subscriber};
use serde::Deserialize;

#[derive(Deserialize)]
#[expect(dead_code, reason = "what is not used is decoded all the same")]
struct Order {
    id: u64,
    cents: u64,
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

#[subscriber(SqsQueue)]
fn take(order: Order) -> HandlerOutcome {
    if order.cents == 0 {
        return HandlerOutcome::fail("an order of nothing");
    }
    HandlerOutcome::ack()
}
