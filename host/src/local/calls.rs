//! How often what was called, so that a test can count calls where they arrive.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Queues that are counted by name. Clients may ask for any name, so there has to be an end to it;
/// calls for queues beyond are counted in the totals only.
const MOST_QUEUES: usize = 10_000;

/// The calls that arrived until a certain moment.
///
/// A call counts when its request could be read, whether it succeeded or not. A long poll counts
/// when it arrives.
#[derive(Clone, Debug, Default)]
pub struct CallCounts {
    totals: HashMap<&'static str, Count>,
    queues: HashMap<String, HashMap<&'static str, Count>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    calls: u64,
    entries: u64,
}

impl Count {
    fn add(&mut self, entries: u64) {
        self.calls += 1;
        self.entries += entries;
    }
}

impl CallCounts {
    /// How often `action`, such as `ChangeMessageVisibility`, was called for the queue of this name.
    /// A batch is one call, and of another action than its single form.
    pub fn of(&self, action: &str, queue: &str) -> u64 {
        self.at(action, queue).calls
    }

    /// How many entries the calls of `action` for this queue had: of a batch its entries, of any
    /// other action one a call.
    pub fn entries(&self, action: &str, queue: &str) -> u64 {
        self.at(action, queue).entries
    }

    /// How often `action` was called, whatever the queue.
    pub fn total(&self, action: &str) -> u64 {
        self.totals.get(action).map_or(0, |count| count.calls)
    }

    /// How many calls there were of all actions and queues.
    pub fn all(&self) -> u64 {
        self.totals.values().map(|count| count.calls).sum()
    }

    fn at(&self, action: &str, queue: &str) -> Count {
        let actions = self.queues.get(queue);
        actions
            .and_then(|actions| actions.get(action))
            .copied()
            .unwrap_or_default()
    }
}

/// Counts calls as they arrive.
#[derive(Debug, Default)]
pub(crate) struct Counter(Mutex<CallCounts>);

impl Counter {
    /// One call of `action`, for a queue if it names one.
    pub(crate) fn count(&self, action: &'static str, queue: Option<&str>, entries: usize) {
        let entries = u64::try_from(entries).unwrap_or(u64::MAX);
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.totals.entry(action).or_default().add(entries);
        let Some(queue) = queue else { return };
        if let Some(actions) = counts.queues.get_mut(queue) {
            actions.entry(action).or_default().add(entries);
        } else if counts.queues.len() < MOST_QUEUES {
            let actions = counts.queues.entry(queue.to_owned()).or_default();
            actions.entry(action).or_default().add(entries);
        }
    }

    /// What was counted so far.
    pub(crate) fn snapshot(&self) -> CallCounts {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_action_and_queue_and_batches_by_their_entries() {
        let counter = Counter::default();
        counter.count("DeleteMessageBatch", Some("a"), 10);
        counter.count("DeleteMessageBatch", Some("a"), 3);
        counter.count("DeleteMessage", Some("b"), 1);
        counter.count("ListQueues", None, 1);
        let counts = counter.snapshot();
        assert_eq!(counts.of("DeleteMessageBatch", "a"), 2);
        assert_eq!(counts.entries("DeleteMessageBatch", "a"), 13);
        assert_eq!(counts.of("DeleteMessage", "a"), 0);
        assert_eq!((counts.total("ListQueues"), counts.all()), (1, 4));
    }
}
