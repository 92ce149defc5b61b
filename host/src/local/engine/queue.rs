//! One queue: its messages, and when they may be received next. What only FIFO queues do is in
//! `fifo`, and the order of what is visible in `order`.
//!
//! Invariants:
//! - every message is in exactly one of `visible` and `hidden`, under its own `visible_at`, and in
//!   `by_age`, under its `sent`;
//! - `in_flight` and `delayed` count the hidden ones by what hides them;
//! - after `catch_up(now)`, all of `hidden` lies ahead of `now` and nothing is past its retention.
//!
//! Each operation costs the logarithm of what lies in the queue at most, however much is in flight.

use super::groups::Groups;
use super::handle::{Handle, Sequence};
use super::limits;
use super::message::{Delivery, Message, Receipt, SequenceNumber};
use super::order::{Order, Spot};
use super::refusal::{Kind, Refusal};
use super::repetition::{Attempt, Repetitions};
use super::settings::Settings;
use super::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A queue of either kind.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) name: String,
    pub(crate) created: Time,
    pub(crate) modified: Time,
    pub(crate) settings: Settings,
    pub(crate) tags: BTreeMap<String, String>,
    /// What a FIFO queue remembers; a standard queue nothing.
    pub(super) repetitions: Repetitions,
    pub(super) tag: u64,
    pub(super) next: u64,
    pub(super) purged: Option<Time>,
    pub(super) messages: HashMap<Sequence, Stored>,
    visible: Order,
    pub(super) hidden: BTreeSet<(Time, Sequence)>,
    by_age: BTreeSet<(Time, Sequence)>,
    in_flight: usize,
    delayed: usize,
}

/// A message that lies in a queue, and how it lies there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Stored {
    pub(super) message: Message,
    pub(super) state: State,
    pub(super) visible_at: Time,
    /// How often it was received in this queue: what handles and the redrive policy go by.
    pub(super) receives: u32,
    /// When it was received last, from where the 12 hours run.
    pub(super) received: Time,
}

impl Stored {
    fn spot(&self, sequence: Sequence) -> Spot<'_> {
        Spot {
            sequence,
            since: self.visible_at,
            group: self.message.content.group.as_ref(),
        }
    }
}

/// What keeps a message from being received, if anything does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum State {
    Visible,
    Delayed,
    InFlight,
}

/// What a receive took out.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// For the receiver.
    pub(crate) deliveries: Vec<Delivery>,
    /// The same, as the queue knows them.
    pub(crate) received: Attempt,
    /// Received too often already: no longer in the queue, and due at its dead-letter queue.
    pub(crate) dead: Vec<Message>,
}

/// How many messages are in which state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) visible: usize,
    pub(crate) in_flight: usize,
    pub(crate) delayed: usize,
}

impl Queue {
    /// An empty queue; `tag` is random.
    pub(crate) fn new(now: Time, name: String, settings: Settings, tag: u64) -> Self {
        let visible = if settings.fifo.is_some() {
            Order::Fifo(Groups::default())
        } else {
            Order::Standard(BTreeSet::new())
        };
        Self {
            name,
            created: now,
            modified: now,
            settings,
            tags: BTreeMap::new(),
            repetitions: Repetitions::default(),
            tag,
            next: 0,
            purged: None,
            messages: HashMap::new(),
            visible,
            hidden: BTreeSet::new(),
            by_age: BTreeSet::new(),
            in_flight: 0,
            delayed: 0,
        }
    }

    /// Lets happen what time alone brings: hidden messages come back, old ones go.
    pub(crate) fn catch_up(&mut self, now: Time) {
        while let Some(&(at, sequence)) = self.hidden.first()
            && at <= now
        {
            self.place(at, sequence, State::Visible, at);
        }
        while let Some(&(sent, sequence)) = self.by_age.first()
            && sent.plus_seconds(self.settings.retention) <= now
        {
            self.remove(now, sequence);
        }
    }

    /// Puts a message in, hidden for `delay` seconds first. In a FIFO queue it gets its number.
    pub(crate) fn put(&mut self, now: Time, mut message: Message, delay: u32) -> Receipt {
        let sequence = Sequence(self.next);
        self.next += 1;
        let fifo = self.settings.fifo.is_some();
        message.sequence_number = fifo.then(|| SequenceNumber::of(sequence));
        let receipt = Receipt {
            id: message.id,
            sequence_number: message.sequence_number,
        };
        let (state, visible_at) = if delay > 0 {
            (State::Delayed, now.plus_seconds(delay))
        } else {
            (State::Visible, now)
        };
        let stored = Stored {
            message,
            state,
            visible_at,
            receives: 0,
            received: now,
        };
        self.store(now, sequence, stored);
        receipt
    }

