//! Loses some memory at every message.

use std::hint::black_box;

use queuelet_guest::{SqsQueue, subscriber};

const LOST: usize = 16 << 10;

#[subscriber(SqsQueue)]
fn leak(_: &[u8]) {
    black_box(vec![0xa5_u8; LOST].leak());
}
