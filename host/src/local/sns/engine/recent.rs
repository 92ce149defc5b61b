//! What a FIFO topic remembers of the last five minutes, so that a repetition is not delivered.

use crate::local::engine::time::Time;
use crate::local::sns::limits;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// What was answered to a message that may come again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) message_id: String,
    pub(super) sequence_number: String,
}

/// The messages of the last five minutes by what they are told apart by.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Recent {
    seen: BTreeMap<String, Seen>,
    /// When each was sent, in milliseconds, the oldest first.
    order: VecDeque<(u64, String)>,
}

impl Recent {
    /// The message that was sent with this key within the last five minutes.
    pub(super) fn find(&mut self, now: Time, key: &str) -> Option<&Seen> {
        let oldest = now.millis().saturating_sub(limits::DEDUPLICATION_MILLIS);
        while let Some((_, key)) = self.order.pop_front_if(|(at, _)| *at <= oldest) {
            self.seen.remove(&key);
        }
        self.seen.get(key)
    }

    /// Remembers a message under a key that [`Recent::find`] did not find.
    pub(super) fn remember(&mut self, now: Time, key: String, seen: Seen) {
        self.order.push_back((now.millis(), key.clone()));
        self.seen.insert(key, seen);
    }
}
