//! Counts of one subscription.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::Serialize;

use crate::handler::Reason;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Messages that receives brought.
    Received,
    /// Receives that failed.
    ReceiveFailed,
    /// Messages whose handler answered, or failed.
    Handled,
    /// Messages acknowledged.
    Acked,
    /// Messages dropped.
    Dropped,
    /// Messages put back at the handler's word.
    Retried,
    /// Messages whose replies were sent.
    Replied,
    /// Replies sent.
    RepliesSent,
    /// Replies that could not be sent.
    RepliesFailed,
    /// Messages that handlers published while they ran.
    Published,
    /// Messages that handlers could not publish.
    PublishFailed,
    /// Messages sent to the dead-letter queue because their handler gave them up.
    DeadLettered,
    /// Messages deleted.
    Deleted,
    /// Messages released without a handling.
    Released,
    /// Handlers interrupted at the drain deadline.
    Interrupted,
    /// Extensions that succeeded.
    Extended,
    /// Extensions that failed.
    ExtensionFailed,
    /// Leases lost.
    LeaseLost,
    /// Messages whose handler was stopped because their lease was lost.
    Abandoned,
    /// Circuits opened, those that opened again after a probe included.
    CircuitOpened,
    /// Settlements that were given up.
    SettleFailed,
    /// Messages received again while they were here.
    HeldAlready,
    /// Messages received again though they were finished, and deleted without another handling.
    FinishedAlready,
    /// Tasks that panicked and were started again.
    Panicked,
}

const COUNTS: usize = Count::Panicked as usize + 1;

/// The counts of one subscription, since it was opened.
#[derive(Debug, Default)]
pub struct Counters {
    counts: [AtomicU64; COUNTS],
    failed: [AtomicU64; Reason::ALL.len()],
}

impl Counters {
    /// Adds to a count.
    pub fn add(&self, count: Count, n: u64) {
        self.counts[count as usize].fetch_add(n, Relaxed);
    }

    /// Counts a failure by its reason.
    pub fn add_failure(&self, reason: Reason) {
        self.failed[reason as usize].fetch_add(1, Relaxed);
    }

    /// A count as it stands.
    pub fn get(&self, count: Count) -> u64 {
        self.counts[count as usize].load(Relaxed)
    }

    /// How many handlings failed for `reason`.
    pub fn failures(&self, reason: Reason) -> u64 {
        self.failed[reason as usize].load(Relaxed)
    }

    /// The counts that a person asks for first.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            received: self.get(Count::Received),
            handled: self.get(Count::Handled),
            deleted: self.get(Count::Deleted),
            replied: self.get(Count::Replied),
            failed: Reason::ALL.iter().map(|r| self.failures(*r)).sum(),
        }
    }
}

/// A few counts at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    /// Messages that receives brought.
    pub received: u64,
    /// Messages whose handler answered, or failed.
    pub handled: u64,
    /// Messages deleted.
    pub deleted: u64,
    /// Messages whose replies were sent.
    pub replied: u64,
    /// Handlings that failed, for whatever reason.
    pub failed: u64,
}
