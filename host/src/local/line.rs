//! Who waits at a queue, first come, first served.
//!
//! A waiting receive is woken and then takes its messages itself, at the moment it answers. Nothing
//! is ever handed to it beforehand: a receive whose client goes away while it waits has taken
//! nothing, and leaving the line is all there is to do.
//!
//! Only the head of a line is woken, and only the head watches for the queue's next deadline. When
//! it leaves, the next one is woken and looks for itself.

use super::engine::time::Time;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::Notify;

/// A place in a line.
pub(crate) type Ticket = u64;

/// The receives that wait at one queue.
#[derive(Debug, Default)]
pub(crate) struct Line {
    waiting: BTreeMap<Ticket, Waiter>,
    next: Ticket,
}

#[derive(Debug)]
struct Waiter {
    wake: Arc<Notify>,
    /// How many messages it would take.
    most: usize,
    /// The deadline of the queue it sleeps towards, if it is the head.
    watches: Option<Time>,
}

impl Line {
    /// Joins the end of the line.
    pub(crate) fn join(&mut self, most: usize) -> (Ticket, Arc<Notify>) {
        let (ticket, wake) = (self.next, Arc::new(Notify::new()));
        self.next += 1;
        let waiter = Waiter {
            wake: wake.clone(),
            most,
            watches: None,
        };
        self.waiting.insert(ticket, waiter);
        (ticket, wake)
    }

    /// Leaves the line; if that makes another one its head, that one is woken.
    pub(crate) fn leave(&mut self, ticket: Ticket) {
        let was_head = self.is_head(ticket);
        self.waiting.remove(&ticket);
        if was_head {
            self.wake_head();
        }
    }

    /// Whether nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether this is the one whose turn it is.
    pub(crate) fn is_head(&self, ticket: Ticket) -> bool {
        self.waiting
            .first_key_value()
            .is_some_and(|(first, _)| *first == ticket)
    }

    /// How many of `visible` messages are left for the holder of `ticket`, or for one who is not in
    /// the line, when all before have had theirs.
    pub(crate) fn left_for(&self, ticket: Option<Ticket>, visible: usize) -> usize {
        let before = self.waiting.range(..ticket.unwrap_or(Ticket::MAX));
        let mut left = visible;
        for (_, waiter) in before {
            left = left.saturating_sub(waiter.most);
            if left == 0 {
                break;
            }
        }
        left
    }

    /// Notes which deadline of the queue a waiter sleeps towards.
    pub(crate) fn watch(&mut self, ticket: Ticket, deadline: Option<Time>) {
        if let Some(waiter) = self.waiting.get_mut(&ticket) {
            waiter.watches = deadline;
        }
    }

    /// Wakes the head if there is something for it, or a nearer deadline than the one it watches.
    pub(crate) fn stir(&self, visible: usize, next_wake: Option<Time>) {
        let Some((_, head)) = self.waiting.first_key_value() else {
            return;
        };
        let nearer = match (next_wake, head.watches) {
            (Some(next), Some(watched)) => next < watched,
            (next, None) => next.is_some(),
            (None, Some(_)) => false,
        };
        if visible > 0 || nearer {
            head.wake.notify_one();
        }
    }

    /// Wakes the head whatever there is, because the queue is gone.
    pub(crate) fn wake_head(&self) {
        if let Some((_, head)) = self.waiting.first_key_value() {
            head.wake.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    /// Whether it was woken since this was last asked.
    fn woken(wake: &Notify) -> bool {
        let mut notified = pin!(wake.notified());
        notified
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            == Poll::Ready(())
    }

    #[test]
    fn only_the_head_is_woken_and_the_next_one_when_it_leaves() {
        let mut line = Line::default();
        let (first, first_wake) = line.join(1);
        let (second, second_wake) = line.join(1);
        line.stir(5, None);
        assert!(woken(&first_wake) && !woken(&second_wake));
        line.leave(first);
        assert!(line.is_head(second) && woken(&second_wake));
        line.leave(second);
        assert!(line.is_empty());
    }

    #[test]
    fn one_who_leaves_from_the_middle_wakes_nobody() {
        let mut line = Line::default();
        let (_, first_wake) = line.join(1);
        let (second, _) = line.join(1);
        line.leave(second);
        assert!(!woken(&first_wake));
    }

    #[test]
    fn the_head_is_woken_for_a_nearer_deadline_only() {
        let mut line = Line::default();
        let (head, wake) = line.join(1);
        let at = |millis| Some(Time::from_millis(millis));
        line.stir(0, None);
        assert!(!woken(&wake));
        line.stir(0, at(50));
        assert!(woken(&wake));
        line.watch(head, at(50));
        line.stir(0, at(50));
        line.stir(0, at(60));
        assert!(!woken(&wake));
        line.stir(0, at(40));
        assert!(woken(&wake));
    }

    #[test]
    fn those_before_have_theirs_first() {
        let mut line = Line::default();
        let (first, _) = line.join(10);
        let (second, _) = line.join(3);
        let table = [(0, 0, 0, 0), (5, 5, 0, 0), (12, 12, 2, 0), (14, 14, 4, 1)];
        for (visible, for_first, for_second, for_newcomer) in table {
            assert_eq!(line.left_for(Some(first), visible), for_first);
            assert_eq!(line.left_for(Some(second), visible), for_second);
            assert_eq!(line.left_for(None, visible), for_newcomer);
        }
    }
}
