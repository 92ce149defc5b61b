//! One standard queue: its messages, ordered by when they may be received next.
//!
//! Invariants:
//! - every message is in exactly one of `visible` and `hidden`, under its own `visible_at`, and in
//!   `by_age`, under its `sent`;
//! - `in_flight` and `delayed` count the hidden ones by what hides them;
//! - after `catch_up(now)`, all of `hidden` lies ahead of `now` and nothing is past its retention.
//!
//! Each operation costs the logarithm of what lies in the queue at most, however much is in flight.

use super::handle::{Handle, Sequence};
use super::limits;
use super::message::{Delivery, Message};
use super::refusal::{Kind, Refusal};
use super::settings::Settings;
use super::time::Time;
use std::collections::{BTreeSet, HashMap};

/// A standard queue.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) name: String,
    pub(crate) created: Time,
    pub(crate) modified: Time,
    pub(crate) settings: Settings,
    tag: u64,
    next: u64,
    purged: Option<Time>,
    messages: HashMap<Sequence, Stored>,
    /// Who became visible first is received first.
    visible: BTreeSet<(Time, Sequence)>,
    hidden: BTreeSet<(Time, Sequence)>,
    by_age: BTreeSet<(Time, Sequence)>,
    in_flight: usize,
    delayed: usize,
}

#[derive(Debug)]
struct Stored {
    message: Message,
    state: State,
    visible_at: Time,
    /// How often it was received in this queue: what handles and the redrive policy go by.
    receives: u32,
    /// When it was received last, from where the 12 hours run.
    received: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Visible,
    Delayed,
    InFlight,
}

/// What a receive took out.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// For the receiver.
    pub(crate) deliveries: Vec<Delivery>,
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
        Self {
            name,
            created: now,
            modified: now,
            settings,
            tag,
            next: 0,
            purged: None,
            messages: HashMap::new(),
            visible: BTreeSet::new(),
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
            self.place(sequence, State::Visible, at);
        }
        while let Some(&(sent, sequence)) = self.by_age.first()
            && sent.plus_seconds(self.settings.retention) <= now
        {
            self.remove(sequence);
        }
    }

    /// Puts a message in, hidden for `delay` seconds first.
    pub(crate) fn put(&mut self, now: Time, message: Message, delay: u32) {
        let sequence = Sequence(self.next);
        self.next += 1;
        self.by_age.insert((message.sent, sequence));
        self.visible.insert((now, sequence));
        let stored = Stored {
            message,
            state: State::Visible,
            visible_at: now,
            receives: 0,
            received: now,
        };
        self.messages.insert(sequence, stored);
        if delay > 0 {
            self.place(sequence, State::Delayed, now.plus_seconds(delay));
        }
    }

    /// Takes up to `most` visible messages and hides them for `visibility` seconds. Those received
    /// `dead_after` times already are taken out for good instead, and do not count.
    ///
    /// # Errors
    /// `OverLimit` when something is visible but as much is in flight as may be.
    pub(crate) fn receive(
        &mut self,
        now: Time,
        most: usize,
        visibility: u32,
        dead_after: Option<u32>,
    ) -> Result<Taken, Refusal> {
        let room = limits::IN_FLIGHT.saturating_sub(self.in_flight);
        if room == 0 && !self.visible.is_empty() {
            let message = format!(
                "{} messages are in flight, the most a queue may have.",
                self.in_flight
            );
            return Err(Refusal::new(Kind::OverLimit, message));
        }
        let most = most.min(room);
        let until = now.plus_seconds(visibility);
        let mut taken = Taken::default();
        // With a visibility of 0 a message stays visible: it goes back only when the receive is
        // complete, or the same receive would meet it again.
        let mut back = Vec::new();
        while taken.deliveries.len() < most
            && let Some((_, sequence)) = self.visible.pop_first()
        {
            let Some(stored) = self.messages.get_mut(&sequence) else {
                continue;
            };
            if dead_after.is_some_and(|count| stored.receives >= count) {
                taken.dead.extend(self.remove(sequence));
                continue;
            }
            stored.receives += 1;
            stored.received = now;
            stored.message.receives += 1;
            stored.message.first_received.get_or_insert(now);
            let handle = Handle {
                queue_tag: self.tag,
                sequence,
                receive: stored.receives,
            };
            taken.deliveries.push(Delivery {
                message: stored.message.clone(),
                handle: handle.encode(),
            });
            back.push(sequence);
        }
        let state = if visibility == 0 {
            State::Visible
        } else {
            State::InFlight
        };
        for sequence in back {
            self.place(sequence, state, until);
        }
        Ok(taken)
    }

    /// Deletes a message, unless it was received again since this handle was given.
    ///
    /// # Errors
    /// `ReceiptHandleIsInvalid` for a handle this queue never gave. That the message is gone, or has
    /// a newer handle, is no error.
    pub(crate) fn delete(&mut self, handle: &str) -> Result<(), Refusal> {
        let handle = self.own(handle)?;
        if self
            .messages
            .get(&handle.sequence)
            .is_some_and(|m| m.receives == handle.receive)
        {
            self.remove(handle.sequence);
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
        self.place(handle.sequence, state, now.plus_seconds(timeout));
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

    /// How many messages are in which state.
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            visible: self.visible.len(),
            in_flight: self.in_flight,
            delayed: self.delayed,
        }
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

    /// Moves a message to where its new state belongs.
    fn place(&mut self, sequence: Sequence, state: State, visible_at: Time) {
        self.unplace(sequence);
        let Some(stored) = self.messages.get_mut(&sequence) else {
            return;
        };
        (stored.state, stored.visible_at) = (state, visible_at);
        let key = (visible_at, sequence);
        match state {
            State::Visible => {
                self.visible.insert(key);
            }
            State::Delayed => self.delayed += usize::from(self.hidden.insert(key)),
            State::InFlight => self.in_flight += usize::from(self.hidden.insert(key)),
        }
    }

    fn remove(&mut self, sequence: Sequence) -> Option<Message> {
        self.unplace(sequence);
        let stored = self.messages.remove(&sequence)?;
        self.by_age.remove(&(stored.message.sent, sequence));
        Some(stored.message)
    }

    /// Takes a message out of the order it is in; of no effect on one that a receive just popped.
    fn unplace(&mut self, sequence: Sequence) {
        let Some(stored) = self.messages.get(&sequence) else {
            return;
        };
        let (state, key) = (stored.state, (stored.visible_at, sequence));
        match state {
            State::Visible => {
                self.visible.remove(&key);
            }
            State::Delayed => self.delayed -= usize::from(self.hidden.remove(&key)),
            State::InFlight => self.in_flight -= usize::from(self.hidden.remove(&key)),
        }
    }
}
