//! What only a FIFO queue does: it wants a group, knows repetitions, and gives a lost reply again.

use super::digest;
use super::message::{Delivery, Outgoing, Receipt};
use super::queue::{Queue, State};
use super::refusal::{Kind, Refusal};
use super::repetition::{Attempt, SentKey};
use super::settings::Scope;
use super::time::Time;
use std::sync::Arc;

impl Queue {
    /// Whether a message has what this kind of queue wants, and nothing that only the other takes.
    ///
    /// # Errors
    /// `MissingParameter` without a group on a FIFO queue; `InvalidParameterValue` when a FIFO queue
    /// could not know a repetition of it, or for a delay of its own there, or a deduplication id on
    /// a standard queue.
    pub(crate) fn check_kind(&self, outgoing: &Outgoing) -> Result<(), Refusal> {
        let Some(fifo) = &self.settings.fifo else {
            return match &outgoing.deduplication {
                Some(id) => Err(Refusal::wrong_kind("MessageDeduplicationId", id)),
                None => Ok(()),
            };
        };
        if outgoing.content.group.is_none() {
            return Err(Refusal::missing("MessageGroupId"));
        }
        if outgoing.deduplication.is_none() && !fifo.content_based {
            let message = "The queue should either have ContentBasedDeduplication enabled \
                           or MessageDeduplicationId provided explicitly.";
            return Err(Refusal::new(Kind::InvalidParameterValue, message));
        }
        match outgoing.delay {
            // Clients that always send the parameter send 0 for "none".
            Some(seconds) if seconds > 0 => Err(Refusal::wrong_kind("DelaySeconds", seconds)),
            _ => Ok(()),
        }
    }

    /// How long a message is hidden first: in a FIFO queue the queue alone says.
    pub(crate) fn delay_of(&self, outgoing: &Outgoing) -> u32 {
        match outgoing.delay {
            Some(own) if self.settings.fifo.is_none() => own,
            _ => self.settings.delay,
        }
    }

    /// What this queue knows a repetition of the message by: nothing, if it is a standard queue.
    pub(crate) fn repetition_key(&self, outgoing: &Outgoing) -> Option<SentKey> {
        let fifo = self.settings.fifo.as_ref()?;
        let id = match &outgoing.deduplication {
            Some(id) => id.clone(),
            None => digest::sha256_hex(outgoing.content.body.as_bytes()).into(),
        };
        let group = match fifo.scope {
            Scope::Queue => None,
            Scope::MessageGroup => outgoing.content.group.clone(),
        };
        Some((group, id))
    }

    /// What the sender of the first message of this key was told, if that is less than five minutes
    /// ago. That the message was received and deleted meanwhile does not matter.
    pub(crate) fn sent_before(&mut self, now: Time, key: &SentKey) -> Option<Receipt> {
        self.repetitions.sent.get(now, key).copied()
    }

    /// Remembers what was received under an attempt id.
    pub(crate) fn note_attempt(&mut self, now: Time, attempt: Arc<str>, received: Attempt) {
        if self.settings.fifo.is_some() && !received.is_empty() {
            self.repetitions.attempts.note(now, attempt, received);
        }
    }

    /// The same messages again, with the same handles and hidden anew, if nobody touched any of them
    /// since. They do not count as received once more: the client never saw the first reply.
    pub(crate) fn receive_again(
        &mut self,
        now: Time,
        attempt: &Arc<str>,
        visibility: u32,
    ) -> Option<Vec<Delivery>> {
        let received = self.repetitions.attempts.get(now, attempt)?.clone();
        let untouched = received.iter().all(|(sequence, receive, until)| {
            self.messages.get(sequence).is_some_and(|stored| {
                (stored.state, stored.receives, stored.visible_at)
                    == (State::InFlight, *receive, *until)
            })
        });
        if !untouched {
            return None;
        }
        let (state, until) = match visibility {
            0 => (State::Visible, now),
            seconds => (State::InFlight, now.plus_seconds(seconds)),
        };
        let mut deliveries = Vec::new();
        for (sequence, receive, _) in &received {
            self.place(now, *sequence, state, until);
            if let Some(stored) = self.messages.get_mut(sequence) {
                stored.received = now;
                let message = stored.message.clone();
                let handle = self.handle(*sequence, *receive);
                deliveries.push(Delivery { message, handle });
            }
        }
        let hidden_anew = |(sequence, receive, _)| (sequence, receive, until);
        if let Some(noted) = self.repetitions.attempts.get(now, attempt) {
            *noted = received.into_iter().map(hidden_anew).collect();
        }
        Some(deliveries)
    }

    /// Gives all delayed messages the delay the queue has now. A standard queue leaves those alone
    /// that lie in it already.
    pub(crate) fn delay_anew(&mut self, now: Time) {
        if self.settings.fifo.is_none() {
            return;
        }
        let delayed: Vec<_> = self
            .messages
            .iter()
            .filter(|(_, stored)| stored.state == State::Delayed)
            .map(|(sequence, stored)| (*sequence, stored.message.sent))
            .collect();
        for (sequence, sent) in delayed {
            let until = sent.plus_seconds(self.settings.delay);
            self.place(now, sequence, State::Delayed, until);
        }
        self.catch_up(now);
    }
}
