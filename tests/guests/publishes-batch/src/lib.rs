//! Publishes what each body of a batch says to where it says: `{"to":"events","body":"hello"}`.
//!
//! Each message is acked or fails by what came of its own.

use queuelet_guest::{HandlerOutcome, PublishError, Reply, SqsQueue, publish, subscriber};
use serde::Deserialize;

#[derive(Deserialize)]
struct Order {
    to: String,
    body: String,
}

#[subscriber(SqsQueue)]
fn send(orders: Vec<Order>) -> Vec<Result<HandlerOutcome, PublishError>> {
    let publish = |order: Order| publish(order.to, Reply::new(order.body));
    orders
        .into_iter()
        .map(|order| publish(order).map(|_| HandlerOutcome::ack()))
        .collect()
}
