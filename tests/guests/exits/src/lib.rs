//! Ends its process, as if it had one: with the exit code that is the body, or 0.

use std::process;

use queuelet_guest::{SqsQueue, subscriber};

#[subscriber(SqsQueue)]
fn exit(body: &[u8]) {
    let code = str::from_utf8(body)
        .ok()
        .and_then(|text| text.trim().parse().ok());
    process::exit(code.unwrap_or(0));
}
