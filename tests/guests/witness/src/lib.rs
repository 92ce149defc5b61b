//! Says when it begins and when it ends, and takes as long as the body says: `1500` milliseconds.
//!
//! The host logs its lines with the digest of its file, so they tell which version said them.

use std::thread;
use std::time::Duration;

use queuelet_guest::{SqsQueue, log, subscriber};

#[subscriber(SqsQueue)]
fn witness(ms: u64) {
    log::info!("began");
    thread::sleep(Duration::from_millis(ms));
    log::info!("done");
}
