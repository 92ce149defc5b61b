//! In which order the visible messages of a queue are received.

use super::groups::Groups;
use super::handle::Sequence;
use super::time::Time;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The visible messages of a queue.
#[derive(Debug)]
pub(crate) enum Order {
    /// Who became visible first is received first.
    Standard(BTreeSet<(Time, Sequence)>),
    /// Each group in its own order.
    Fifo(Groups),
}

/// A message as its order knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot<'a> {
    pub(crate) sequence: Sequence,
    /// When it became visible.
    pub(crate) since: Time,
    pub(crate) group: Option<&'a Arc<str>>,
}

impl Order {
    /// How many messages a receive would find.
    pub(crate) fn takeable(&self) -> usize {
        match self {
            Self::Standard(visible) => visible.len(),
            Self::Fifo(groups) => groups.takeable(),
        }
    }

    /// A message became visible.
    pub(crate) fn show(&mut self, now: Time, spot: Spot<'_>) {
        match (self, spot.group) {
            (Self::Standard(visible), _) => {
                visible.insert((spot.since, spot.sequence));
            }
            (Self::Fifo(groups), Some(group)) => groups.show(group, now, spot.sequence),
            // No message without a group is let into a FIFO queue.
            (Self::Fifo(_), None) => {}
        }
    }

    /// A visible message was taken or deleted; of no effect on one that is not visible.
    pub(crate) fn withdraw(&mut self, now: Time, spot: Spot<'_>) {
        match (self, spot.group) {
            (Self::Standard(visible), _) => {
                visible.remove(&(spot.since, spot.sequence));
            }
            (Self::Fifo(groups), Some(group)) => groups.withdraw(group, now, spot.sequence),
            (Self::Fifo(_), None) => {}
        }
    }

    /// A message of `group` came to be in flight.
    pub(crate) fn hold(&mut self, now: Time, group: Option<&Arc<str>>) {
        if let (Self::Fifo(groups), Some(group)) = (self, group) {
            groups.hold(group, now);
        }
    }

    /// A message of `group` is no longer in flight.
    pub(crate) fn release(&mut self, now: Time, group: Option<&Arc<str>>) {
        if let (Self::Fifo(groups), Some(group)) = (self, group) {
            groups.release(group, now);
        }
    }

    /// The message to receive next, and its group in a FIFO queue. `same` is the group of the one
    /// before in the same receive.
    pub(crate) fn next(&self, same: Option<&Arc<str>>) -> Option<(Option<Arc<str>>, Sequence)> {
        match self {
            Self::Standard(visible) => visible.first().map(|&(_, sequence)| (None, sequence)),
            Self::Fifo(groups) => groups
                .next(same)
                .map(|(group, sequence)| (Some(group), sequence)),
        }
    }

    /// Forgets all messages.
    pub(crate) fn clear(&mut self) {
        match self {
            Self::Standard(visible) => visible.clear(),
            Self::Fifo(groups) => groups.clear(),
        }
    }
}
