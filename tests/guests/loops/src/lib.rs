//! Burns the CPU for ever, and makes no call that the host could stop it in.

use std::hint::black_box;

use queuelet_guest::{SqsQueue, subscriber};

#[subscriber(SqsQueue)]
fn spin(_: &[u8]) {
    let mut turns = 0u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}
