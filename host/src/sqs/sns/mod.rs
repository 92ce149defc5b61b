//! SNS, as far as the host speaks to it: publishing to topics and subscribing queues to them.
//!
//! [`SnsApi`] is the narrow trait, [`AwsSns`] carries it out with the AWS SDK.

mod client;
#[cfg(test)]
pub(crate) mod scripted;
mod topic;

use std::fmt;
use std::sync::Arc;

pub use client::AwsSns;
pub use topic::TopicHome;
pub(super) use topic::{create_topic, topic_arn};

use super::api::{Called, Outgoing};
use crate::error::CallError;
use crate::handler::MessageId;

/// A topic's ARN: how SNS names a topic in every call but the one that creates it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TopicArn(Arc<str>);

impl TopicArn {
    /// An ARN as it is.
    pub fn new(arn: impl Into<Arc<str>>) -> Self {
        Self(arn.into())
    }

    /// The ARN.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TopicArn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What the host reads of a topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicAttributes {
    /// How many bytes a message may have, where the topic says it. SNS's default is 256 KiB.
    pub maximum_message_size: Option<usize>,
}

/// A subscription of a topic.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subscription {
    /// It delivers. The ARN.
    Confirmed(String),
    /// The owner of the queue has to confirm it first: the queue is another account's.
    Pending,
}

/// What the host asks of SNS. Every call tries a passing failure a few times.
pub trait SnsApi: Send + Sync + 'static {
    /// Publish.
    fn publish<'a>(&'a self, topic: &'a TopicArn, message: &'a Outgoing) -> Called<'a, MessageId>;

    /// PublishBatch of 1 to 10 messages. The answer has one result per message, in order; a message
    /// that SNS answered neither way has failed.
    fn publish_batch<'a>(
        &'a self,
        topic: &'a TopicArn,
        messages: &'a [Outgoing],
    ) -> Called<'a, Vec<Result<MessageId, CallError>>>;

    /// CreateTopic, or the topic of this name that is there. A name with `.fifo` makes a FIFO topic
    /// with content-based deduplication.
    fn create_topic<'a>(&'a self, name: &'a str) -> Called<'a, TopicArn>;

    /// GetTopicAttributes.
    fn topic_attributes<'a>(&'a self, topic: &'a TopicArn) -> Called<'a, TopicAttributes>;

    /// Subscribe of a queue, by its ARN, with raw message delivery.
    fn subscribe<'a>(&'a self, topic: &'a TopicArn, queue: &'a str) -> Called<'a, Subscription>;

    /// The subscription of a queue, by its ARN, of all that ListSubscriptionsByTopic names.
    fn subscription_of<'a>(
        &'a self,
        topic: &'a TopicArn,
        queue: &'a str,
    ) -> Called<'a, Option<Subscription>>;

    /// SetSubscriptionAttributes: raw message delivery from now on.
    fn deliver_raw<'a>(&'a self, subscription: &'a str) -> Called<'a, ()>;
}
