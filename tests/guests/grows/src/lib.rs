//! Takes memory without end, and keeps it.

use std::hint::black_box;

use queuelet_guest::{SqsQueue, subscriber};

#[subscriber(SqsQueue)]
fn grow(_: &[u8]) {
    let mut kept = Vec::new();
    loop {
        kept.push(black_box(vec![0xa5_u8; 1 << 20]));
    }
}
