//! The engine's queues by name: making, finding, listing and describing them.

use super::queue::{Counts, Queue};
use super::refusal::{Kind, Refusal};
use super::settings::{self, Settings};
use super::tag::{self, Tags};
use super::time::Time;
use super::{Engine, QueueId, limits, redrive};
use rand::RngExt;
use std::collections::BTreeMap;

/// Attributes of a queue as a client writes and reads them.
pub(crate) type AttributeMap = BTreeMap<String, String>;

/// What `GetQueueAttributes` gives beside the settings.
const READ_ONLY: &[&str] = &[
    "QueueArn",
    "CreatedTimestamp",
    "LastModifiedTimestamp",
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
];

/// One page of queue names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) names: Vec<String>,
    /// Whether more come after the last of them.
    pub(crate) more: bool,
}

impl Engine {
    /// Creates a queue, or finds the one there is if it has these attributes. Tags are given to a
    /// new queue only.
    ///
    /// # Errors
    /// `QueueNameExists` if the queue there is has other attributes; `InvalidParameterValue` for a
    /// name SQS would not take, which depends on the kind of queue.
    pub(crate) fn create(
        &mut self,
        now: Time,
        name: &str,
        attributes: &AttributeMap,
        tags: Tags,
    ) -> Result<QueueId, Refusal> {
        let fifo = attributes
            .get("FifoQueue")
            .is_some_and(|value| value == "true");
        check_name(name, fifo)?;
        tag::check(&tags)?;
        if let Some(&id) = self.names.get(name) {
            let existing = &self.queue(id, name)?.settings;
            let wanted = self.apply(name, existing.clone(), attributes)?;
            if wanted == *existing {
                return Ok(id);
            }
            let message = format!(
                "A queue named {name} already exists, with a different value for an attribute."
            );
            return Err(Refusal::new(Kind::QueueNameExists, message));
        }
        let settings = self.apply(name, Settings::of_kind(fifo), attributes)?;
        let mut queue = Queue::new(now, name.to_owned(), settings, self.random.random());
        queue.tags = tags;
        Ok(self.add(queue))
    }

    /// Takes a queue in under a new id.
    pub(super) fn add(&mut self, queue: Queue) -> QueueId {
        let id = QueueId(self.next_queue);
        self.next_queue += 1;
        self.names.insert(queue.name.clone(), id);
        self.queues.insert(id, queue);
        self.changes += 1;
        id
    }

    /// The queue of this name.
    ///
    /// # Errors
    /// `QueueDoesNotExist`.
    pub(crate) fn find(&self, name: &str) -> Result<QueueId, Refusal> {
        self.names
            .get(name)
            .copied()
            .ok_or_else(|| Refusal::no_queue(name))
    }

    /// Names that begin with `prefix` and come after `after`, at most `most` of them, in order.
    pub(crate) fn list(&self, prefix: &str, after: Option<&str>, most: usize) -> Page {
        let matching = self
            .names
            .range(prefix.to_owned()..)
            .map(|(name, _)| name)
            .take_while(|name| name.starts_with(prefix));
        page(matching, after, most)
    }

    /// Names of the queues whose dead letters go to `name`; as [`Engine::list`] otherwise.
    pub(crate) fn dead_letter_sources(&self, name: &str, after: Option<&str>, most: usize) -> Page {
        page(self.sources_of(name), after, most)
    }

    /// Names of the queues whose dead letters go to `name`.
    pub(super) fn sources_of(&self, name: &str) -> impl Iterator<Item = &String> {
        let sends_there = move |queue: &Queue| {
            let policy = queue.settings.redrive.as_ref();
            policy.is_some_and(|policy| policy.target() == name)
        };
        self.names
            .iter()
            .filter(move |(_, id)| self.queues.get(id).is_some_and(sends_there))
            .map(|(name, _)| name)
    }

    /// Deletes a queue and its messages.
    pub(crate) fn delete_queue(&mut self, name: &str) -> Result<(), Refusal> {
        let id = self.find(name)?;
        self.names.remove(name);
        self.queues.remove(&id);
        self.forget_moves(name);
        self.touched.push(id);
        self.changes += 1;
        Ok(())
    }

    /// Deletes all messages of a queue.
    pub(crate) fn purge(&mut self, now: Time, name: &str) -> Result<(), Refusal> {
        self.changes += 1;
        self.at(now, name)?.1.purge(now)
    }

