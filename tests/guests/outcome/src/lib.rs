//! Does what the body says, one message at a time: `{"do":"retry-after","ms":1500}`.

use std::thread;
use std::time::Duration;

use queuelet_guest::{Context, HandlerOutcome, SqsQueue, subscriber};
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

#[subscriber(SqsQueue)]
fn obey(order: Order, context: &Context) -> HandlerOutcome {
    match order {
        Order::Ack => HandlerOutcome::ack(),
        Order::Drop => HandlerOutcome::drop(),
        Order::Retry => HandlerOutcome::retry(),
        Order::RetryAfter { ms } => HandlerOutcome::retry_after(Duration::from_millis(ms)),
        Order::DeadLetter => HandlerOutcome::dead_letter("told to"),
        Order::Fail => HandlerOutcome::fail("told to"),
        Order::FailUntil { receive } if context.receive_count() < Some(receive) => {
            HandlerOutcome::fail("told to")
        }
        Order::FailUntil { .. } => HandlerOutcome::ack(),
        Order::Sleep { ms } => {
            thread::sleep(Duration::from_millis(ms));
            HandlerOutcome::ack()
        }
    }
}
