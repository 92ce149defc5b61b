//! Reads a batch of orders from their JSON and has nothing to do: `guest-decode`, ten at a time.

#[path = "../../decode/src/order.rs"]
mod order;

use queuelet_guest::{HandlerOutcome, SqsQueue, subscriber};

use order::Order;

#[subscriber(SqsQueue)]
fn take(orders: Vec<Order>) -> HandlerOutcome {
    if orders.iter().any(|order| order.cents == 0) {
        return HandlerOutcome::fail("an order of nothing");
    }
    HandlerOutcome::ack()
}
