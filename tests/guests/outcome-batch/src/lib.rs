//! Does what each body of a batch says: `{"do":"retry-after","ms":1500}`.
//!
//! It is written by hand, without the attribute.

use std::thread;
use std::time::Duration;

use queuelet_guest::{Delivery, HandleBatch, HandlerOutcome};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum Order {
    Ack,
    Drop,
    Retry,
    RetryAfter {
        ms: u64,
    },
    DeadLetter,
    Fail,
    /// Fails at each receive before this one.
    FailUntil {
        receive: u32,
    },
    Sleep {
        ms: u64,
    },
}

struct Obedient;

impl HandleBatch<Delivery<Order>> for Obedient {
    type Output = Vec<HandlerOutcome>;

    async fn handle_batch(&self, orders: Vec<Delivery<Order>>) -> Vec<HandlerOutcome> {
        orders.into_iter().map(obey).collect()
    }
}

queuelet_guest::export_batch!(Obedient);

fn obey(order: Delivery<Order>) -> HandlerOutcome {
    let received = order.context.receive_count();
    match order.value {
        Order::Ack => HandlerOutcome::ack(),
        Order::Drop => HandlerOutcome::drop(),
        Order::Retry => HandlerOutcome::retry(),
        Order::RetryAfter { ms } => HandlerOutcome::retry_after(Duration::from_millis(ms)),
        Order::DeadLetter => HandlerOutcome::dead_letter("told to"),
        Order::Fail => HandlerOutcome::fail("told to"),
        Order::FailUntil { receive } if received < Some(receive) => HandlerOutcome::fail("told to"),
        Order::FailUntil { .. } => HandlerOutcome::ack(),
        Order::Sleep { ms } => {
            thread::sleep(Duration::from_millis(ms));
            HandlerOutcome::ack()
        }
    }
}
