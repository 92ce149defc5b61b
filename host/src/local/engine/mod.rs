//! The queues as a state machine: no sockets, no locks, no clock of its own.
//!
//! Every call is told what time it is, and random numbers come from a seed, so that a test can say
//! exactly what will happen. Who waits for messages is not known here: a call that makes a queue's
//! messages visible, or brings their time nearer, notes the queue in a list that
//! [`Engine::take_touched`] hands out, and whoever keeps the waiting receives wakes them.

pub(crate) mod attribute;
mod digest;
mod handle;
pub(crate) mod limits;
pub(crate) mod message;
mod queue;
mod redrive;
pub(crate) mod refusal;
mod settings;
pub(crate) mod time;

#[cfg(test)]
mod tests;

use message::{Content, Delivery, Message, MessageId};
use queue::{Counts, Queue};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use refusal::{Kind, Refusal};
use settings::Settings;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use time::Time;

pub(crate) use digest::md5_of_attributes;

/// A queue, for as long as it exists: one created later under the same name has another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct QueueId(u64);

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

/// All queues.
#[derive(Debug)]
pub(crate) struct Engine {
    queues: HashMap<QueueId, Queue>,
    names: BTreeMap<String, QueueId>,
    next_queue: u64,
    random: StdRng,
    touched: Vec<QueueId>,
}

/// One page of queue names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) names: Vec<String>,
    /// Whether more come after the last of them.
    pub(crate) more: bool,
}

