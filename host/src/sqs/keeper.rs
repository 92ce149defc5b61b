//! When which lease is extended: pure, the time is passed in.
//!
//! A lease is re-armed to its full visibility halfway through each period, for as long as it is
//! held (rule 4.1). The order of what is due is a heap, so a thousand leases cost one timer.
//!
//! Invariants: a lease that is paused or lost is never handed out by [`Keeper::take_due`]; one
//! whose extension is under way is handed out again only once that extension has been reported; a
//! message has one lease at a time, under its newest handle (rule 5.13).

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use crate::backoff::doubled;
use crate::error::ErrorClass;
use crate::handler::{MessageId, ReceiptHandle};
use crate::limits::{
    CALL_TIMEOUT, EXTEND_BACKOFF, EXTEND_BACKOFF_MAX, EXTEND_TOGETHER, LAPSE_MARGIN,
    MAX_VISIBILITY, WINDOW_MARGIN,
};

/// Names a lease within its keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct LeaseId(u64);

/// An extension to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Extension {
    pub(super) id: LeaseId,
    pub(super) handle: ReceiptHandle,
    pub(super) visibility: Duration,
    /// How long a call may go without an answer before another is sent beside it.
    pub(super) patience: Duration,
}

/// What a receive of a message means for its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// A lease was taken: the message is to be handled.
    New(LeaseId),
    /// The message is here already; its lease goes on under the newer handle (rule 5.13).
    Renewed,
}

/// What a failed extension means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterFailure {
    /// It is tried again by itself.
    Again,
    /// The lease is over.
    Lost,
    /// The twelve hours are used up: it lasts for what is left, and is extended no more.
    WindowUsed(Duration),
    /// It matters no more: the handle is not the newest, or a settlement waits.
    Ignored,
    /// The lease had been let go meanwhile.
    Gone,
}

/// How a lease stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Waiting for `due`.
    Armed { due: Instant },
    /// An extension is under way.
    Extending { then: Then },
    /// Not extended: a settlement is under way.
    Paused,
    /// The window of twelve hours is used up; nothing more can be done.
    Final,
    /// SQS does not know the handle any more.
    Lost,
}

/// What becomes of a lease once the extension that is under way has been answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Arm,
    Pause,
}

struct Held {
    handle: ReceiptHandle,
    message: Option<MessageId>,
    visibility: Duration,
    /// Twelve hours from the receive, less a margin: SQS hides no message longer (rule 4.3).
    window_end: Instant,
    /// When the message comes back if nothing is done.
    expires: Instant,
    /// How often the message has been received, where it was received again while it was held.
    receives: Option<u32>,
    /// Whether it may have been visible at some moment, so that its handle may not be the newest.
    lapsed: bool,
    /// Whether it is being put back to be received at once: another receive of it is not the same
    /// message twice, but what was asked for.
    leaving: bool,
    /// How many extensions in a row have failed.
    failures: u32,
    state: State,
}

/// The leases of one queue.
#[derive(Default)]
pub(super) struct Keeper {
    next: u64,
    held: HashMap<LeaseId, Held>,
    /// The lease of each message that has an id.
    by_message: HashMap<MessageId, LeaseId>,
    /// When to look at which lease. An entry may be out of date; the lease's own state decides.
    due: BinaryHeap<Reverse<(Instant, LeaseId)>>,
}

impl Keeper {
    /// Takes a lease of a message that was received at `now`, or goes on with the one it has.
    pub(super) fn hold(
        &mut self,
        now: Instant,
        handle: ReceiptHandle,
        message: Option<MessageId>,
        visibility: Duration,
    ) -> Taken {
        let known = message.as_ref().and_then(|id| self.by_message.get(id));
        if let Some(id) = known.copied()
            && let Some(held) = self.held.get_mut(&id)
        {
            if !held.leaving {
                self.renew(id, now, handle, visibility);
                return Taken::Renewed;
            }
            // Its old lease has nothing left to keep, and may not touch the new one's message.
            held.state = State::Lost;
        }
        let id = LeaseId(self.next);
        self.next += 1;
        if let Some(message) = &message {
            self.by_message.insert(message.clone(), id);
        }
        self.held.insert(
            id,
            Held {
                handle,
                message,
                visibility,
                window_end: now + MAX_VISIBILITY - WINDOW_MARGIN,
                expires: now + visibility,
                receives: None,
                lapsed: false,
                leaving: false,
                failures: 0,
                state: State::Paused,
            },
        );
        self.arm(id, now + visibility / 2);
        Taken::New(id)
    }

