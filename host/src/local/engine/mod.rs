//! The queues as a state machine: no sockets, no locks, no clock of its own.
//!
//! Every call is told what time it is, and random numbers come from a seed, so that a test can say
//! exactly what will happen. Who waits for messages is not known here: a call that makes a queue's
//! messages visible, or brings their time nearer, notes the queue in a list that
//! [`Engine::take_touched`] hands out, and whoever keeps the waiting receives wakes them.

pub(crate) mod attribute;
mod catalogue;
mod digest;
mod fifo;
mod groups;
mod handle;
pub(crate) mod limits;
pub(crate) mod message;
mod moves;
mod order;
mod permission;
mod queue;
mod redrive;
pub(crate) mod refusal;
mod repetition;
mod settings;
mod snapshot;
mod tag;
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
pub(crate) use moves::MoveTask;
pub(crate) use redrive::{queue_arn, queue_of_arn};
pub(crate) use snapshot::Snapshot;
pub(crate) use tag::Tags;

/// A queue, for as long as it exists: one created later under the same name has another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct QueueId(u64);

/// All queues.
#[derive(Debug)]
pub(crate) struct Engine {
    queues: HashMap<QueueId, Queue>,
    names: BTreeMap<String, QueueId>,
    next_queue: u64,
    /// Oldest first; of each queue the last few.
    moves: Vec<MoveTask>,
    random: StdRng,
    touched: Vec<QueueId>,
    changes: u64,
}

