//! When which lease is extended: pure, the time is passed in.
//!
//! A lease is re-armed to its full visibility halfway through each period, for as long as it is
//! held (rule 4.1). The order of what is due is a heap, so a thousand leases cost one timer.
//!
//! Invariants: a lease that is paused or lost is never handed out by [`Keeper::take_due`]; one
//! whose extension is under way is handed out again only once that extension has been reported.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use crate::error::ErrorClass;
use crate::handler::{MessageId, ReceiptHandle};
use crate::limits::{EXTEND_TOGETHER, MAX_VISIBILITY, WINDOW_MARGIN};

/// Names a lease within its keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct LeaseId(u64);

/// An extension to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Extension {
    pub(super) id: LeaseId,
    pub(super) handle: ReceiptHandle,
    pub(super) visibility: Duration,
}

/// What a failed extension means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterFailure {
    /// It is tried again by itself.
    Again,
    /// The lease is over.
    Lost,
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
    state: State,
}

/// The leases of one queue.
#[derive(Default)]
pub(super) struct Keeper {
    next: u64,
    held: HashMap<LeaseId, Held>,
    /// When to look at which lease. An entry may be out of date; the lease's own state decides.
    due: BinaryHeap<Reverse<(Instant, LeaseId)>>,
}

impl Keeper {
    /// Takes a lease of a message that was received at `now`.
    pub(super) fn hold(
        &mut self,
        now: Instant,
        handle: ReceiptHandle,
        message: Option<MessageId>,
        visibility: Duration,
    ) -> LeaseId {
        let id = LeaseId(self.next);
        self.next += 1;
        let due = now + visibility / 2;
        self.held.insert(
            id,
            Held {
                handle,
                message,
                visibility,
                window_end: now + MAX_VISIBILITY - WINDOW_MARGIN,
                expires: now + visibility,
                state: State::Armed { due },
            },
        );
        self.due.push(Reverse((due, id)));
        id
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
                if visibility.is_zero() {
                    held.state = State::Final;
                    continue;
                }
                held.state = State::Extending { then: Then::Arm };
                extensions.push(Extension {
                    id,
                    handle: held.handle.clone(),
                    visibility,
                });
            }
        }
        extensions
    }

    /// An extension that was sent at `sent` succeeded. Answers whether it was the last one that
    /// the twelve hours allow.
    pub(super) fn extended(&mut self, id: LeaseId, sent: Instant, visibility: Duration) -> bool {
        let Some(held) = self.held.get_mut(&id) else {
            return false;
        };
        held.expires = sent + visibility;
        let last = visibility < held.visibility;
        match held.state {
            State::Extending { then: Then::Pause } => held.state = State::Paused,
            State::Extending { then: Then::Arm } if last => held.state = State::Final,
            State::Extending { then: Then::Arm } => self.arm(id, sent + visibility / 2),
            _ => {}
        }
        last
    }

    /// An extension failed at `now`. A passing failure is tried again after a quarter of what is
    /// left of the lease, so that a few tries fit into it (rule 4.4).
    pub(super) fn failed(&mut self, id: LeaseId, now: Instant, class: ErrorClass) -> AfterFailure {
        let Some(held) = self.held.get_mut(&id) else {
            return AfterFailure::Gone;
        };
        if let State::Extending { then: Then::Pause } = held.state {
            held.state = State::Paused;
            return AfterFailure::Again;
        }
        let left = held.expires.saturating_duration_since(now);
        if class == ErrorClass::LostHandle || left.is_zero() {
            held.state = State::Lost;
            return AfterFailure::Lost;
        }
        self.arm(id, now + left / 4);
        AfterFailure::Again
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

    /// Lets a lease go. Where the message was not settled it comes back when its time-out lapses
    /// (rule 4.6).
    pub(super) fn release(&mut self, id: LeaseId) {
        self.held.remove(&id);
    }

    /// When the message comes back if nothing is done.
    pub(super) fn expires(&self, id: LeaseId) -> Option<Instant> {
        self.held.get(&id).map(|held| held.expires)
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

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn hold(keeper: &mut Keeper, now: Instant, handle: &str, visibility: Duration) -> LeaseId {
        keeper.hold(now, handle.into(), None, visibility)
    }

    /// Runs a lease for `total`, each extension answered at once; when they were sent.
    fn extensions(visibility: Duration, total: Duration) -> Vec<Duration> {
        let start = Instant::now();
        let mut keeper = Keeper::default();
        hold(&mut keeper, start, "h", visibility);
        let mut sent = Vec::new();
        while let Some(due) = keeper.next_due()
            && due < start + total
        {
            for extension in keeper.take_due(due) {
                sent.push(due - start);
                keeper.extended(extension.id, due, extension.visibility);
            }
        }
        sent
    }

    // Rules 4.1 and 4.7: five seconds of work under a two-second visibility.
    #[test]
    fn a_lease_is_re_armed_halfway_through_each_period() {
        assert_eq!(
            extensions(ms(2000), ms(5000)),
            [ms(1000), ms(2000), ms(3000), ms(4000)]
        );
        assert_eq!(
            extensions(ms(1000), ms(2100)),
            [ms(500), ms(1000), ms(1500), ms(2000)]
        );
    }

    // Rule 4.3.
    #[test]
    fn the_last_extension_reaches_the_end_of_the_window_and_no_further() {
        let start = Instant::now();
        let mut keeper = Keeper::default();
        let id = hold(&mut keeper, start, "h", MAX_VISIBILITY);
        let due = keeper.next_due().unwrap();
        assert_eq!(due - start, MAX_VISIBILITY / 2);
        let extension = keeper.take_due(due).pop().unwrap();
        assert_eq!(extension.visibility, MAX_VISIBILITY / 2 - WINDOW_MARGIN);
        assert!(
            keeper.extended(id, due, extension.visibility),
            "the last one"
        );
        assert_eq!(keeper.next_due(), None);
    }

    // Rule 4.1: extensions that fall due together share a call.
    #[test]
    fn leases_of_one_receive_fall_due_together() {
        let start = Instant::now();
        let mut keeper = Keeper::default();
        for n in 0..10 {
            hold(&mut keeper, start + ms(n), &n.to_string(), ms(2000));
        }
        hold(&mut keeper, start + ms(500), "later", ms(2000));
        let due = keeper.next_due().unwrap();
        assert_eq!(keeper.take_due(due - ms(1)), [], "nothing is sent early");
        assert_eq!(keeper.take_due(due).len(), 10);
        assert_eq!(keeper.next_due(), Some(start + ms(1500)));
    }

    // Rule 4.5.
    #[test]
    fn a_pause_waits_for_the_extension_under_way() {
        let start = Instant::now();
        let mut keeper = Keeper::default();
        let id = hold(&mut keeper, start, "h", ms(2000));
        let sent = start + ms(1000);
        keeper.take_due(sent);
        assert!(!keeper.pause(id), "an extension is under way");
        keeper.extended(id, sent, ms(2000));
        assert!(keeper.pause(id));
        assert_eq!(keeper.next_due(), None, "none follows");
        keeper.resume(id, sent + ms(1200));
        assert_eq!(
            keeper.next_due(),
            Some(sent + ms(1200)),
            "half a period has gone by"
        );
    }

    // Rule 4.4.
    #[test]
    fn a_failed_extension_is_tried_again_inside_the_lease_and_a_lost_handle_never() {
        let start = Instant::now();
        let mut keeper = Keeper::default();
        let id = hold(&mut keeper, start, "h", ms(2000));
        let mut now = start + ms(1000);
        let mut tries = 0;
        while now < start + ms(1900) {
            assert_eq!(keeper.take_due(now).len(), 1);
            assert_eq!(
                keeper.failed(id, now, ErrorClass::Network),
                AfterFailure::Again
            );
            now = keeper.next_due().unwrap();
            tries += 1;
        }
        assert!(tries > 3, "{tries} tries");
        keeper.take_due(now);
        assert_eq!(
            keeper.failed(id, now, ErrorClass::LostHandle),
            AfterFailure::Lost
        );
        assert_eq!(keeper.next_due(), None);
    }

    // Rule 4.6.
    #[test]
    fn a_lease_let_go_is_extended_no_more() {
        let start = Instant::now();
        let mut keeper = Keeper::default();
        let id = hold(&mut keeper, start, "h", ms(2000));
        keeper.release(id);
        assert_eq!((keeper.next_due(), keeper.len()), (None, 0));
    }
}