impl Engine {
    /// No queues yet. The same seed gives the same ids and handles.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            queues: HashMap::new(),
            names: BTreeMap::new(),
            next_queue: 0,
            random: StdRng::seed_from_u64(seed),
            touched: Vec::new(),
        }
    }

    /// Creates a queue, or finds the one there is if it has these attributes.
    ///
    /// # Errors
    /// `QueueNameExists` if the queue there is has other attributes; `InvalidParameterValue` for a
    /// name SQS would not take; `UnsupportedOperation` for a FIFO queue.
    pub(crate) fn create(
        &mut self,
        now: Time,
        name: &str,
        attributes: &AttributeMap,
    ) -> Result<QueueId, Refusal> {
        check_name(name)?;
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
        let settings = self.apply(name, Settings::default(), attributes)?;
        let id = QueueId(self.next_queue);
        self.next_queue += 1;
        let tag = self.random.random();
        self.queues
            .insert(id, Queue::new(now, name.to_owned(), settings, tag));
        self.names.insert(name.to_owned(), id);
        Ok(id)
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
        let sends_here = |queue: &Queue| {
            queue
                .settings
                .redrive
                .as_ref()
                .is_some_and(|policy| policy.target() == name)
        };
        let matching = self
            .names
            .iter()
            .filter(|(_, id)| self.queues.get(id).is_some_and(sends_here))
            .map(|(name, _)| name);
        page(matching, after, most)
    }

    /// Deletes a queue and its messages.
    pub(crate) fn delete_queue(&mut self, name: &str) -> Result<(), Refusal> {
        let id = self.find(name)?;
        self.names.remove(name);
        self.queues.remove(&id);
        self.touched.push(id);
        Ok(())
    }

    /// Deletes all messages of a queue.
    pub(crate) fn purge(&mut self, now: Time, name: &str) -> Result<(), Refusal> {
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
        let (_, queue) = self.at(now, name)?;
        queue.settings = settings;
        queue.modified = now;
        Ok(())
    }

    /// Puts a message into a queue and gives its id. `delay` overrides the queue's own.
    ///
    /// # Errors
    /// `InvalidParameterValue` if it is larger than the queue allows.
    pub(crate) fn send(
        &mut self,
        now: Time,
        name: &str,
        content: Arc<Content>,
        delay: Option<u32>,
    ) -> Result<MessageId, Refusal> {
        let id = MessageId::from_random(self.random.random());
        let (queue_id, queue) = self.at(now, name)?;
        let (size, most) = (content.size(), queue.settings.message_bytes);
        if size > usize::try_from(most).unwrap_or(usize::MAX) {
            let message = format!(
                "One or more parameters are invalid. Reason: The message has {size} bytes with its attributes. \
                 It must be shorter than {most} bytes, the queue's MaximumMessageSize, or just as long."
            );
            return Err(Refusal::new(Kind::InvalidParameterValue, message));
        }
        let message = Message {
            id,
            content,
            sent: now,
            receives: 0,
            first_received: None,
            dead_letter_source: None,
        };
        queue.put(now, message, delay.unwrap_or(queue.settings.delay));
        self.touched.push(queue_id);
        Ok(id)
    }

    /// Receives up to `most` messages. Those received too often already go to the dead-letter queue
    /// on the way, as on AWS, where only the attempt to receive moves them.
    ///
    /// # Errors
    /// `OverLimit`, see [`Queue::receive`].
    pub(crate) fn receive(
        &mut self,
        now: Time,
        name: &str,
        most: usize,
        visibility: Option<u32>,
    ) -> Result<Vec<Delivery>, Refusal> {
        let (id, queue) = self.at(now, name)?;
        let visibility = visibility.unwrap_or(queue.settings.visibility);
        let redrive = queue.settings.redrive.clone();
        // A dead-letter queue may be deleted under its source: then there is nowhere to go, and a
        // message delivered once more is better than a message lost.
        let dead_letters = redrive
            .as_ref()
            .and_then(|policy| self.names.get(policy.target()).copied());
        let dead_after = redrive
            .filter(|_| dead_letters.is_some())
            .map(|policy| policy.max_receive_count);
        let (_, queue) = self.at(now, name)?;
        let taken = queue.receive(now, most, visibility, dead_after)?;
        if !taken.deliveries.is_empty() {
            self.touched.push(id);
        }
        if let (false, Some(target)) = (taken.dead.is_empty(), dead_letters) {
            self.bury(now, taken.dead, &redrive::queue_arn(name), target);
        }
        Ok(taken.deliveries)
    }

    /// Moves messages to a dead-letter queue: the same messages, as old as they are.
    fn bury(&mut self, now: Time, dead: Vec<Message>, source: &str, target: QueueId) {
        let Some(queue) = self.queues.get_mut(&target) else {
            return;
        };
        let source: Arc<str> = source.into();
        for message in dead {
            let dead_letter_source = Some(source.clone());
            queue.put(
                now,
                Message {
                    dead_letter_source,
                    ..message
                },
                0,
            );
        }
        self.touched.push(target);
    }

    /// Deletes a message; see [`Queue::delete`].
    pub(crate) fn delete(&mut self, now: Time, name: &str, handle: &str) -> Result<(), Refusal> {
        self.at(now, name)?.1.delete(handle)
    }

    /// Changes how long a message in flight stays hidden; see [`Queue::change_visibility`].
    pub(crate) fn change_visibility(
        &mut self,
        now: Time,
        name: &str,
        handle: &str,
        timeout: u32,
    ) -> Result<(), Refusal> {
        let (id, queue) = self.at(now, name)?;
        queue.change_visibility(now, handle, timeout)?;
        self.touched.push(id);
        Ok(())
    }

    /// Whether the queue has not been deleted.
    pub(crate) fn exists(&self, id: QueueId) -> bool {
        self.queues.contains_key(&id)
    }

    /// Seconds a receive waits that does not say how long.
    pub(crate) fn default_wait(&self, id: QueueId) -> u32 {
        self.queues.get(&id).map_or(0, |queue| queue.settings.wait)
    }

    /// How many messages a receive would find now; nothing of a queue that is gone.
    pub(crate) fn visible(&mut self, now: Time, id: QueueId) -> usize {
        self.queues.get_mut(&id).map_or(0, |queue| {
            queue.catch_up(now);
            queue.counts().visible
        })
    }

    /// When a queue will have messages to receive that has none now, if nothing else happens.
    pub(crate) fn next_wake(&self, id: QueueId) -> Option<Time> {
        self.queues.get(&id).and_then(Queue::next_wake)
    }

    /// The queues on which a waiting receive should look again.
    pub(crate) fn take_touched(&mut self) -> Vec<QueueId> {
        std::mem::take(&mut self.touched)
    }

    /// The queue, with everything done that time alone brings.
    fn at(&mut self, now: Time, name: &str) -> Result<(QueueId, &mut Queue), Refusal> {
        let id = self.find(name)?;
        let queue = self
            .queues
            .get_mut(&id)
            .ok_or_else(|| Refusal::no_queue(name))?;
        queue.catch_up(now);
        Ok((id, queue))
    }

    fn queue(&self, id: QueueId, name: &str) -> Result<&Queue, Refusal> {
        self.queues.get(&id).ok_or_else(|| Refusal::no_queue(name))
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

fn check_name(name: &str) -> Result<(), Refusal> {
    if name.ends_with(".fifo") {
        let message = format!("QueueName {name}: this server has no FIFO queues.");
        return Err(Refusal::new(Kind::UnsupportedOperation, message));
    }
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if (1..=limits::NAME_CHARS).contains(&name.len()) && name.bytes().all(allowed) {
        return Ok(());
    }
    let reason = "A queue's name has 1 to 80 letters, digits, hyphens and underscores";
    Err(Refusal::value("QueueName", name, reason))
}
