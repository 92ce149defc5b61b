//! Whose guest runs next on the guests' threads.
//!
//! There is one turn a core, and a guest is polled only in its turn: until it waits for
//! something, or yields at a tick of the epoch. Turns go to the plugin that has used the least
//! time, so a plugin with a thousand calls that loop has no more of the cores than one with a
//! single call that does, and one that is seldom there goes next.
//!
//! Some turns cannot be cut at a tick: an instruction that fills a hundred megabytes, or the end of
//! an instance that had them. While no turn ends, plugins of which nothing runs are lent one more
//! at a time, on threads that are there for this alone; the operating system shares the cores then.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::lane::{self, LaneId};
use super::line::{Line, Ticket};
use crate::limits::EPOCH_TICK;

/// The decision alone: whose turn is next. `W` is what a waiter is woken by.
struct Schedule<W> {
    /// How many turns may begin; below zero, how many are lent.
    free: isize,
    /// How many may be lent at once.
    spare: isize,
    lanes: BTreeMap<LaneId, Lane<W>>,
    /// The plugins that wait, by the time that they have used.
    ready: BTreeSet<(Duration, LaneId)>,
    /// What the last one had used whose turn came: a plugin that comes, or comes back, starts from
    /// here, or it would have saved up time while it did nothing.
    clock: Duration,
    next: Ticket,
}

struct Lane<W> {
    used: Duration,
    running: usize,
    line: Line<W>,
}

impl<W> Schedule<W> {
    fn new(turns: usize, spare: usize) -> Self {
        let number = |of: usize| isize::try_from(of).unwrap_or(isize::MAX);
        Self {
            free: number(turns),
            spare: number(spare),
            lanes: BTreeMap::new(),
            ready: BTreeSet::new(),
            clock: Duration::ZERO,
            next: 0,
        }
    }

    fn join(&mut self, id: LaneId) {
        let lane = Lane {
            used: self.clock,
            running: 0,
            line: Line::default(),
        };
        self.lanes.insert(id, lane);
    }

    fn leave(&mut self, id: LaneId) {
        if let Some(lane) = self.lanes.remove(&id) {
            self.ready.remove(&(lane.used, id));
        }
    }

    /// A turn now, or a place in the line.
    fn ask(&mut self, id: LaneId, waiter: W) -> Option<Ticket> {
        let clock = self.clock;
        let lane = self.lanes.get_mut(&id)?;
        if lane.running == 0 && lane.line.is_empty() {
            lane.used = lane.used.max(clock);
        }
        // While a turn is free nobody waits.
        if self.free > 0 {
            self.begin(id);
            return None;
        }
        let ticket = self.next;
        self.next += 1;
        if lane.line.is_empty() {
            self.ready.insert((lane.used, id));
        }
        lane.line.push(ticket, waiter);
        Some(ticket)
    }

    /// Whoever asked and waits no longer has a turn.
    fn waiter(&mut self, id: LaneId, ticket: Ticket) -> Option<&mut W> {
        self.lanes.get_mut(&id)?.line.get_mut(ticket)
    }

    /// Gives up waiting. False where it has a turn, which it must end.
    fn withdraw(&mut self, id: LaneId, ticket: Ticket) -> bool {
        let Some(lane) = self.lanes.get_mut(&id) else {
            return true;
        };
        let waited = lane.line.remove(ticket).is_some();
        if waited && lane.line.is_empty() {
            self.ready.remove(&(lane.used, id));
        }
        waited
    }

    /// Ends a turn that took so long, and answers whose is next.
    fn end(&mut self, id: LaneId, took: Duration) -> Option<W> {
        self.free += 1;
        if let Some(lane) = self.lanes.get_mut(&id) {
            let before = lane.used;
            lane.running -= 1;
            lane.used = (lane.used + took).saturating_sub(EPOCH_TICK);
            if self.ready.remove(&(before, id)) {
                self.ready.insert((lane.used, id));
            }
        }
        if self.free > 0 {
            let next = *self.ready.first()?;
            self.next_of(next)
        } else {
            self.lend()
        }
    }

    /// A turn more than there are, for a plugin of which nothing runs.
    fn lend(&mut self) -> Option<W> {
        if self.free <= -self.spare {
            return None;
        }
        let waits = |(_, id): &&(Duration, LaneId)| {
            let lane = self.lanes.get(id);
            lane.is_some_and(|lane| lane.running == 0)
        };
        let next = *self.ready.iter().find(waits)?;
        self.next_of(next)
    }

