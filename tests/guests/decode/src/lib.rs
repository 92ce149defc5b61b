//! Reads an order from its JSON and has nothing to do: what a handler costs that does hardly more.

mod order;

use queuelet_guest::{HandlerOutcome, SqsQueue, subscriber};

use order::Order;

#[subscriber(SqsQueue)]
fn take(order: Order) -> HandlerOutcome {
    if order.cents == 0 {
        return HandlerOutcome::fail("an order of nothing");
    }
    HandlerOutcome::ack()
}
