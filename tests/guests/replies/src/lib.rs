//! Replies with what the body says, right or wrong: `{"body":"hello","headers":[["kind","a"]]}`.
//!
//! Its descriptor grants it one destination, for the tests that take that away.

use std::time::Duration;

use queuelet_guest::{Reply, SqsQueue, subscriber};
use serde::Deserialize;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Order {
    body: String,
    /// The body is so many times `body`.
    times: Option<usize>,
    headers: Vec<(String, String)>,
    group: Option<String>,
    deduplication: Option<String>,
    delay: Option<u64>,
    to: Option<String>,
}

#[subscriber(SqsQueue::from_mount().destinations(["granted"]), reply)]
fn reply(order: Order) -> Reply {
    let mut reply = Reply::new(order.body.repeat(order.times.unwrap_or(1)));
    for (name, value) in order.headers {
        reply = reply.header(name, value);
    }
    if let Some(group) = order.group {
        reply = reply.group_id(group);
    }
    if let Some(id) = order.deduplication {
        reply = reply.deduplication_id(id);
    }
    if let Some(seconds) = order.delay {
        reply = reply.delay(Duration::from_secs(seconds));
    }
    match order.to {
        Some(destination) => reply.to(destination),
        None => reply,
    }
}
