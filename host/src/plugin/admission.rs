//! Which plugin may have one more call under way: the decision alone, with no waiting in it.
//!
//! Invariants:
//! - Never more calls are under way than there are places.
//! - Every plugin has a guaranteed share, and what is unfilled of it stays free for it: a plugin
//!   whose calls take for ever cannot have it.
//! - Beyond its share a plugin has what is left, and a free place goes to the waiting plugin with
//!   the fewest calls under way; among those to the one whose last call began the longest ago, so
//!   that where there are fewer places than plugins they take turns. Within a plugin the first that
//!   came is the first that is served.
//! - No place that somebody who waits may have is free.

use std::collections::BTreeMap;

use super::lane::LaneId;
use super::line::{Line, Ticket};

/// The places for calls, and who waits for one. `W` is what a waiter is woken by.
pub(super) struct Admission<W> {
    total: usize,
    /// Places that are taken by what is neither a call nor gone: instances that are being dropped.
    withheld: usize,
    active: usize,
    waiting: usize,
    /// The sum of what is unfilled of each plugin's share.
    unfilled: usize,
    plugins: BTreeMap<LaneId, Plugin<W>>,
    next: Ticket,
    begun: u64,
}

struct Plugin<W> {
    active: usize,
    /// How many calls of all plugins had begun when its last one did.
    begun: u64,
    line: Line<W>,
}

impl<W> Admission<W> {
    pub(super) fn new(total: usize) -> Self {
        Self {
            total,
            withheld: 0,
            active: 0,
            waiting: 0,
            unfilled: 0,
            plugins: BTreeMap::new(),
            next: 0,
            begun: 0,
        }
    }

    /// A plugin comes. The shares of the others become smaller, which takes no place from anybody.
    pub(super) fn join(&mut self, plugin: LaneId) {
        let comes = Plugin {
            active: 0,
            begun: 0,
            line: Line::default(),
        };
        self.plugins.insert(plugin, comes);
        self.count_unfilled();
    }

    /// A plugin goes, once none of its calls is under way or waits.
    pub(super) fn leave(&mut self, plugin: LaneId) {
        if let Some(gone) = self.plugins.remove(&plugin) {
            debug_assert!(gone.active == 0 && gone.line.is_empty());
        }
        self.count_unfilled();
    }

    /// How many places are each plugin's own: together half of all, and at least one each.
    fn share(&self) -> usize {
        (self.total / (2 * self.plugins.len().max(1))).max(1)
    }

    fn count_unfilled(&mut self) {
        let share = self.share();
        let unfilled = |plugin: &Plugin<W>| share.saturating_sub(plugin.active);
        self.unfilled = self.plugins.values().map(unfilled).sum();
    }

    /// Whether a plugin with so many calls under way may begin one more.
    fn may_have(&self, active: usize) -> bool {
        let taken = self.active + self.withheld;
        let Some(free @ 1..) = self.total.checked_sub(taken) else {
            return false;
        };
        let own = self.share().saturating_sub(active);
        own > 0 || free > self.unfilled
    }

    /// A place at once where the plugin may have one and nobody of it waits.
    pub(super) fn take(&mut self, plugin: LaneId) -> bool {
        let Some(asks) = self.plugins.get(&plugin) else {
            return false;
        };
        let may = asks.line.is_empty() && self.may_have(asks.active);
        if may {
            self.begin(plugin);
        }
        may
    }

    /// Waits: in the end the waiter comes out of [`Admission::grant`].
    pub(super) fn wait(&mut self, plugin: LaneId, waiter: W) -> Option<Ticket> {
        let ticket = self.next;
        let asks = self.plugins.get_mut(&plugin)?;
        asks.line.push(ticket, waiter);
        self.next += 1;
        self.waiting += 1;
        Some(ticket)
    }

    /// One who waits; none where it no longer does.
    pub(super) fn waiter(&mut self, plugin: LaneId, ticket: Ticket) -> Option<&mut W> {
        self.plugins.get_mut(&plugin)?.line.get_mut(ticket)
    }

