//! The whole host: the built binary and real guests, against a local SQS.
//!
//! Most tests run the SQS inside themselves and the host as a child, so that the calls can be
//! counted where they arrive and the host can be killed. A test waits for what must come, and
//! decides by a time only where the rule is a time.
//!
//! With an SQS of somebody else's in the environment they are run against that one: see `judge`.

// Most tests stop the host by signals, or kill it.
#![cfg(unix)]

mod access;
mod account;
mod admin;
mod batched;
mod circuit;
mod commands;
mod configuration;
mod creating;
mod dead_letters;
mod embedded;
mod endpoint;
mod failures;
mod fifo;
mod folder;
mod forwarder;
mod garbage;
mod guests;
mod http;
mod instances;
mod judge;
mod leases;
mod local_mode;
mod messages;
mod modules;
mod outbound;
mod outcomes;
mod payloads;
mod plugins;
mod process;
mod publishing;
mod reload;
mod replies;
mod sandbox;
mod secrets;
mod sns;
mod sqs;
mod starting;
mod status;
mod stopping;
mod topics;
mod trouble;
mod twice;
mod web;
mod workers;

use std::time::Duration;

use tokio::time::Instant;

/// How long a test waits for what must come. A busy machine may be slow; a wait that is over early
/// costs nothing.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a test looks.
const LOOK: Duration = Duration::from_millis(20);

/// Looks until there is something to see.
async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(
            Instant::now() < deadline,
            "waited {PATIENCE:?} in vain for: {what}"
        );
        tokio::time::sleep(LOOK).await;
    }
}

/// `Some` for a condition that holds: what [`until`] looks for.
fn when(holds: bool) -> Option<()> {
    holds.then_some(())
}
