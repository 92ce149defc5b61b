//! What a FIFO queue remembers for five minutes: what was sent, so that a repetition is not sent
//! again, and what was received under which attempt id, so that a client that lost the reply can
//! ask for it again.

use super::handle::Sequence;
use super::limits;
use super::message::Receipt;
use super::time::Time;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

/// Values by key, each for five minutes from when it was noted.
#[derive(Debug)]
pub(crate) struct Memory<K, V> {
    values: HashMap<K, (Time, V)>,
    /// Oldest first: time never goes back.
    noted: VecDeque<(Time, K)>,
}

impl<K, V> Default for Memory<K, V> {
    fn default() -> Self {
        Self {
            values: HashMap::new(),
            noted: VecDeque::new(),
        }
    }
}

impl<K: Clone + Eq + Hash, V> Memory<K, V> {
    /// Remembers a value, in place of the one of the same key.
    pub(crate) fn note(&mut self, now: Time, key: K, value: V) {
        self.forget(now);
        self.noted.push_back((now, key.clone()));
        self.values.insert(key, (now, value));
    }

    /// The value of a key, if it was noted less than five minutes ago.
    pub(crate) fn get(&mut self, now: Time, key: &K) -> Option<&mut V> {
        self.forget(now);
        self.values.get_mut(key).map(|(_, value)| value)
    }

    /// All that is remembered, oldest first, with the time it was noted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Time, &K, &V)> {
        self.noted.iter().filter_map(|(noted, key)| {
            let (latest, value) = self.values.get(key)?;
            (latest == noted).then_some((*noted, key, value))
        })
    }

    fn forget(&mut self, now: Time) {
        while let Some((noted, _)) = self.noted.front()
            && noted.plus_seconds(limits::REPETITION_SECONDS) <= now
            && let Some((noted, key)) = self.noted.pop_front()
        {
            // It may have been noted anew since.
            if self
                .values
                .get(&key)
                .is_some_and(|(latest, _)| *latest == noted)
            {
                self.values.remove(&key);
            }
        }
    }
}

/// A deduplication id, with its group if it counts in its group alone.
pub(crate) type SentKey = (Option<Arc<str>>, Arc<str>);

/// What was received under one attempt id: which messages, by which of their receives, hidden until
/// when. If all of that still holds nobody touched them since.
pub(crate) type Attempt = Vec<(Sequence, u32, Time)>;

/// Both memories of a FIFO queue.
#[derive(Debug, Default)]
pub(crate) struct Repetitions {
    /// What senders were told, by deduplication id.
    pub(crate) sent: Memory<SentKey, Receipt>,
    /// What was received, by attempt id.
    pub(crate) attempts: Memory<Arc<str>, Attempt>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_remembered_for_five_minutes_from_when_it_was_noted_last() {
        let mut memory = Memory::default();
        let at = |seconds: u64| Time::from_millis(seconds * 1000);
        memory.note(at(0), "a", 1);
        memory.note(at(100), "b", 2);
        memory.note(at(200), "a", 3);
        assert_eq!(memory.get(at(399), &"b"), Some(&mut 2));
        assert_eq!(memory.get(at(400), &"b"), None);
        assert_eq!(memory.get(at(499), &"a"), Some(&mut 3));
        assert_eq!(memory.iter().count(), 1);
        assert_eq!(memory.get(at(500), &"a"), None);
        assert!(memory.values.is_empty() && memory.noted.is_empty());
    }
}