    /// A waiter gives up. Whether it still waited: if not, it has a place to give back.
    pub(super) fn withdraw(&mut self, plugin: LaneId, ticket: Ticket) -> bool {
        let line = self.plugins.get_mut(&plugin).map(|asks| &mut asks.line);
        let waited = line.is_some_and(|line| line.remove(ticket).is_some());
        self.waiting -= usize::from(waited);
        waited
    }

    /// Gives a free place to whom it belongs. To be called until there is none, after whatever may
    /// have set a place free.
    pub(super) fn grant(&mut self) -> Option<W> {
        if self.waiting == 0 {
            return None;
        }
        let may = self.plugins.iter().filter_map(|(id, plugin)| {
            let first = plugin.line.first()?;
            let may = self.may_have(plugin.active);
            may.then_some((plugin.active, plugin.begun, first, *id))
        });
        let (_, _, _, plugin) = may.min()?;
        self.begin(plugin);
        self.waiting -= 1;
        self.plugins.get_mut(&plugin)?.line.pop()
    }

    fn begin(&mut self, plugin: LaneId) {
        let share = self.share();
        if let Some(begins) = self.plugins.get_mut(&plugin) {
            self.unfilled -= usize::from(begins.active < share);
            begins.active += 1;
            self.begun += 1;
            begins.begun = self.begun;
            self.active += 1;
        }
    }

    /// A call is over.
    pub(super) fn end(&mut self, plugin: LaneId) {
        let share = self.share();
        if let Some(ends) = self.plugins.get_mut(&plugin) {
            ends.active -= 1;
            self.active -= 1;
            self.unfilled += usize::from(ends.active < share);
        }
    }

    /// So many places are not free though no call has them.
    pub(super) fn withhold(&mut self, places: usize) {
        self.withheld += places;
    }

    /// So many of them are free again.
    pub(super) fn restore(&mut self, places: usize) {
        self.withheld -= places;
    }

