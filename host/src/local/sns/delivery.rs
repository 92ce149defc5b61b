//! Messages on their way from a topic to the queues that subscribed.

use super::access;
use crate::local::engine::attribute::Attributes;

/// A message as a queue is handed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Letter {
    pub(crate) body: String,
    pub(crate) attributes: Attributes,
    /// The message's group.
    pub(crate) group: Option<String>,
    /// What a FIFO queue tells repetitions by; never set for a standard queue.
    pub(crate) deduplication: Option<String>,
    /// The X-Ray trace header that came with the message.
    pub(crate) trace_header: Option<String>,
}

/// A letter and where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// The ARN of the topic it comes from.
    pub(crate) topic: String,
    /// The ARN of the queue.
    pub(crate) queue: String,
    /// The ARN of the queue that takes what the first cannot.
    pub(crate) dead_letters: Option<String>,
    pub(crate) letter: Letter,
}

/// Why a queue was not handed a letter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Undelivered {
    /// No queue has this ARN.
    #[error("there is no such queue")]
    NoQueue,
    /// The queue's access policy does not let SNS send for this topic.
    #[error("its access policy does not let sns.amazonaws.com send for this topic")]
    NotAllowed,
    /// The queue does not take such a message.
    #[error("{0}")]
    Refused(String),
}

/// The queues of this server, as topics see them.
pub(crate) trait Queues {
    /// Puts a letter into the queue with this ARN, if the queue has no access policy or `allows` says
    /// yes to the one it has.
    fn put(
        &self,
        queue: &str,
        letter: &Letter,
        allows: &dyn Fn(&str) -> bool,
    ) -> Result<(), Undelivered>;
}

/// Delivers: to the queue, else to its subscription's dead-letter queue. SNS tries again only what
/// may mend itself, and here nothing does: what is wrong with a queue is wrong for good.
pub(crate) fn deliver(queues: &impl Queues, delivery: &Delivery) {
    let put = |queue: &str| {
        let allows = |policy: &str| access::allows(policy, queue, &delivery.topic);
        queues.put(queue, &delivery.letter, &allows)
    };
    let Err(reason) = put(&delivery.queue) else {
        return;
    };
    let (topic, queue) = (&delivery.topic, &delivery.queue);
    match delivery.dead_letters.as_deref() {
        None => tracing::warn!(%topic, %queue, %reason, "local SNS: a message was not delivered"),
        Some(target) => match put(target) {
            Ok(()) => tracing::warn!(
                %topic, %queue, %reason,
                "local SNS: a message went to the subscription's dead-letter queue"
            ),
            Err(second) => tracing::warn!(
                %topic, %queue, %reason, dead_letters = %target, dead_letters_reason = %second,
                "local SNS: a message was not delivered, and its dead-letter queue did not take it"
            ),
        },
    }
}
