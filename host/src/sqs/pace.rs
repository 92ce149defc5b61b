//! How many messages a receive of a FIFO queue may ask for, while one of its groups is retried.
//!
//! A receive takes several messages of a group at once. Where the first of them keeps failing, each
//! receive of it would take the others along, and burn one of the receives that the queue's redrive
//! policy allows them. So while a message is being retried, receives ask for one message (rule 5.12),
//! and a failed message is put back only once no receive is open that asked for more.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::handler::GroupId;
use crate::limits::RETRIED_ELSEWHERE;

/// What the handlers of a FIFO queue and its pump agree on.
pub struct Pace {
    /// The groups whose first message is being retried, and until when it is waited for: another
    /// host may have received it, or it may have been deleted.
    retried: Mutex<HashMap<GroupId, Instant>>,
    /// The number of the receive that is open and asked for more than one message.
    open: watch::Sender<Option<u64>>,
    /// How many such receives there were.
    polls: AtomicU64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            retried: Mutex::default(),
            open: watch::Sender::new(None),
            polls: AtomicU64::new(0),
        }
    }
}

/// A receive that asked for more than one message is open until this is dropped.
pub(super) struct OpenPoll<'a>(&'a watch::Sender<Option<u64>>);

impl Drop for OpenPoll<'_> {
    fn drop(&mut self) {
        self.0.send_replace(None);
    }
}

impl Pace {
    /// A message of `group` was left on the queue, to come back after `delay`.
    pub fn retried(&self, group: GroupId, delay: Duration, visibility: Duration) {
        let until = Instant::now() + delay + visibility + RETRIED_ELSEWHERE;
        self.groups().insert(group, until);
    }

    /// The message of `group` that was retried is not on the queue any more.
    pub fn over(&self, group: &GroupId) {
        self.groups().remove(group);
    }

    /// Waits until the receive has ended that is open now and asked for more than one message. A
    /// later one is none of the caller's, who has said [`Pace::retried`] before.
    pub async fn closed(&self) {
        let mut open = self.open.subscribe();
        let Some(now) = *open.borrow_and_update() else {
            return;
        };
        // The sender is ours, so waiting cannot fail.
        let _ = open.wait_for(|open| *open != Some(now)).await;
    }

    /// How many messages a receive may ask for that could bring `most`, and what to hold while it
    /// is open. One, while a message is being retried.
    pub(super) fn ask(&self, most: u8) -> (u8, Option<OpenPoll<'_>>) {
        // Under the lock, so that who has said `retried` and then waits misses no receive.
        let mut groups = self.groups();
        let now = Instant::now();
        groups.retain(|_, until| *until > now);
        if most <= 1 || !groups.is_empty() {
            return (1, None);
        }
        let number = self.polls.fetch_add(1, Relaxed);
        self.open.send_replace(Some(number));
        (most, Some(OpenPoll(&self.open)))
    }

    fn groups(&self) -> std::sync::MutexGuard<'_, HashMap<GroupId, Instant>> {
        // A panic under the lock leaves a map that is whole.
        self.retried.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    // Rule 5.12: one message at a time while one is being retried, and not for ever.
    #[tokio::test(start_paused = true)]
    async fn while_a_message_is_retried_a_receive_asks_for_one() {
        let pace = Pace::default();
        assert_eq!(pace.ask(10).0, 10);
        pace.retried("A".into(), SECOND * 5, SECOND * 30);
        pace.retried("B".into(), SECOND * 5, SECOND * 30);
        assert_eq!(pace.ask(10).0, 1);
        pace.over(&"A".into());
        assert_eq!(pace.ask(10).0, 1);
        pace.over(&"B".into());
        assert_eq!(pace.ask(10).0, 10);

        // It came back to another host.
        pace.retried("A".into(), SECOND * 5, SECOND * 30);
        tokio::time::sleep(SECOND * 35 + RETRIED_ELSEWHERE).await;
        assert_eq!(pace.ask(10).0, 10);
    }

    // Rule 5.12: a receive that is open already could still take the tail along.
    #[tokio::test(start_paused = true)]
    async fn who_puts_a_message_back_waits_for_the_receive_that_asked_for_more() {
        let pace = Pace::default();
        pace.closed().await;
        let (_, open) = pace.ask(10);
        let waited = tokio::time::timeout(SECOND, pace.closed()).await;
        assert!(waited.is_err());
        drop(open);
        pace.closed().await;
        let (asked, one) = pace.ask(1);
        assert_eq!((asked, one.is_none()), (1, true));
        pace.closed().await;
    }

    // Rule 5.12: one receive follows another without a pause, and who waits must not miss the end.
    #[tokio::test(start_paused = true)]
    async fn who_waits_for_a_receive_is_not_held_up_by_the_next_one() {
        let pace = Pace::default();
        let (_, first) = pace.ask(10);
        let waiting = pace.closed();
        tokio::pin!(waiting);
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        drop(first);
        let (_, _second) = pace.ask(10);
        waiting.await;
    }
}
