//! The queues as they are written to a file and read back.
//!
//! Times are those of the clock on the wall, so that what came due in between has come due when the
//! file is read. Receipt handles go on holding. Move tasks end with the process: what they had not
//! moved lies where it lay.

use super::message::{Content, Receipt};
use super::queue::{Queue, Stored};
use super::refusal::Refusal;
use super::settings::{self, Settings};
use super::tag::Tags;
use super::time::Time;
use super::{AttributeMap, Engine, handle::Sequence};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// All queues. Taking one copies no message's text.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Snapshot {
    queues: Vec<QueueRecord>,
}

/// One queue.
#[derive(Debug, Serialize, Deserialize)]
struct QueueRecord {
    name: String,
    created: Time,
    modified: Time,
    /// As a client would set them.
    attributes: AttributeMap,
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    tags: Tags,
    /// What its receipt handles are known by.
    tag: u64,
    /// The place of the next message.
    next: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    purged: Option<Time>,
    messages: Vec<(Sequence, Stored)>,
    /// What a FIFO queue was sent lately.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sent: Vec<SentRecord>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SentRecord {
    at: Time,
    #[serde(with = "shared_text", default)]
    group: Option<Arc<str>>,
    id: String,
    receipt: Receipt,
}

impl Engine {
    /// The queues as they are now.
    pub(crate) fn to_snapshot(&self) -> Snapshot {
        let queues = self.names.values().filter_map(|id| self.queues.get(id));
        Snapshot {
            queues: queues.map(QueueRecord::of).collect(),
        }
    }

    /// The queues as they were; new ids come from `seed`.
    ///
    /// # Errors
    /// Why they cannot have been so.
    pub(crate) fn from_snapshot(snapshot: Snapshot, seed: u64) -> Result<Self, String> {
        let mut engine = Self::new(seed);
        for record in snapshot.queues {
            let name = record.name.clone();
            if engine.names.contains_key(&name) {
                return Err(format!("it has the queue {name} twice"));
            }
            let queue = record
                .queue()
                .map_err(|reason| format!("its queue {name} cannot be: {reason}"))?;
            engine.add(queue);
        }
        Ok(engine)
    }
}

impl QueueRecord {
    fn of(queue: &Queue) -> Self {
        let value = |name: &&str| queue.settings.get(name).ok().flatten();
        let attributes = settings::NAMES
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), value(name)?)));
        let mut messages: Vec<_> = queue
            .messages
            .iter()
            .map(|(sequence, stored)| (*sequence, stored.clone()))
            .collect();
        messages.sort_unstable_by_key(|(sequence, _)| *sequence);
        let sent = queue.repetitions.sent.iter();
        Self {
            name: queue.name.clone(),
            created: queue.created,
            modified: queue.modified,
            attributes: attributes.collect(),
            tags: queue.tags.clone(),
            tag: queue.tag,
            next: queue.next,
            purged: queue.purged,
            messages,
            sent: sent
                .map(|(at, (group, id), receipt)| SentRecord {
                    at,
                    group: group.clone(),
                    id: id.to_string(),
                    receipt: *receipt,
                })
                .collect(),
        }
    }

    fn queue(self) -> Result<Queue, String> {
        let settings = settings(&self.attributes).map_err(|refusal| refusal.message)?;
        let is_fifo = settings.fifo.is_some();
        let mut queue = Queue::new(self.created, self.name, settings, self.tag);
        (queue.modified, queue.tags) = (self.modified, self.tags);
        (queue.next, queue.purged) = (self.next, self.purged);
        for (sequence, stored) in self.messages {
            if sequence.0 >= self.next || queue.messages.contains_key(&sequence) {
                return Err(format!("a message has the place {}", sequence.0));
            }
            if is_fifo && stored.message.content.group.is_none() {
                return Err("a message of a FIFO queue has no group".to_owned());
            }
            queue.store(stored.visible_at, sequence, stored);
        }
        for record in self.sent {
            let key = (record.group, record.id.into());
            queue.repetitions.sent.note(record.at, key, record.receipt);
        }
        Ok(queue)
    }
}

fn settings(attributes: &AttributeMap) -> Result<Settings, Refusal> {
    let mut settings = Settings::of_kind(attributes.contains_key("FifoQueue"));
    for (name, value) in attributes {
        settings.set(name, value)?;
    }
    settings.check()?;
    Ok(settings)
}

/// A text that is shared in memory.
pub(super) mod shared_text {
    use super::Arc;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        text: &Option<Arc<str>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        text.as_deref().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Arc<str>>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        Ok(text.map(Into::into))
    }
}

/// The content of a message, which is shared in memory.
pub(super) mod shared_content {
    use super::{Arc, Content};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        content: &Arc<Content>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        content.as_ref().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<Content>, D::Error> {
        Content::deserialize(deserializer).map(Arc::new)
    }
}
