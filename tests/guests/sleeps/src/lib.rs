//! Sleeps for ever: it sits in a call of the host, and burns nothing.

use std::thread;
use std::time::Duration;

use queuelet_guest::{SqsQueue, subscriber};

#[subscriber(SqsQueue)]
fn sleep(_: &[u8]) {
    loop {
        thread::sleep(Duration::from_secs(3_600));
    }
}
