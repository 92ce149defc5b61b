//! Those who wait for the same thing, in the order they came.

use std::collections::VecDeque;

/// The number of one who waits. Later ones have higher numbers.
pub(super) type Ticket = u64;

/// A line of waiters, first come first served.
pub(super) struct Line<W> {
    waiters: VecDeque<(Ticket, W)>,
}

impl<W> Default for Line<W> {
    fn default() -> Self {
        Self {
            waiters: VecDeque::new(),
        }
    }
}

impl<W> Line<W> {
    /// Puts a waiter at the end. Its ticket must be higher than those before it.
    pub(super) fn push(&mut self, ticket: Ticket, waiter: W) {
        debug_assert!(self.waiters.back().is_none_or(|(last, _)| *last < ticket));
        self.waiters.push_back((ticket, waiter));
    }

    /// Takes the first one out.
    pub(super) fn pop(&mut self) -> Option<W> {
        self.waiters.pop_front().map(|(_, waiter)| waiter)
    }

    /// Takes one out who gave up; none where it no longer waits.
    pub(super) fn remove(&mut self, ticket: Ticket) -> Option<W> {
        let at = self.position(ticket)?;
        self.waiters.remove(at).map(|(_, waiter)| waiter)
    }

    /// One who waits; none where it no longer does.
    pub(super) fn get_mut(&mut self, ticket: Ticket) -> Option<&mut W> {
        let at = self.position(ticket)?;
        self.waiters.get_mut(at).map(|(_, waiter)| waiter)
    }

    /// The ticket of the first one.
    pub(super) fn first(&self) -> Option<Ticket> {
        self.waiters.front().map(|(ticket, _)| *ticket)
    }

    pub(super) fn len(&self) -> usize {
        self.waiters.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    fn position(&self, ticket: Ticket) -> Option<usize> {
        let found = self
            .waiters
            .binary_search_by_key(&ticket, |(ticket, _)| *ticket);
        found.ok()
    }
}