    fn next_of(&mut self, (used, next): (Duration, LaneId)) -> Option<W> {
        self.clock = self.clock.max(used);
        let waiter = self.lanes.get_mut(&next)?.line.pop();
        self.ready.remove(&(used, next));
        self.begin(next);
        let lane = self.lanes.get(&next)?;
        if !lane.line.is_empty() {
            self.ready.insert((lane.used, next));
        }
        waiter
    }

    /// A turn is paid for by a whole tick when it begins, and what it did not use comes back: else
    /// a plugin could have every thread before the first of its turns is over.
    fn begin(&mut self, id: LaneId) {
        if let Some(lane) = self.lanes.get_mut(&id) {
            self.free -= 1;
            lane.running += 1;
            lane.used += EPOCH_TICK;
        }
    }
}

/// The turns of the guests' threads.
pub(super) struct Turns(Mutex<Moving>);

struct Moving {
    schedule: Schedule<Waker>,
    /// When a turn last ended, or was lent.
    moved: Instant,
}

impl Turns {
    /// So many turns, and as many more that may be lent: each needs a thread.
    pub(super) fn of(turns: usize, spare: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Moving {
            schedule: Schedule::new(turns, spare),
            moved: Instant::now(),
        })))
    }

    /// To be called at each tick: lends a turn where none has ended for two of them.
    pub(super) fn tick(&self) {
        let mut moving = self.moving();
        if moving.moved.elapsed() < 2 * EPOCH_TICK {
            return;
        }
        let next = moving.schedule.lend();
        if next.is_some() {
            moving.moved = Instant::now();
        }
        drop(moving);
        if let Some(next) = next {
            next.wake();
        }
    }

    pub(super) fn join(&self, lane: LaneId) {
        self.moving().schedule.join(lane);
    }

    pub(super) fn leave(&self, lane: LaneId) {
        self.moving().schedule.leave(lane);
    }

    /// `call`, polled only in turns of the plugin.
    pub(super) fn taking<F: Future>(lane: &Arc<lane::Lane>, call: F) -> InTurns<F> {
        InTurns {
            call: Box::pin(call),
            turn: Turn {
                lane: Arc::clone(lane),
                waits: None,
                has: None,
            },
        }
    }

    fn moving(&self) -> MutexGuard<'_, Moving> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that is polled in turns.
pub(super) struct InTurns<F> {
    call: Pin<Box<F>>,
    turn: Turn,
}

/// A turn, or the wait for it. Dropped, it is the next one's.
struct Turn {
    lane: Arc<lane::Lane>,
    waits: Option<Ticket>,
    has: Option<Instant>,
}

impl<F: Future> Future for InTurns<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        if self.turn.begin(context).is_pending() {
            return Poll::Pending;
        }
        let polled = self.call.as_mut().poll(context);
        self.turn.end();
        polled
    }
}

impl Turn {
    fn begin(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut moving = self.lane.turns().moving();
        let (schedule, lane) = (&mut moving.schedule, self.lane.id());
        match self.waits {
            None => self.waits = schedule.ask(lane, context.waker().clone()),
            Some(ticket) => match schedule.waiter(lane, ticket) {
                Some(waker) => waker.clone_from(context.waker()),
                None => self.waits = None,
            },
        }
        if self.waits.is_some() {
            return Poll::Pending;
        }
        self.has = Some(Instant::now());
        Poll::Ready(())
    }

    fn end(&mut self) {
        if let Some(since) = self.has.take() {
            self.pass_on(since.elapsed());
        }
    }

    fn withdrawn(&self, ticket: Ticket) -> bool {
        let schedule = &mut self.lane.turns().moving().schedule;
        schedule.withdraw(self.lane.id(), ticket)
    }

