//! Publishing: from a message to the deliveries it comes to.

use super::message::Draft;
use super::recent::Seen;
use super::subscription::Subscription;
use super::{Engine, Topic};
use crate::local::engine::attribute::Attributes;
use crate::local::engine::time::Time;
use crate::local::sns::arn;
use crate::local::sns::delivery::{Delivery, Letter};
use crate::local::sns::limits;
use crate::local::sns::notification::Notice;
use crate::local::sns::refusal::{Kind, Refusal};
use sha2::{Digest, Sha256};

/// When something is published, and through which server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Occasion<'a> {
    pub(crate) now: Time,
    /// The URL by which the publisher reached this server.
    pub(crate) origin: &'a str,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Published {
    /// Its id; of a repetition that of the first one.
    pub(crate) message_id: String,
    /// Its place in a FIFO topic.
    pub(crate) sequence_number: Option<String>,
    /// What is to be delivered; nothing, if it was a repetition.
    pub(crate) deliveries: Vec<Delivery>,
}

/// An entry of a batch by its id, and what became of it.
pub(crate) type Entry<'a> = (&'a str, Result<Published, Refusal>);

impl Engine {
    /// Publishes a message.
    ///
    /// # Errors
    /// `NotFound` for the topic; `InvalidParameter` and `ParameterValueInvalid` for the message.
    pub(crate) fn publish(
        &mut self,
        occasion: Occasion<'_>,
        topic_arn: &str,
        draft: &Draft,
    ) -> Result<Published, Refusal> {
        let (name, topic) = self.topic(topic_arn)?;
        let fifo = arn::is_fifo(name);
        // SNS looks at these two in this order: an empty message is refused for being empty.
        draft.check_message(fifo)?;
        draft.check_call(fifo, topic)?;
        self.accept(occasion, topic_arn, draft)
    }

    /// Publishes several messages, each with an id of the publisher's, and tells of each alone.
    ///
    /// # Errors
    /// Those of batches, and what SNS refuses all messages for if one has it: then nothing is published.
    pub(crate) fn publish_batch<'a>(
        &mut self,
        occasion: Occasion<'_>,
        topic_arn: &str,
        entries: &'a [(String, Draft)],
    ) -> Result<Vec<Entry<'a>>, Refusal> {
        check_batch(entries)?;
        let (name, topic) = self.topic(topic_arn)?;
        let fifo = arn::is_fifo(name);
        for (_, draft) in entries {
            draft.check_call(fifo, topic)?;
        }
        let publish = |(id, draft): &'a (String, Draft)| {
            let outcome = draft
                .check_message(fifo)
                .and_then(|()| self.accept(occasion, topic_arn, draft));
            (id.as_str(), outcome)
        };
        Ok(entries.iter().map(publish).collect())
    }

    /// Publishes a message that was checked.
    fn accept(
        &mut self,
        occasion: Occasion<'_>,
        topic_arn: &str,
        draft: &Draft,
    ) -> Result<Published, Refusal> {
        let message_id = self.random_id();
        let (name, topic) = self.topic_mut(topic_arn)?;
        let mut message = Message {
            text: draft.text()?,
            message_id,
            sequence_number: None,
            deduplication: None,
            draft,
        };
        if arn::is_fifo(&name) {
            let id = match &draft.deduplication {
                Some(id) => id.clone(),
                None => hex(&Sha256::digest(&draft.message)),
            };
            let key = match &draft.group {
                Some(group) if topic.deduplicates_by_group() => format!("{group}\0{id}"),
                _ => id.clone(),
            };
            if let Some(first) = topic.recent.find(occasion.now, &key) {
                return Ok(Published {
                    message_id: first.message_id.clone(),
                    sequence_number: Some(first.sequence_number.clone()),
                    deliveries: Vec::new(),
                });
            }
            let sequence_number = topic.next_sequence();
            let seen = Seen {
                message_id: message.message_id.clone(),
                sequence_number: sequence_number.clone(),
            };
            topic.recent.remember(occasion.now, key, seen);
            message.sequence_number = Some(sequence_number);
            message.deduplication = Some(id);
        }
        let deliveries = message.deliveries(occasion, &name, topic);
        Ok(Published {
            message_id: message.message_id,
            sequence_number: message.sequence_number,
            deliveries,
        })
    }
}

