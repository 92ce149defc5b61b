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

impl Count {
    /// Every count, in the order of their places in a table.
    pub const ALL: [Count; COUNTS] = [
        Self::Received,
        Self::ReceiveFailed,
        Self::Handled,
        Self::Acked,
        Self::Dropped,
        Self::Retried,
        Self::Replied,
        Self::RepliesSent,
        Self::RepliesFailed,
        Self::Published,
        Self::PublishFailed,
        Self::DeadLettered,
        Self::Deleted,
        Self::Released,
        Self::Interrupted,
        Self::Extended,
        Self::ExtensionFailed,
        Self::LeaseLost,
        Self::Abandoned,
        Self::CircuitOpened,
        Self::SettleFailed,
        Self::HeldAlready,
        Self::FinishedAlready,
        Self::Panicked,
    ];

    /// Its name in a host's status, and between `queuelet_` and `_total` in its metrics.
    pub fn name(self) -> &'static str {
        self.names().0
    }

    /// What it counts, as a sentence.
    pub fn help(self) -> &'static str {
        self.names().1
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Received => ("messages_received", "Messages that receives brought."),
            Self::ReceiveFailed => ("receives_failed", "Receives that failed."),
            Self::Handled => (
                "messages_handled",
                "Messages whose handler answered, or failed.",
            ),
            Self::Acked => ("messages_acked", "Messages acknowledged."),
            Self::Dropped => ("messages_dropped", "Messages dropped."),
            Self::Retried => (
                "messages_retried",
                "Messages put back because their handler said so.",
            ),
            Self::Replied => ("messages_replied", "Messages whose replies were sent."),
            Self::RepliesSent => ("replies_sent", "Replies sent."),
            Self::RepliesFailed => ("replies_failed", "Replies that could not be sent."),
            Self::Published => (
                "messages_published",
                "Messages that handlers published while they ran.",
            ),
            Self::PublishFailed => (
                "publishes_failed",
                "Messages that handlers could not publish.",
            ),
            Self::DeadLettered => (
                "messages_dead_lettered",
                "Messages sent to the dead-letter queue because their handler gave them up.",
            ),
            Self::Deleted => ("messages_deleted", "Messages deleted."),
            Self::Released => ("messages_released", "Messages released without a handling."),
            Self::Interrupted => (
                "handlers_interrupted",
                "Handlers interrupted at the drain deadline.",
            ),
            Self::Extended => ("leases_extended", "Extensions that succeeded."),
            Self::ExtensionFailed => ("extensions_failed", "Extensions that failed."),
            Self::LeaseLost => ("leases_lost", "Leases lost."),
            Self::Abandoned => (
                "handlers_abandoned",
                "Handlers stopped because their message's lease was lost.",
            ),
            Self::CircuitOpened => (
                "circuits_opened",
                "Circuits opened, those that opened again after a probe included.",
            ),
            Self::SettleFailed => ("settlements_failed", "Settlements that were given up."),
            Self::HeldAlready => (
                "messages_held_already",
                "Messages received again while they were here.",
            ),
            Self::FinishedAlready => (
                "messages_finished_already",
                "Messages received again though they were finished, and deleted unhandled.",
            ),
            Self::Panicked => (
                "tasks_panicked",
                "Tasks of the host that panicked and were started again.",
            ),
        }
    }
}

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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_count_has_its_place_and_a_name_of_its_own() {
        for (place, count) in Count::ALL.into_iter().enumerate() {
            assert_eq!(count as usize, place, "{count:?}");
        }
        let names: HashSet<_> = Count::ALL.iter().map(|count| count.name()).collect();
        assert_eq!(names.len(), COUNTS);
    }
}