    /// Takes a message in as it is.
    pub(super) fn store(&mut self, now: Time, sequence: Sequence, stored: Stored) {
        let (state, visible_at) = (stored.state, stored.visible_at);
        self.by_age.insert((stored.message.sent, sequence));
        self.messages.insert(sequence, stored);
        self.place(now, sequence, state, visible_at);
    }

    /// Takes up to `most` visible messages and hides them for `visibility` seconds. Those received
    /// `dead_after` times already are taken out for good instead, and do not count.
    ///
    /// # Errors
    /// `OverLimit` when something is visible but as much is in flight as may be. A FIFO queue gives
    /// nothing then, and says nothing, as on AWS.
    pub(crate) fn receive(
        &mut self,
        now: Time,
        most: usize,
        visibility: u32,
        dead_after: Option<u32>,
    ) -> Result<Taken, Refusal> {
        let room = limits::IN_FLIGHT.saturating_sub(self.in_flight);
        let fifo = self.settings.fifo.is_some();
        if room == 0 && !fifo && self.visible.takeable() > 0 {
            let message = format!(
                "{} messages are in flight, the most a queue may have.",
                self.in_flight
            );
            return Err(Refusal::new(Kind::OverLimit, message));
        }
        let most = most.min(room);
        let until = now.plus_seconds(visibility);
        let mut taken = Taken::default();
        let mut group = None;
        // A message goes back only when the receive is complete: with a visibility of 0 it stays
        // visible, and the same receive would meet it again.
        let mut back = Vec::new();
        while taken.deliveries.len() < most
            && let Some((next_group, sequence)) = self.visible.next(group.as_ref())
        {
            group = next_group;
            self.unplace(now, sequence);
            let Some(stored) = self.messages.get_mut(&sequence) else {
                continue;
            };
            if dead_after.is_some_and(|count| stored.receives >= count) {
                taken.dead.extend(self.remove(now, sequence));
                continue;
            }
            stored.receives += 1;
            stored.received = now;
            stored.message.receives += 1;
            stored.message.first_received.get_or_insert(now);
            let delivery = stored.message.clone();
            let receive = stored.receives;
            taken.deliveries.push(Delivery {
                message: delivery,
                handle: self.handle(sequence, receive),
            });
            back.push((sequence, receive, until));
        }
        let state = if visibility == 0 {
            State::Visible
        } else {
            State::InFlight
        };
        for (sequence, _, _) in &back {
            self.place(now, *sequence, state, until);
        }
        taken.received = back;
        Ok(taken)
    }

    /// Deletes a message, unless it was received again since this handle was given.
    ///
    /// # Errors
    /// `ReceiptHandleIsInvalid` for a handle this queue never gave; of a FIFO queue
    /// `ReceiptHandleExpired` when the message is no longer in flight by it, as order would be lost
    /// unnoticed. That the message is gone, or in a standard queue has a newer handle, is no error.
    pub(crate) fn delete(&mut self, now: Time, text: &str) -> Result<(), Refusal> {
        let handle = self.own(text)?;
        let Some(stored) = self.messages.get(&handle.sequence) else {
            return Ok(());
        };
        let is_newest = stored.receives == handle.receive;
        if self.settings.fifo.is_some() && !(is_newest && stored.state == State::InFlight) {
            return Err(Refusal::expired_handle(text));
        }
        if is_newest {
            self.remove(now, handle.sequence);
        }
        Ok(())
    }

    /// Hides a message in flight for `timeout` seconds from now on.
    ///
    /// # Errors
    /// `ReceiptHandleIsInvalid` for a handle this queue never gave, `InvalidParameterValue` when the
    /// message is gone, was received again since, or would be hidden for more than 12 hours in all,
    /// `MessageNotInflight` when it is visible again.
    pub(crate) fn change_visibility(
        &mut self,
        now: Time,
        text: &str,
        timeout: u32,
    ) -> Result<(), Refusal> {
        let handle = self.own(text)?;
        let Some(stored) = self.messages.get(&handle.sequence) else {
            return Err(Refusal::value(
                "ReceiptHandle",
                text,
                "The message does not exist any more",
            ));
        };
        if stored.receives != handle.receive {
            return Err(Refusal::value(
                "ReceiptHandle",
                text,
                "The message has been received again since",
            ));
        }
        if stored.state != State::InFlight {
            let message =
                "The message referred to is not in flight: its visibility timeout has passed.";
            return Err(Refusal::new(Kind::MessageNotInflight, message));
        }
        let total = now.seconds_since(stored.received) + u64::from(timeout);
        let most = *limits::VISIBILITY_SECONDS.end();
        if total > u64::from(most) {
            let reason = format!(
                "Total VisibilityTimeout for the message is beyond the limit [{most} seconds]"
            );
            return Err(Refusal::value("VisibilityTimeout", timeout, reason));
        }
        let state = if timeout == 0 {
            State::Visible
        } else {
            State::InFlight
        };
        self.place(now, handle.sequence, state, now.plus_seconds(timeout));
        Ok(())
    }