    fn pass_on(&self, took: Duration) {
        let mut moving = self.lane.turns().moving();
        moving.moved = Instant::now();
        let next = moving.schedule.end(self.lane.id(), took);
        drop(moving);
        if let Some(next) = next {
            next.wake();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.end();
        if let Some(ticket) = self.waits.take()
            && !self.withdrawn(ticket)
        {
            self.pass_on(Duration::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPS: LaneId = LaneId(1);
    const QUICK: LaneId = LaneId(2);
    const SHORT: Duration = Duration::from_micros(20);

    fn schedule(threads: usize) -> Schedule<LaneId> {
        let mut schedule = Schedule::new(threads, 1);
        schedule.join(LOOPS);
        schedule.join(QUICK);
        schedule
    }

    // Rule 9.2.
    #[test]
    fn the_next_turn_is_the_quick_plugins_however_many_of_the_others_wait() {
        let mut schedule = schedule(2);
        for _ in 0..2 {
            assert_eq!(schedule.ask(LOOPS, LOOPS), None, "a turn is free");
        }
        for _ in 0..100 {
            assert!(schedule.ask(LOOPS, LOOPS).is_some());
        }
        for _ in 0..1000 {
            assert_eq!(schedule.end(LOOPS, EPOCH_TICK), Some(LOOPS));
            assert!(schedule.ask(LOOPS, LOOPS).is_some());
        }
        for _ in 0..1000 {
            assert!(schedule.ask(QUICK, QUICK).is_some());
            assert_eq!(schedule.end(LOOPS, EPOCH_TICK), Some(QUICK));
            assert!(schedule.ask(LOOPS, LOOPS).is_some());
            assert_eq!(schedule.end(QUICK, SHORT), Some(LOOPS));
        }
    }

    // Rule 9.2: many calls are no more of a claim than one.
    #[test]
    fn plugins_that_loop_share_the_threads_alike() {
        let mut schedule = schedule(2);
        let mut turns = BTreeMap::from([(LOOPS, 0), (QUICK, 0)]);
        let mut running = Vec::new();
        for (lane, calls) in [(LOOPS, 50), (QUICK, 1)] {
            for _ in 0..calls {
                if schedule.ask(lane, lane).is_none() {
                    running.push(lane);
                }
            }
        }
        for _ in 0..1000 {
            let lane = running.remove(0);
            *turns.get_mut(&lane).expect("it has joined") += 1;
            let next = schedule.end(lane, EPOCH_TICK);
            running.extend(next);
            assert!(schedule.ask(lane, lane).is_some(), "the threads are busy");
        }
        // One call runs on one thread at most, so half of two threads is all that it could have;
        // and a call that yields is not in the line at the moment when its own turn ends.
        assert!(turns[&QUICK] >= 330, "{turns:?}");
    }

    // Rule 9.2: what cannot be cut at a tick holds up no other plugin.
    #[test]
    fn a_plugin_of_which_nothing_runs_is_lent_a_turn_while_none_ends() {
        let mut schedule = schedule(2);
        let third = LaneId(3);
        schedule.join(third);
        for _ in 0..2 {
            assert_eq!(schedule.ask(LOOPS, LOOPS), None);
        }
        assert_eq!(schedule.lend(), None, "nobody waits");
        assert!(schedule.ask(LOOPS, LOOPS).is_some());
        assert_eq!(schedule.lend(), None, "of that one two calls run");
        assert!(schedule.ask(QUICK, QUICK).is_some());
        assert!(schedule.ask(third, third).is_some());
        assert_eq!(schedule.lend(), Some(QUICK));
        assert_eq!(schedule.lend(), None, "there is one to lend");
        assert_eq!(schedule.end(QUICK, SHORT), Some(third), "lent on");
        assert_eq!(schedule.end(third, SHORT), None, "given back");
        assert_eq!(schedule.end(LOOPS, EPOCH_TICK), Some(LOOPS));
        assert_eq!(schedule.end(LOOPS, EPOCH_TICK), None);
        assert_eq!(schedule.end(LOOPS, EPOCH_TICK), None);
        assert_eq!(schedule.free, 2);
    }

    #[test]
    fn whoever_gives_up_hands_its_turn_on() {
        let mut schedule = schedule(1);
        assert_eq!(schedule.ask(LOOPS, LOOPS), None);
        let first = schedule.ask(QUICK, QUICK).expect("it waits");
        let second = schedule.ask(LOOPS, LOOPS).expect("it waits");
        assert!(schedule.withdraw(LOOPS, second));
        assert_eq!(schedule.end(LOOPS, SHORT), Some(QUICK));
        assert!(!schedule.withdraw(QUICK, first), "its turn had come");
        assert_eq!(schedule.end(QUICK, Duration::ZERO), None);
        assert_eq!(schedule.ask(LOOPS, LOOPS), None, "the turn is free again");
    }

    #[test]
    fn a_plugin_that_did_nothing_has_saved_up_nothing() {
        let mut schedule = schedule(1);
        assert_eq!(schedule.ask(LOOPS, LOOPS), None);
        assert!(schedule.ask(LOOPS, LOOPS).is_some());
        for _ in 0..1000 {
            assert_eq!(schedule.end(LOOPS, EPOCH_TICK), Some(LOOPS));
            assert!(schedule.ask(LOOPS, LOOPS).is_some());
        }
        // It comes late, and loops too.
        for _ in 0..10 {
            assert!(schedule.ask(QUICK, QUICK).is_some());
        }
        let mut running = LOOPS;
        let turns = std::iter::repeat_with(|| {
            let next = schedule.end(running, EPOCH_TICK).expect("many wait");
            assert!(schedule.ask(running, running).is_some());
            running = next;
            next
        });
        let quick = turns.take(100).filter(|next| *next == QUICK).count();
        assert!((49..=51).contains(&quick), "{quick} of 100");
    }
}
