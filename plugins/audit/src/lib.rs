//! Writes down what passes, whatever it is, and from whichever queue.
//!
//! It names no queue: `audit.toml` mounts it on two, and each is a subscription of its own.

use queuelet_guest::{Context, SqsQueue, log, subscriber};

#[subscriber(SqsQueue)]
fn write_down(body: &[u8], context: &Context) {
    let id = context.id().unwrap_or("unknown");
    log::info!("seen", queue = context.queue(), id = id, bytes = body.len());
}
