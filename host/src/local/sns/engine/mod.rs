//! The topics as a state machine: no sockets, no locks, no clock of its own.
//!
//! Every call is told what time it is, and random numbers come from a seed, so that a test can say
//! exactly what will happen. The queues are not known here: publishing gives the deliveries to make,
//! and whoever asked for it makes them.

mod attributes;
mod catalogue;
mod message;
mod permission;
mod publish;
mod recent;
mod settings;
mod snapshot;
mod subscription;
mod tags;
mod topic;

#[cfg(test)]
mod tests;

use super::arn;
use super::refusal::Refusal;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;
use topic::Topic;

pub(crate) use catalogue::{Page, SubscriptionEntry};
pub(crate) use message::Draft;
pub(crate) use publish::{Occasion, Published};
pub(crate) use snapshot::Snapshot;

/// Attributes of a topic or of a subscription as a client writes and reads them, and tags.
pub(crate) type Pairs = BTreeMap<String, String>;

/// All topics and their subscriptions.
#[derive(Debug)]
pub(crate) struct Engine {
    topics: BTreeMap<String, Topic>,
    /// The number of the next subscription: listings go by it.
    next_subscription: u64,
    random: StdRng,
}

impl Engine {
    /// No topics yet. The same seed gives the same ids.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            topics: BTreeMap::new(),
            next_subscription: 0,
            random: StdRng::seed_from_u64(seed),
        }
    }

    /// The topic with this ARN, and its name.
    fn topic(&self, topic_arn: &str) -> Result<(&str, &Topic), Refusal> {
        let name = arn::topic_name("TopicArn", topic_arn)?;
        self.topics
            .get_key_value(name)
            .map(|(name, topic)| (name.as_str(), topic))
            .ok_or_else(Refusal::no_topic)
    }

    fn topic_mut(&mut self, topic_arn: &str) -> Result<(String, &mut Topic), Refusal> {
        let name = arn::topic_name("TopicArn", topic_arn)?;
        let topic = self.topics.get_mut(name).ok_or_else(Refusal::no_topic)?;
        Ok((name.to_owned(), topic))
    }

    fn random_id(&mut self) -> String {
        let bits = self.random.random();
        crate::local::engine::message::MessageId::from_random(bits).to_string()
    }
}