    /// The attributes asked for, those that are set; `All` asks for all of them.
    ///
    /// # Errors
    /// `InvalidAttributeName` for a name nobody knows.
    pub(crate) fn attributes(
        &mut self,
        now: Time,
        name: &str,
        asked: &[String],
    ) -> Result<AttributeMap, Refusal> {
        let (_, queue) = self.at(now, name)?;
        let mut found = AttributeMap::new();
        let mut add = |attribute: &str| -> Result<(), Refusal> {
            let value = match read_only(queue, attribute) {
                Some(value) => Some(value),
                None => queue.settings.get(attribute)?,
            };
            found.extend(value.map(|value| (attribute.to_owned(), value)));
            Ok(())
        };
        for attribute in asked {
            if attribute == "All" {
                READ_ONLY
                    .iter()
                    .chain(settings::NAMES)
                    .try_for_each(|attribute| add(attribute))?;
            } else {
                add(attribute)?;
            }
        }
        Ok(found)
    }

    /// Sets attributes: all of them, or with an error none.
    pub(crate) fn set_attributes(
        &mut self,
        now: Time,
        name: &str,
        attributes: &AttributeMap,
    ) -> Result<(), Refusal> {
        let id = self.find(name)?;
        let settings = self.apply(name, self.queue(id, name)?.settings.clone(), attributes)?;
        let (id, queue) = self.at(now, name)?;
        queue.settings = settings;
        queue.modified = now;
        if attributes.contains_key("DelaySeconds") {
            queue.delay_anew(now);
        }
        self.touched.push(id);
        self.changes += 1;
        Ok(())
    }

    /// `settings` with `attributes` set, if the queues there are go with that.
    fn apply(
        &self,
        name: &str,
        mut settings: Settings,
        attributes: &AttributeMap,
    ) -> Result<Settings, Refusal> {
        for (attribute, value) in attributes {
            if READ_ONLY.contains(&attribute.as_str()) {
                let message = format!("Attribute {attribute} cannot be set.");
                return Err(Refusal::new(Kind::InvalidAttributeName, message));
            }
            settings.set(attribute, value)?;
        }
        settings.check()?;
        if let (Some(policy), Some(given)) = (&settings.redrive, attributes.get("RedrivePolicy")) {
            let invalid = |reason: &str| Err(Refusal::value("RedrivePolicy", given, reason));
            let Some(target) = self
                .names
                .get(policy.target())
                .and_then(|id| self.queues.get(id))
            else {
                return invalid("The dead-letter queue does not exist");
            };
            if target.name == name {
                return invalid("A queue cannot be its own dead-letter queue");
            }
            if target.settings.fifo.is_some() != settings.fifo.is_some() {
                return invalid("The dead-letter queue must be of the same type as its source");
            }
            if target
                .settings
                .redrive_allow
                .as_ref()
                .is_some_and(|allow| !allow.allows(name))
            {
                return invalid(
                    "The dead-letter queue's RedriveAllowPolicy does not allow this queue",
                );
            }
        }
        Ok(settings)
    }
}

fn read_only(queue: &Queue, attribute: &str) -> Option<String> {
    let Counts {
        visible,
        in_flight,
        delayed,
    } = queue.counts();
    Some(match attribute {
        "QueueArn" => redrive::queue_arn(&queue.name),
        "CreatedTimestamp" => queue.created.seconds().to_string(),
        "LastModifiedTimestamp" => queue.modified.seconds().to_string(),
        "ApproximateNumberOfMessages" => visible.to_string(),
        "ApproximateNumberOfMessagesNotVisible" => in_flight.to_string(),
        "ApproximateNumberOfMessagesDelayed" => delayed.to_string(),
        _ => return None,
    })
}

fn page<'a>(names: impl Iterator<Item = &'a String>, after: Option<&str>, most: usize) -> Page {
    let mut rest = names.filter(|name| after.is_none_or(|after| name.as_str() > after));
    let names = rest.by_ref().take(most).cloned().collect();
    Page {
        names,
        more: rest.next().is_some(),
    }
}

fn check_name(name: &str, fifo: bool) -> Result<(), Refusal> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    let has_length = (1..=limits::NAME_CHARS).contains(&name.len());
    let stem = name.strip_suffix(".fifo");
    let stem = match (fifo, stem) {
        (true, Some(stem)) => stem,
        (true, None) => {
            let reason = "The name of a FIFO queue ends with .fifo";
            return Err(Refusal::value("QueueName", name, reason));
        }
        (false, Some(_)) => {
            let reason =
                "A name that ends with .fifo is for queues whose attribute FifoQueue is true";
            return Err(Refusal::value("QueueName", name, reason));
        }
        (false, None) => name,
    };
    if has_length && !stem.is_empty() && stem.bytes().all(allowed) {
        return Ok(());
    }
    let reason = "A queue's name has 1 to 80 letters, digits, hyphens and underscores";
    Err(Refusal::value("QueueName", name, reason))
}