impl Engine {
    /// No queues yet. The same seed gives the same ids and handles.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            queues: HashMap::new(),
            names: BTreeMap::new(),
            next_queue: 0,
            moves: Vec::new(),
            random: StdRng::seed_from_u64(seed),
            touched: Vec::new(),
            changes: 0,
        }
    }

    /// Puts a message into a queue. A FIFO queue that was sent it less than five minutes ago already
    /// answers as it did then, and puts nothing in.
    ///
    /// # Errors
    /// `InvalidParameterValue` if it is larger than the queue allows; see [`Queue::check_kind`] for
    /// the others.
    pub(crate) fn send(
        &mut self,
        now: Time,
        name: &str,
        outgoing: &Outgoing,
    ) -> Result<Receipt, Refusal> {
        let id = MessageId::from_random(self.random.random());
        let (queue_id, queue) = self.at(now, name)?;
        queue.check_kind(outgoing)?;
        let content = outgoing.content.clone();
        let (size, most) = (content.size(), queue.settings.message_bytes);
        if size > usize::try_from(most).unwrap_or(usize::MAX) {
            let message = format!(
                "One or more parameters are invalid. Reason: The message has {size} bytes with its attributes. \
                 It must be shorter than {most} bytes, the queue's MaximumMessageSize, or just as long."
            );
            return Err(Refusal::new(Kind::InvalidParameterValue, message));
        }
        let repetition = queue.repetition_key(outgoing);
        if let Some(key) = &repetition
            && let Some(first) = queue.sent_before(now, key)
        {
            return Ok(first);
        }
        let message = Message {
            id,
            content,
            sent: now,
            receives: 0,
            first_received: None,
            deduplication: repetition.as_ref().map(|(_, id)| id.clone()),
            sequence_number: None,
            dead_letter_source: None,
        };
        let receipt = queue.put(now, message, queue.delay_of(outgoing));
        if let Some(key) = repetition {
            queue.repetitions.sent.note(now, key, receipt);
        }
        self.touched.push(queue_id);
        self.changes += 1;
        Ok(receipt)
    }

    /// Whether all of a batch have what a FIFO queue wants of every message: SQS refuses the whole
    /// batch otherwise.
    ///
    /// # Errors
    /// `InvalidParameterValue`, `QueueDoesNotExist`.
    pub(crate) fn check_batch<'a>(
        &self,
        name: &str,
        batch: impl IntoIterator<Item = &'a Outgoing>,
    ) -> Result<(), Refusal> {
        let queue = self.queue(self.find(name)?, name)?;
        if queue.settings.fifo.is_none() {
            return Ok(());
        }
        batch.into_iter().try_for_each(|outgoing| {
            let without_delay = Outgoing {
                delay: None,
                ..outgoing.clone()
            };
            let checked = queue.check_kind(&without_delay);
            checked.map_err(|refusal| Refusal::new(Kind::InvalidParameterValue, refusal.message))
        })
    }

    /// Receives up to `most` messages. Those received too often already go to the dead-letter queue
    /// on the way, as on AWS, where only the attempt to receive moves them. A FIFO queue remembers
    /// what it gave under an `attempt` id, for [`Engine::receive_again`].
    ///
    /// # Errors
    /// `OverLimit`, see [`Queue::receive`].
    pub(crate) fn receive(
        &mut self,
        now: Time,
        name: &str,
        most: usize,
        visibility: Option<u32>,
        attempt: Option<&Arc<str>>,
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
        if let Some(attempt) = attempt {
            queue.note_attempt(now, attempt.clone(), taken.received);
        }
        if !taken.deliveries.is_empty() {
            self.touched.push(id);
            self.changes += 1;
        }
        if let (false, Some(target)) = (taken.dead.is_empty(), dead_letters) {
            self.bury(now, taken.dead, &redrive::queue_arn(name), target);
        }
        Ok(taken.deliveries)
    }

    /// What a receive with this attempt id got less than five minutes ago, if it can be given again;
    /// see [`Queue::receive_again`].
    pub(crate) fn receive_again(
        &mut self,
        now: Time,
        name: &str,
        visibility: Option<u32>,
        attempt: &Arc<str>,
    ) -> Result<Option<Vec<Delivery>>, Refusal> {
        let (id, queue) = self.at(now, name)?;
        let visibility = visibility.unwrap_or(queue.settings.visibility);
        let again = queue.receive_again(now, attempt, visibility);
        if again.is_some() {
            self.touched.push(id);
            self.changes += 1;
        }
        Ok(again)
    }

    /// Moves messages to a dead-letter queue: the same messages, as old as they are. Only in a FIFO
    /// queue they begin anew, and are known by their id, as two of them may have had the same
    /// deduplication id, one after the other.
    fn bury(&mut self, now: Time, dead: Vec<Message>, source: &str, target: QueueId) {
        let Some(queue) = self.queues.get_mut(&target) else {
            return;
        };
        let source: Arc<str> = source.into();
        let is_fifo = queue.settings.fifo.is_some();
        for mut message in dead {
            message.dead_letter_source = Some(source.clone());
            if is_fifo {
                message.sent = now;
                message.deduplication = Some(message.id.to_string().into());
            }
            queue.put(now, message, 0);
        }
        self.touched.push(target);
        self.changes += 1;
    }

    /// Deletes a message; see [`Queue::delete`].
    pub(crate) fn delete(&mut self, now: Time, name: &str, handle: &str) -> Result<(), Refusal> {
        let (id, queue) = self.at(now, name)?;
        queue.delete(now, handle)?;
        // It may have made room for messages that had to wait for some in flight to go.
        self.touched.push(id);
        self.changes += 1;
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
        self.changes += 1;
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
    pub(crate) fn takeable(&mut self, now: Time, id: QueueId) -> usize {
        self.go_on(now);
        self.queues.get_mut(&id).map_or(0, |queue| {
            queue.catch_up(now);
            queue.takeable()
        })
    }

    /// When a queue may have messages to receive that has none now, if nothing else happens.
    pub(crate) fn next_wake(&self, id: QueueId) -> Option<Time> {
        let queue = self.queues.get(&id)?;
        let times = [queue.next_wake(), self.next_move()];
        times.into_iter().flatten().min()
    }

    /// Rises with everything that is done, so that one can tell whether anything was.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// The queues on which a waiting receive should look again.
    pub(crate) fn take_touched(&mut self) -> Vec<QueueId> {
        std::mem::take(&mut self.touched)
    }

    /// The queue, with everything done that time alone brings.
    fn at(&mut self, now: Time, name: &str) -> Result<(QueueId, &mut Queue), Refusal> {
        self.go_on(now);
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