    /// How many instances live or are being dropped, those that idle not counted.
    pub(super) fn taken(&self) -> usize {
        self.active + self.withheld
    }

    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// How many calls of a plugin are under way, and how many wait.
    pub(super) fn of(&self, plugin: LaneId) -> (usize, usize) {
        let of = self.plugins.get(&plugin);
        of.map_or((0, 0), |plugin| (plugin.active, plugin.line.len()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    const A: LaneId = LaneId(1);
    const B: LaneId = LaneId(2);

    fn of(total: usize, plugins: &[LaneId]) -> Admission<LaneId> {
        let mut admission = Admission::new(total);
        for plugin in plugins {
            admission.join(*plugin);
        }
        admission
    }

    /// Begins as many calls as the plugin may have.
    fn fill(admission: &mut Admission<LaneId>, plugin: LaneId) -> usize {
        std::iter::from_fn(|| admission.take(plugin).then_some(())).count()
    }

    // Rule 9.2: the shares of a slow plugin that would take everything, and of the others.
    #[test]
    fn the_unfilled_shares_of_the_others_stay_free() {
        // total, plugins, what the first gets alone
        let table = [
            (1000, 1, 1000),
            (1000, 2, 750),
            (1000, 10, 550),
            (1000, 200, 602),
            (10, 3, 8),
            (2, 2, 1),
            // One place for two: whoever comes first has it, and one at a time.
            (1, 2, 1),
            (4, 6, 1),
        ];
        for (total, plugins, first) in table {
            let ids: Vec<_> = (0..plugins).map(LaneId).collect();
            let mut admission = of(total, &ids);
            let got = fill(&mut admission, ids[0]);
            assert_eq!(got, first, "{total} places, {plugins} plugins");
        }
    }

    // Rule 9.2.
    #[test]
    fn a_quick_call_goes_before_a_thousand_slow_ones_that_wait() {
        let mut admission = of(10, &[A, B]);
        assert_eq!(fill(&mut admission, A), 8);
        for _ in 0..1000 {
            admission.wait(A, A);
        }
        assert!(admission.grant().is_none(), "what is left is B's");
        assert!(admission.take(B), "the place is free at once");
        assert!(admission.take(B));
        // Beyond its share it waits, and is still next.
        admission.wait(B, B);
        assert!(admission.grant().is_none());
        admission.end(A);
        assert_eq!(admission.grant(), Some(B));
        assert!(admission.grant().is_none());
    }

    // Rule 9.2.
    #[test]
    fn with_fewer_places_than_plugins_they_take_turns() {
        let mut admission = of(1, &[A, B]);
        assert!(admission.take(A));
        for _ in 0..20 {
            admission.wait(A, A);
        }
        admission.wait(B, B);
        admission.end(A);
        assert_eq!(admission.grant(), Some(B));
        admission.wait(B, B);
        admission.end(B);
        assert_eq!(admission.grant(), Some(A), "B has just had its turn");
        admission.end(A);
        assert_eq!(admission.grant(), Some(B));
    }

    #[test]
    fn a_free_place_goes_to_the_plugin_with_the_fewest_calls_and_there_to_the_first() {
        let mut admission = Admission::new(4);
        admission.join(A);
        while admission.take(A) {}
        for n in 1..=3 {
            admission.wait(A, (A, n));
        }
        admission.join(B);
        admission.wait(B, (B, 1));
        admission.wait(B, (B, 2));
        let mut order = Vec::new();
        for _ in 0..4 {
            admission.end(A);
            order.extend(std::iter::from_fn(|| admission.grant()));
        }
        // The last is not A's third: a place stays B's.
        assert_eq!(order, [(B, 1), (B, 2), (A, 1), (A, 2)]);
    }

    #[test]
    fn a_place_that_is_withheld_is_nobodys() {
        let mut admission = of(2, &[A]);
        admission.withhold(1);
        assert_eq!(fill(&mut admission, A), 1);
        let ticket = admission.wait(A, A);
        assert!(admission.grant().is_none());
        admission.restore(1);
        assert_eq!(admission.grant(), Some(A));
        let ticket = ticket.expect("A has joined");
        assert!(!admission.withdraw(A, ticket), "it waits no more");
    }

    // Rule 9.2: whatever comes, goes, waits and gives up, in any order.
    #[test]
    fn never_over_the_bound_and_no_place_free_that_a_waiter_may_have() {
        for seed in 0..200 {
            let mut random = StdRng::seed_from_u64(seed);
            let total = random.random_range(1..=12);
            let count = random.random_range(1..=6);
            let ids: Vec<_> = (0..count).map(LaneId).collect();
            let mut admission = of(total, &ids);
            let mut active = vec![0_usize; ids.len()];
            let mut waiting = vec![VecDeque::new(); ids.len()];
            for _ in 0..2000 {
                let n = random.random_range(0..ids.len());
                match random.random_range(0..10) {
                    0..5 => {
                        if admission.take(ids[n]) {
                            assert!(waiting[n].is_empty(), "nobody overtakes");
                            active[n] += 1;
                        } else {
                            let ticket = admission.wait(ids[n], ids[n]).expect("it has joined");
                            waiting[n].push_back(ticket);
                        }
                    }
                    5..8 if active[n] > 0 => {
                        admission.end(ids[n]);
                        active[n] -= 1;
                    }
                    8 if !waiting[n].is_empty() => {
                        let which = random.random_range(0..waiting[n].len());
                        let ticket = waiting[n].remove(which).expect("it is there");
                        assert!(admission.withdraw(ids[n], ticket));
                    }
                    _ => {}
                }
                while let Some(LaneId(granted)) = admission.grant() {
                    let granted = granted as usize;
                    waiting[granted].pop_front().expect("it waited");
                    active[granted] += 1;
                }
                let sum: usize = active.iter().sum();
                assert!(sum <= total);
                // Told anew from the numbers alone.
                let share = (total / (2 * ids.len())).max(1);
                for n in 0..ids.len() {
                    let others = (0..ids.len()).filter(|other| *other != n);
                    let kept: usize = others.map(|o| share.saturating_sub(active[o])).sum();
                    let free = total - sum;
                    let may = free > 0 && (active[n] < share || free > kept);
                    assert!(waiting[n].is_empty() || !may, "seed {seed}");
                    assert_eq!(admission.of(ids[n]), (active[n], waiting[n].len()));
                }
            }
        }
    }
}
