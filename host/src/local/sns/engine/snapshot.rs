//! The topics as they are written to a file and read back.

use super::Engine;
use super::topic::Topic;
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All that topics are: attributes, tags, subscriptions, and the deduplication ids they remember.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Snapshot {
    topics: BTreeMap<String, Topic>,
    next_subscription: u64,
}

impl Engine {
    /// The topics as they are now.
    pub(crate) fn to_snapshot(&self) -> Snapshot {
        Snapshot {
            topics: self.topics.clone(),
            next_subscription: self.next_subscription,
        }
    }

    /// The topics as they were; new ids come from `seed`.
    pub(crate) fn from_snapshot(snapshot: Snapshot, seed: u64) -> Self {
        Self {
            topics: snapshot.topics,
            next_subscription: snapshot.next_subscription,
            random: StdRng::seed_from_u64(seed),
        }
    }
}
