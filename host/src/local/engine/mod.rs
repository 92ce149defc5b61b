//! The queues as a state machine: no sockets, no locks, no clock of its own.
//!
//! Every call is told what time it is, and random numbers come from a seed, so that a test can say
//! exactly what will happen. Who waits for messages is not known here: a call that makes a queue's
//! messages visible, or brings their time nearer, notes the queue in a list that
//! [`Engine::take_touched`] hands out, and whoever keeps the waiting receives wakes them.

pub(crate) mod attribute;
mod catalogue;
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

use message::{Delivery, Message, MessageId, Outgoing, Receipt};
use queue::Queue;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use refusal::{Kind, Refusal};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use time::Time;

pub(crate) use catalogue::{AttributeMap, Page};
pub(crate) use digest::md5_of_attributes;
pub(crate) use redrive::queue_of_arn;

/// A queue, for as long as it exists: one created later under the same name has another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct QueueId(u64);

/// All queues.
#[derive(Debug)]
pub(crate) struct Engine {
    queues: HashMap<QueueId, Queue>,
    names: BTreeMap<String, QueueId>,
    next_queue: u64,
    random: StdRng,
    touched: Vec<QueueId>,
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

    /// Puts a message into a queue.
    ///
    /// # Errors
    /// `InvalidParameterValue` if it is larger than the queue allows.
    pub(crate) fn send(
        &mut self,
        now: Time,
        name: &str,
        outgoing: &Outgoing,
    ) -> Result<Receipt, Refusal> {
        let id = MessageId::from_random(self.random.random());
        let (queue_id, queue) = self.at(now, name)?;
        let content = outgoing.content.clone();
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
            deduplication: outgoing.deduplication.clone(),
            sequence_number: None,
            dead_letter_source: None,
        };
        queue.put(now, message, outgoing.delay.unwrap_or(queue.settings.delay));
        self.touched.push(queue_id);
        Ok(Receipt {
            id,
            sequence_number: None,
        })
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
        let (id, queue) = self.at(now, name)?;
        queue.delete(handle)?;
        // It may have made room for messages that had to wait for some in flight to go.
        self.touched.push(id);
        Ok(())
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
}
