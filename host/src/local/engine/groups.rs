//! The message groups of a FIFO queue: which of them may give messages, and in which order.
//!
//! Invariants:
//! - a group with a message in flight gives none: what comes after must not overtake it;
//! - a group gives its visible messages by their place in the queue, however they became visible
//!   again;
//! - groups take turns: one that may give again goes behind those that could already, so that one
//!   with a long backlog does not keep the others waiting;
//! - a group without messages, visible or in flight, is not kept.

use super::handle::Sequence;
use super::time::Time;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// When a group could give messages again, and which in the row of those it was.
type Turn = (Time, u64);

/// The groups that have messages.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    groups: HashMap<Arc<str>, Group>,
    ready: BTreeMap<Turn, Arc<str>>,
    turns: u64,
    takeable: usize,
}

#[derive(Debug, Default)]
struct Group {
    visible: BTreeSet<Sequence>,
    in_flight: usize,
    turn: Option<Turn>,
}

impl Group {
    /// How many messages a receive would find in it.
    fn takeable(&self) -> usize {
        if self.in_flight == 0 {
            self.visible.len()
        } else {
            0
        }
    }
}

impl Groups {
    /// How many messages a receive would find in all groups.
    pub(crate) fn takeable(&self) -> usize {
        self.takeable
    }

    /// A message became visible.
    pub(crate) fn show(&mut self, group: &Arc<str>, now: Time, sequence: Sequence) {
        self.change(group, now, |group| {
            group.visible.insert(sequence);
        });
    }

    /// A visible message was taken or deleted; of no effect on one that is not here.
    pub(crate) fn withdraw(&mut self, group: &Arc<str>, now: Time, sequence: Sequence) {
        self.change(group, now, |group| {
            group.visible.remove(&sequence);
        });
    }

    /// A message came to be in flight.
    pub(crate) fn hold(&mut self, group: &Arc<str>, now: Time) {
        self.change(group, now, |group| group.in_flight += 1);
    }

    /// A message is no longer in flight.
    pub(crate) fn release(&mut self, group: &Arc<str>, now: Time) {
        self.change(group, now, |group| {
            group.in_flight = group.in_flight.saturating_sub(1);
        });
    }

    /// The next message to give: of `same` as long as it has any, as a receive gives as many of one
    /// group as it can, and of the group whose turn it is otherwise.
    pub(crate) fn next(&self, same: Option<&Arc<str>>) -> Option<(Arc<str>, Sequence)> {
        let first = |name: &Arc<str>| {
            let group = self.groups.get(name)?;
            let sequence = *group.visible.first().filter(|_| group.in_flight == 0)?;
            Some((name.clone(), sequence))
        };
        same.and_then(first)
            .or_else(|| self.ready.values().next().and_then(first))
    }

    /// Forgets all messages.
    pub(crate) fn clear(&mut self) {
        self.groups.clear();
        self.ready.clear();
        self.takeable = 0;
    }

    fn change(&mut self, name: &Arc<str>, now: Time, act: impl FnOnce(&mut Group)) {
        let group = self.groups.entry(name.clone()).or_default();
        let before = group.takeable();
        act(group);
        let after = group.takeable();
        self.takeable = self.takeable - before + after;
        match (group.turn, after) {
            (None, 1..) => {
                let turn = (now, self.turns);
                self.turns += 1;
                group.turn = Some(turn);
                self.ready.insert(turn, name.clone());
            }
            (Some(turn), 0) => {
                group.turn = None;
                self.ready.remove(&turn);
            }
            _ => {}
        }
        if group.visible.is_empty() && group.in_flight == 0 {
            self.groups.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_millis(1_000);

    fn name(text: &str) -> Arc<str> {
        text.into()
    }

    /// The next message when none of any group was taken before.
    fn next(groups: &Groups) -> Option<(String, u64)> {
        groups
            .next(None)
            .map(|(name, sequence)| (name.to_string(), sequence.0))
    }

    #[test]
    fn a_group_with_a_message_in_flight_gives_none() {
        let (mut groups, a) = (Groups::default(), name("a"));
        for sequence in [1, 2, 3] {
            groups.show(&a, NOW, Sequence(sequence));
        }
        assert_eq!(groups.takeable(), 3);
        groups.withdraw(&a, NOW, Sequence(1));
        groups.hold(&a, NOW);
        assert_eq!((groups.takeable(), next(&groups)), (0, None));
        groups.release(&a, NOW);
        assert_eq!(next(&groups), Some(("a".to_owned(), 2)));
    }

    #[test]
    fn a_message_that_comes_back_goes_before_those_sent_after_it() {
        let (mut groups, a) = (Groups::default(), name("a"));
        groups.show(&a, NOW, Sequence(7));
        groups.show(&a, Time::from_millis(9_000), Sequence(3));
        assert_eq!(next(&groups), Some(("a".to_owned(), 3)));
    }

    #[test]
    fn groups_take_turns_and_one_is_finished_before_the_next() {
        let (mut groups, a, b) = (Groups::default(), name("a"), name("b"));
        for sequence in [1, 2] {
            groups.show(&a, NOW, Sequence(sequence));
        }
        groups.show(&b, NOW, Sequence(3));
        let (same, sequence) = groups.next(Some(&a)).unwrap();
        assert_eq!((same, sequence), (a.clone(), Sequence(1)));
        groups.withdraw(&a, NOW, Sequence(1));
        groups.hold(&a, NOW);
        groups.release(&a, NOW);
        assert_eq!(next(&groups), Some(("b".to_owned(), 3)), "a had its turn");
    }

    #[test]
    fn nothing_is_kept_of_a_group_that_is_empty() {
        let (mut groups, a) = (Groups::default(), name("a"));
        groups.show(&a, NOW, Sequence(1));
        groups.withdraw(&a, NOW, Sequence(1));
        groups.withdraw(&a, NOW, Sequence(1));
        assert!(groups.groups.is_empty() && groups.ready.is_empty());
        assert_eq!(groups.takeable(), 0);
    }
}
