//! Traps on every message, without a panic that could tell why.

use queuelet_guest::{SqsQueue, subscriber};

#[subscriber(SqsQueue)]
fn trap(_: &[u8]) {
    #[cfg(target_family = "wasm")]
    core::arch::wasm32::unreachable();
}