/// A message with what SNS gives it.
struct Message<'a> {
    message_id: String,
    sequence_number: Option<String>,
    /// What a FIFO topic tells repetitions by.
    deduplication: Option<String>,
    text: String,
    draft: &'a Draft,
}

impl Message<'_> {
    fn deliveries(&self, occasion: Occasion<'_>, name: &str, topic: &Topic) -> Vec<Delivery> {
        let takes = |subscription: &&Subscription| {
            let settings = &subscription.settings;
            settings.filter.as_ref().is_none_or(|filter| {
                filter.takes(settings.scope, &self.text, &self.draft.attributes)
            })
        };
        let delivery = |subscription: &Subscription| Delivery {
            topic: arn::topic(name),
            queue: subscription.endpoint.clone(),
            dead_letters: subscription
                .settings
                .redrive
                .as_ref()
                .map(|redrive| redrive.target.clone()),
            letter: self.letter(occasion, name, topic, subscription),
        };
        topic
            .subscriptions
            .iter()
            .filter(takes)
            .map(delivery)
            .collect()
    }

    fn letter(
        &self,
        occasion: Occasion<'_>,
        name: &str,
        topic: &Topic,
        subscription: &Subscription,
    ) -> Letter {
        let (body, attributes) = if subscription.settings.raw {
            (self.text.clone(), self.draft.attributes.clone())
        } else {
            let notice = Notice {
                message_id: &self.message_id,
                sequence_number: self.sequence_number.as_deref(),
                topic_arn: &arn::topic(name),
                subscription_arn: &arn::subscription(name, &subscription.id),
                subject: self.draft.subject.as_deref(),
                text: &self.text,
                attributes: &self.draft.attributes,
                published: occasion.now,
                signature_version: topic.setting("SignatureVersion").unwrap_or_default(),
                origin: occasion.origin,
            };
            (notice.to_json(), Attributes::new())
        };
        let to_fifo = arn::is_fifo(&subscription.endpoint);
        Letter {
            body,
            attributes,
            group: self.draft.group.clone(),
            deduplication: self.deduplication.clone().filter(|_| to_fifo),
            trace_header: self.draft.trace_header.clone(),
        }
    }
}

/// The rules on batches. An entry's id is looked at before its message is.
fn check_batch(entries: &[(String, Draft)]) -> Result<(), Refusal> {
    let refuse = |kind, message: &str| Err(Refusal::new(kind, message));
    if entries.is_empty() {
        return refuse(
            Kind::EmptyBatchRequest,
            "The batch request doesn't contain any entries.",
        );
    }
    if entries.len() > limits::BATCH_ENTRIES {
        return refuse(
            Kind::TooManyEntriesInBatchRequest,
            "The batch request contains more entries than permissible.",
        );
    }
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    let is_id =
        |id: &str| (1..=limits::BATCH_ID_CHARS).contains(&id.len()) && id.bytes().all(allowed);
    for (at, (id, _)) in entries.iter().enumerate() {
        if !is_id(id) {
            let message = format!(
                "The Id \"{id}\" of a batch entry is invalid: \
                 it has 1 to 80 letters, digits, hyphens and underscores."
            );
            return refuse(Kind::InvalidBatchEntryId, &message);
        }
        if entries[..at].iter().any(|(other, _)| other == id) {
            return refuse(
                Kind::BatchEntryIdsNotDistinct,
                "Two or more batch entries in the request have the same Id.",
            );
        }
    }
    if entries.iter().map(|(_, draft)| draft.size()).sum::<usize>() > limits::MESSAGE_BYTES {
        return refuse(
            Kind::BatchRequestTooLong,
            "The length of all the batch messages put together is more than the limit.",
        );
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
