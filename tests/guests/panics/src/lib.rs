//! Panics on the message whose body is `panic`, and acks every other.

use queuelet_guest::{SqsQueue, subscriber};

#[subscriber(SqsQueue)]
fn panic_if_told(body: &[u8]) {
    assert_ne!(body, b"panic", "told to");
}
