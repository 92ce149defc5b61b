//! Who is next, where messages of one group wait for each other. Pure.
//!
//! Invariants: of one group at most one call is under way (rule 5.12); calls begin in the order of
//! arrival as far as their groups allow it; a message without a group waits for nobody.

use std::collections::{HashSet, VecDeque};

use crate::handler::GroupId;

/// What one call takes: a message, or a batch, with the groups that are in it.
#[derive(Debug)]
struct Waiting<T> {
    items: Vec<(Option<GroupId>, T)>,
}

impl<T> Waiting<T> {
    fn groups(&self) -> impl Iterator<Item = &GroupId> {
        self.items.iter().filter_map(|(group, _)| group.as_ref())
    }
}

/// What waits for a call, and the groups that calls are under way for.
#[derive(Debug)]
pub(super) struct Lines<T> {
    waiting: VecDeque<Waiting<T>>,
    busy: HashSet<GroupId>,
}

impl<T> Lines<T> {
    pub(super) fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            busy: HashSet::new(),
        }
    }

    /// Lets what one call shall take wait. `items` is not empty.
    pub(super) fn add(&mut self, items: Vec<(Option<GroupId>, T)>) {
        self.waiting.push_back(Waiting { items });
    }

    /// The next call's messages: the first that wait for no group. Their groups are busy until
    /// [`Lines::finish`].
    pub(super) fn next(&mut self) -> Option<Vec<T>> {
        // A group that stands further ahead must not be overtaken.
        let mut ahead: HashSet<&GroupId> = HashSet::new();
        let free = self.waiting.iter().position(|waiting| {
            let free = waiting
                .groups()
                .all(|group| !self.busy.contains(group) && !ahead.contains(group));
            if !free {
                ahead.extend(waiting.groups());
            }
            free
        })?;
        let taken = self.waiting.remove(free)?;
        self.busy.extend(taken.groups().cloned());
        Some(taken.items.into_iter().map(|(_, item)| item).collect())
    }

    /// A call has ended and its messages are settled: its `groups` are free. Of the groups that are
    /// `left` a message is still on the queue: what waits of them is handed back, to be released,
    /// for it has to come after that message. But not what `came_back`: that is the very message,
    /// received again already.
    pub(super) fn finish(
        &mut self,
        groups: &HashSet<GroupId>,
        left: &HashSet<GroupId>,
        came_back: impl Fn(&T) -> bool,
    ) -> Vec<T> {
        self.busy.retain(|group| !groups.contains(group));
        let mut tail = Vec::new();
        if left.is_empty() {
            return tail;
        }
        for waiting in &mut self.waiting {
            let items = std::mem::take(&mut waiting.items);
            for (group, item) in items {
                match group {
                    Some(group) if left.contains(&group) && !came_back(&item) => tail.push(item),
                    group => waiting.items.push((group, item)),
                }
            }
        }
        self.waiting.retain(|waiting| !waiting.items.is_empty());
        tail
    }

    /// Everything that waits.
    pub(super) fn take_all(&mut self) -> Vec<T> {
        let all = self.waiting.drain(..).flat_map(|waiting| waiting.items);
        all.map(|(_, item)| item).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `A1` is a message of group `A`, `-1` one without a group.
    fn item(text: &'static str) -> (Option<GroupId>, &'static str) {
        let group = &text[..1];
        ((group != "-").then(|| group.into()), text)
    }

    fn lines(calls: &[&[&'static str]]) -> Lines<&'static str> {
        let mut lines = Lines::new();
        for call in calls {
            lines.add(call.iter().map(|text| item(text)).collect());
        }
        lines
    }

    fn groups(names: &[&str]) -> HashSet<GroupId> {
        names.iter().map(|name| GroupId::from(*name)).collect()
    }

    // Rule 5.12: one at a time and in order within a group, groups beside each other.
    #[test]
    fn a_group_has_one_call_at_a_time_and_the_others_pass_it() {
        let mut lines = lines(&[&["A1"], &["A2"], &["B1"], &["A3"], &["B2"]]);
        assert_eq!(lines.next(), Some(vec!["A1"]));
        assert_eq!(lines.next(), Some(vec!["B1"]));
        assert_eq!(lines.next(), None);
        assert!(
            lines
                .finish(&groups(&["A"]), &groups(&[]), |_| false)
                .is_empty()
        );
        assert_eq!(lines.next(), Some(vec!["A2"]));
        assert_eq!(lines.next(), None);
        assert!(
            lines
                .finish(&groups(&["B"]), &groups(&[]), |_| false)
                .is_empty()
        );
        assert_eq!(lines.next(), Some(vec!["B2"]));
        assert!(
            lines
                .finish(&groups(&["A"]), &groups(&[]), |_| false)
                .is_empty()
        );
        assert_eq!(lines.next(), Some(vec!["A3"]));
        assert!(lines.is_empty());
    }

    // Rule 5.12: what waits behind a message that stays on the queue is handed back.
    #[test]
    fn the_tail_of_a_group_that_failed_is_handed_back() {
        let mut lines = lines(&[&["A1"], &["A2"], &["B1"], &["A3"]]);
        assert_eq!(lines.next(), Some(vec!["A1"]));
        assert_eq!(
            lines.finish(&groups(&["A"]), &groups(&["A"]), |_| false),
            ["A2", "A3"]
        );
        assert_eq!(lines.next(), Some(vec!["B1"]));
        assert!(lines.is_empty());
    }

    // Rule 5.12: a message that is back before its settlement was answered is not released again.
    #[test]
    fn a_message_that_came_back_is_no_tail_of_its_own() {
        let mut lines = lines(&[&["A1"], &["A2"], &["A1"]]);
        assert_eq!(lines.next(), Some(vec!["A1"]));
        let tail = lines.finish(&groups(&["A"]), &groups(&["A"]), |item| *item == "A1");
        assert_eq!(tail, ["A2"]);
        assert_eq!(lines.next(), Some(vec!["A1"]));
    }

    // Rule 5.12: a batch waits for each of its groups, and nothing overtakes it.
    #[test]
    fn a_batch_waits_for_each_group_that_is_in_it() {
        let mut lines = lines(&[&["A1", "B1"], &["B2", "C1"], &["C2"], &["D1"]]);
        assert_eq!(lines.next(), Some(vec!["A1", "B1"]));
        assert_eq!(lines.next(), Some(vec!["D1"]), "C2 is after C1");
        assert_eq!(
            lines.finish(&groups(&["A", "B"]), &groups(&["B"]), |_| false),
            ["B2"]
        );
        assert_eq!(lines.next(), Some(vec!["C1"]));
        assert_eq!(lines.next(), None);
    }

    // Rule 1.7: what has no group is handed out as it came.
    #[test]
    fn a_message_without_a_group_waits_for_nobody() {
        let mut lines = lines(&[&["-1"], &["-2"], &["-3"]]);
        assert_eq!(lines.next(), Some(vec!["-1"]));
        assert_eq!(lines.next(), Some(vec!["-2"]));
        assert!(
            lines
                .finish(&groups(&[]), &groups(&[]), |_| false)
                .is_empty()
        );
        assert_eq!(lines.take_all(), ["-3"]);
        assert!(lines.is_empty());
    }
}