    /// The message was received again: the newest handle is the one that SQS takes, and the period
    /// and the twelve hours count from this receive.
    fn renew(&mut self, id: LeaseId, now: Instant, handle: ReceiptHandle, visibility: Duration) {
        let Some(held) = self.held.get_mut(&id) else {
            return;
        };
        held.handle = handle;
        held.visibility = visibility;
        held.window_end = now + MAX_VISIBILITY - WINDOW_MARGIN;
        held.expires = now + visibility;
        held.lapsed = true;
        held.failures = 0;
        match held.state {
            // The answer that is awaited, or the settlement that is under way, goes on from here.
            State::Extending { .. } | State::Paused => {}
            State::Armed { .. } | State::Final | State::Lost => self.arm(id, now + visibility / 2),
        }
    }

    /// When [`Keeper::take_due`] has something to hand out next.
    pub(super) fn next_due(&mut self) -> Option<Instant> {
        while let Some(Reverse((at, id))) = self.due.peek() {
            if self.is_due_at(*id, *at) {
                return Some(*at);
            }
            self.due.pop();
        }
        None
    }

    fn is_due_at(&self, id: LeaseId, at: Instant) -> bool {
        matches!(self.held.get(&id), Some(held) if held.state == State::Armed { due: at })
    }

    /// The extensions due at `now`, and those due so soon after that they may share its call.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<Extension> {
        let mut extensions = Vec::new();
        while let Some(due) = self.next_due()
            && due <= now + EXTEND_TOGETHER
        {
            // The first of them must really be due; the others come along.
            if due > now && extensions.is_empty() {
                break;
            }
            let Some(Reverse((_, id))) = self.due.pop() else {
                break;
            };
            if let Some(held) = self.held.get_mut(&id) {
                let left = held.window_end.saturating_duration_since(now);
                // Whole seconds are all that SQS knows: rounding down stays inside the window.
                let visibility = held.visibility.min(Duration::from_secs(left.as_secs()));
                let patience = patience(held.expires.saturating_duration_since(now));
                if visibility.is_zero() {
                    held.state = State::Final;
                    continue;
                }
                held.state = State::Extending { then: Then::Arm };
                extensions.push(Extension {
                    id,
                    handle: held.handle.clone(),
                    visibility,
                    patience,
                });
            }
        }
        extensions
    }

    /// An extension that was sent at `sent` succeeded by `now`. Answers whether it was the last one
    /// that the twelve hours allow.
    pub(super) fn extended(&mut self, extension: &Extension, sent: Instant, now: Instant) -> bool {
        let id = extension.id;
        let Some(held) = self.held.get_mut(&id) else {
            return false;
        };
        if held.handle != extension.handle {
            self.answered_late(id);
            return false;
        }
        held.lapsed |= now + LAPSE_MARGIN >= held.expires;
        held.expires = sent + extension.visibility;
        held.failures = 0;
        let last = extension.visibility < held.visibility;
        match held.state {
            State::Extending { then: Then::Pause } => held.state = State::Paused,
            State::Extending { then: Then::Arm } if last => held.state = State::Final,
            State::Extending { then: Then::Arm } => self.arm(id, sent + extension.visibility / 2),
            _ => {}
        }
        last
    }

    /// An extension failed at `now`. A passing failure is tried again soon, and sooner where little
    /// is left of the lease, so that a few tries fit into it (rule 4.4).
    pub(super) fn failed(
        &mut self,
        extension: &Extension,
        now: Instant,
        class: ErrorClass,
    ) -> AfterFailure {
        let id = extension.id;
        let Some(held) = self.held.get_mut(&id) else {
            return AfterFailure::Gone;
        };
        // What becomes of an older handle says nothing of the newest.
        if held.handle != extension.handle {
            self.answered_late(id);
            return AfterFailure::Ignored;
        }
        let State::Extending { then } = held.state else {
            return AfterFailure::Ignored;
        };
        let left = held.expires.saturating_duration_since(now);
        match (class, then) {
            (ErrorClass::LostHandle, _) => {
                held.state = State::Lost;
                AfterFailure::Lost
            }
            (ErrorClass::WindowUsed, _) => {
                held.state = State::Final;
                held.window_end = held.window_end.min(held.expires);
                AfterFailure::WindowUsed(left)
            }
            (_, Then::Pause) => {
                held.state = State::Paused;
                AfterFailure::Again
            }
            _ if left.is_zero() => {
                held.state = State::Lost;
                AfterFailure::Lost
            }
            _ => {
                let wait = doubled(EXTEND_BACKOFF, held.failures, EXTEND_BACKOFF_MAX);
                held.failures += 1;
                self.arm(id, now + wait.min(left / 4));
                AfterFailure::Again
            }
        }
    }

    /// An extension under a handle that is not the newest was answered: the lease goes on under
    /// the newest.
    fn answered_late(&mut self, id: LeaseId) {
        let Some(held) = self.held.get_mut(&id) else {
            return;
        };
        match held.state {
            State::Extending { then: Then::Pause } => held.state = State::Paused,
            State::Extending { then: Then::Arm } => {
                let half = held.expires - held.visibility / 2;
                self.arm(id, half);
            }
            _ => {}
        }
    }

    /// Stops extending. Answers `false` while an extension is under way: ask again once it has
    /// been reported, for no settlement may overtake it (rule 4.5).
    pub(super) fn pause(&mut self, id: LeaseId) -> bool {
        let Some(held) = self.held.get_mut(&id) else {
            return true;
        };
        match held.state {
            State::Extending { .. } => {
                held.state = State::Extending { then: Then::Pause };
                false
            }
            State::Armed { .. } => {
                held.state = State::Paused;
                true
            }
            State::Paused | State::Final | State::Lost => true,
        }
    }

    /// Extends again after a pause, at once where half the period has gone by.
    pub(super) fn resume(&mut self, id: LeaseId, now: Instant) {
        let Some(held) = self.held.get(&id) else {
            return;
        };
        if matches!(held.state, State::Paused | State::Extending { .. }) {
            let half = held.expires - held.visibility / 2;
            self.arm(id, half.max(now));
        }
    }

    fn arm(&mut self, id: LeaseId, due: Instant) {
        if let Some(held) = self.held.get_mut(&id) {
            held.state = State::Armed { due };
            self.due.push(Reverse((due, id)));
        }
    }

    /// The message is being put back to be received at once. Where it is received again before
    /// the answer, that is a receive to be handled like any other.
    pub(super) fn leave(&mut self, id: LeaseId) {
        if let Some(held) = self.held.get_mut(&id) {
            held.leaving = true;
        }
    }

    /// A settlement with `handle` succeeded. Where that is the message's newest handle the lease is
    /// let go, so that another receive of the message is a new one; else nothing is settled, and
    /// the answer is `false`.
    pub(super) fn finish(&mut self, id: LeaseId, handle: &ReceiptHandle) -> bool {
        match self.held.get(&id) {
            Some(held) if held.handle != *handle => false,
            _ => {
                self.release(id);
                true
            }
        }
    }

    /// Lets a lease go. Where the message was not settled it comes back when its time-out lapses
    /// (rule 4.6).
    pub(super) fn release(&mut self, id: LeaseId) {
        if let Some(held) = self.held.remove(&id)
            && let Some(message) = held.message
            && self.by_message.get(&message) == Some(&id)
        {
            self.by_message.remove(&message);
        }
    }

    /// The newest handle of a lease's message.
    pub(super) fn handle(&self, id: LeaseId) -> Option<ReceiptHandle> {
        self.held.get(&id).map(|held| held.handle.clone())
    }

    /// Whether SQS said that the handle is no good any more, or the message is held by another
    /// lease by now.
    pub(super) fn is_lost(&self, id: LeaseId) -> bool {
        self.held
            .get(&id)
            .is_none_or(|held| held.state == State::Lost)
    }

    /// Whether the message may have been visible at some moment until `now`. Then a delete that
    /// succeeded may have deleted nothing (rule 5.11).
    pub(super) fn may_have_lapsed(&self, id: LeaseId, now: Instant) -> bool {
        self.held.get(&id).is_none_or(|held| {
            held.lapsed || held.state == State::Lost || now + LAPSE_MARGIN >= held.expires
        })
    }

    /// When the message comes back if nothing is done.
    pub(super) fn expires(&self, id: LeaseId) -> Option<Instant> {
        self.held.get(&id).map(|held| held.expires)
    }

    /// A message that is held was received once more: for the `receives`th time.
    pub(super) fn received_again(&mut self, message: &MessageId, receives: u32) {
        let known = self.by_message.get(message);
        if let Some(held) = known.and_then(|id| self.held.get_mut(id)) {
            held.receives = Some(receives);
        }
    }

    /// How often the message has been received, where it was received again while it was held.
    pub(super) fn receives(&self, id: LeaseId) -> Option<u32> {
        self.held.get(&id)?.receives
    }

    /// The end of the twelve hours that SQS hides the message at most.
    pub(super) fn window_end(&self, id: LeaseId) -> Option<Instant> {
        self.held.get(&id).map(|held| held.window_end)
    }

    /// The message of a lease, for log lines.
    pub(super) fn message(&self, id: LeaseId) -> Option<MessageId> {
        self.held.get(&id).and_then(|held| held.message.clone())
    }

    /// How many leases are held.
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }
}

/// Half of what is left of a lease, so that an extension that hangs is sent again inside it; but a
/// server that is only slow is not asked much more often than it can answer.
fn patience(left: Duration) -> Duration {
    (left / 2).clamp(Duration::from_millis(250), CALL_TIMEOUT)
}
