//! The memory of messages that were finished and are perhaps still on the queue (rule 5.11).
//!
//! SQS answers a delete with an older handle with success and may delete nothing, and a delete that
//! failed may have deleted or not. When such a message is received again it is deleted without a
//! second handling.
//!
//! Invariants: at most [`FINISHED_MAX`] ids are kept, the oldest making room; none is kept longer
//! than [`FINISHED_FOR`].

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use crate::handler::MessageId;
use crate::limits::{FINISHED_FOR, FINISHED_MAX};

/// The finished ids of one queue. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Finished(Arc<Mutex<Ids>>);

impl Finished {
    /// A memory of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    fn ids(&self) -> MutexGuard<'_, Ids> {
        // A panic under the lock leaves an id in one of two places, which costs it its place.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on the message is deleted when it is received.
    pub fn remember(&self, id: &MessageId) {
        self.ids().remember(id, Instant::now());
    }

    /// Whether the message was finished.
    pub fn knows(&self, id: &MessageId) -> bool {
        self.ids().knows(id, Instant::now())
    }

    /// The message was deleted for certain.
    pub fn forget(&self, id: &MessageId) {
        self.ids().forget(id);
    }

    /// How many are remembered.
    pub fn len(&self) -> usize {
        self.ids().since.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[derive(Debug, Default)]
struct Ids {
    since: HashMap<MessageId, Instant>,
    /// In the order of their coming. An entry whose time is not the id's own is out of date.
    order: VecDeque<(Instant, MessageId)>,
}

impl Ids {
    fn remember(&mut self, id: &MessageId, now: Instant) {
        self.since.insert(id.clone(), now);
        self.order.push_back((now, id.clone()));
        while self.since.len() > FINISHED_MAX || self.order.len() > 2 * FINISHED_MAX {
            self.drop_oldest();
        }
        while let Some((at, _)) = self.order.front()
            && *at + FINISHED_FOR <= now
        {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((at, id)) = self.order.pop_front()
            && self.since.get(&id) == Some(&at)
        {
            self.since.remove(&id);
        }
    }

    fn knows(&self, id: &MessageId, now: Instant) -> bool {
        self.since
            .get(id)
            .is_some_and(|since| now < *since + FINISHED_FOR)
    }

    fn forget(&mut self, id: &MessageId) {
        self.since.remove(id);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn id(n: usize) -> MessageId {
        n.to_string().into()
    }

    // Rule 5.11.
    #[test]
    fn what_was_finished_is_known_until_it_is_forgotten() {
        let now = Instant::now();
        let mut ids = Ids::default();
        ids.remember(&id(1), now);
        assert!(ids.knows(&id(1), now));
        assert!(!ids.knows(&id(2), now));
        ids.forget(&id(1));
        assert!(!ids.knows(&id(1), now));
    }

    // Rule 5.11: bounded, however many deletes fail.
    #[test]
    fn the_memory_has_a_bound_and_the_oldest_make_room() {
        let now = Instant::now();
        let mut ids = Ids::default();
        for n in 0..FINISHED_MAX + 10 {
            ids.remember(&id(n), now);
        }
        assert_eq!(ids.since.len(), FINISHED_MAX);
        assert!(!ids.knows(&id(9), now));
        assert!(ids.knows(&id(10), now));
        for n in 0..5 * FINISHED_MAX {
            ids.remember(&id(n % 3), now + Duration::from_nanos(n as u64));
        }
        assert!(ids.order.len() <= 2 * FINISHED_MAX, "{}", ids.order.len());
        for n in 0..3 {
            assert!(ids.knows(&id(n), now), "the newest stay");
        }
    }

    // Rule 5.11: what comes again and fails again stays, counted from then.
    #[test]
    fn an_id_is_forgotten_after_its_time_counted_from_its_last_failure() {
        let now = Instant::now();
        let mut ids = Ids::default();
        ids.remember(&id(1), now);
        ids.remember(&id(2), now);
        let later = now + FINISHED_FOR / 2;
        ids.remember(&id(1), later);
        let end = now + FINISHED_FOR;
        assert!(ids.knows(&id(1), end) && !ids.knows(&id(2), end));
        ids.remember(&id(3), end);
        assert_eq!(ids.since.len(), 2, "what is over is not kept");
        assert!(!ids.knows(&id(1), later + FINISHED_FOR));
    }
}