    /// Deletes all messages, those in flight too.
    ///
    /// # Errors
    /// `PurgeQueueInProgress` within 60 seconds of the last time.
    pub(crate) fn purge(&mut self, now: Time) -> Result<(), Refusal> {
        if self
            .purged
            .is_some_and(|last| now.seconds_since(last) < limits::PURGE_INTERVAL)
        {
            let message = format!(
                "Only one PurgeQueue operation on {} is allowed every {} seconds.",
                self.name,
                limits::PURGE_INTERVAL
            );
            return Err(Refusal::new(Kind::PurgeQueueInProgress, message));
        }
        self.purged = Some(now);
        self.messages.clear();
        self.visible.clear();
        self.hidden.clear();
        self.by_age.clear();
        (self.in_flight, self.delayed) = (0, 0);
        Ok(())
    }

    /// How many messages are in which state. In a FIFO queue those are visible, too, that wait for
    /// others of their group to be done.
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            visible: self.messages.len() - self.in_flight - self.delayed,
            in_flight: self.in_flight,
            delayed: self.delayed,
        }
    }

    /// How many messages a receive would find now.
    pub(crate) fn takeable(&self) -> usize {
        self.visible.takeable()
    }

    /// The message that a receive would find first.
    pub(crate) fn first(&self) -> Option<(Sequence, &Message)> {
        let (_, sequence) = self.visible.next(None)?;
        Some((sequence, &self.messages.get(&sequence)?.message))
    }

    /// When the next hidden message becomes visible, if nothing else happens.
    pub(crate) fn next_wake(&self) -> Option<Time> {
        self.hidden.first().map(|&(at, _)| at)
    }

    fn own(&self, text: &str) -> Result<Handle, Refusal> {
        match Handle::decode(text) {
            Some(handle) if handle.queue_tag == self.tag && handle.sequence.0 < self.next => {
                Ok(handle)
            }
            _ => Err(Refusal::bad_handle(text)),
        }
    }

    /// The handle of a receive of a message.
    pub(super) fn handle(&self, sequence: Sequence, receive: u32) -> String {
        let handle = Handle {
            queue_tag: self.tag,
            sequence,
            receive,
        };
        handle.encode()
    }

    /// Moves a message to where its new state belongs.
    pub(super) fn place(&mut self, now: Time, sequence: Sequence, state: State, visible_at: Time) {
        self.unplace(now, sequence);
        let Some(stored) = self.messages.get_mut(&sequence) else {
            return;
        };
        (stored.state, stored.visible_at) = (state, visible_at);
        let (key, spot) = ((visible_at, sequence), stored.spot(sequence));
        match state {
            State::Visible => self.visible.show(now, spot),
            State::Delayed => self.delayed += usize::from(self.hidden.insert(key)),
            State::InFlight => {
                if self.hidden.insert(key) {
                    self.in_flight += 1;
                    self.visible.hold(now, spot.group);
                }
            }
        }
    }

    /// Takes a message out for good.
    pub(crate) fn remove(&mut self, now: Time, sequence: Sequence) -> Option<Message> {
        self.unplace(now, sequence);
        let stored = self.messages.remove(&sequence)?;
        self.by_age.remove(&(stored.message.sent, sequence));
        Some(stored.message)
    }

    /// Takes a message out of the order it is in; of no effect on one that is in none.
    fn unplace(&mut self, now: Time, sequence: Sequence) {
        let Some(stored) = self.messages.get(&sequence) else {
            return;
        };
        let (key, spot) = ((stored.visible_at, sequence), stored.spot(sequence));
        match stored.state {
            State::Visible => self.visible.withdraw(now, spot),
            State::Delayed => self.delayed -= usize::from(self.hidden.remove(&key)),
            State::InFlight => {
                if self.hidden.remove(&key) {
                    self.in_flight -= 1;
                    self.visible.release(now, spot.group);
                }
            }
        }
    }
}
