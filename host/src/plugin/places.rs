//! The places for instances, host-wide: who may make one, what is kept warm, and what makes room.
//!
//! Invariants:
//! - Instances that answer a call, idle, or are being dropped are together never more than there
//!   are places; the place is there before the instance is.
//! - An idle instance is in nobody's way: it goes when somebody else needs its place.
//! - An instance is dropped by a guest's thread or by the thread that is here for it, and its place
//!   is free only afterwards. The I/O runtime drops none: unmapping takes time.
//! - A waiter that is dropped hands its place on.

use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;

use tokio::time::Instant;

use super::admission::Admission;
use super::lane::LaneId;
use super::line::Ticket;
use super::stock::{PoolId, Stock};
use super::warm::Warm;

/// The places of a host.
pub(super) struct Places {
    state: Mutex<State>,
    /// Wakes the thread that drops instances.
    changed: Condvar,
}

struct State {
    admission: Admission<Waker>,
    stock: Stock<Warm>,
    /// To be dropped.
    dead: Vec<Warm>,
    /// When to look for instances that idled until they were too old.
    look: Option<Instant>,
    over: bool,
}

impl State {
    /// Lets in whoever may come in.
    fn grant(&mut self) {
        while let Some(waker) = self.admission.grant() {
            waker.wake();
        }
    }

    /// These have to be dropped; their places are free when they are.
    fn bury(&mut self, dead: Vec<Warm>) {
        self.admission.withhold(dead.len());
        self.dead.extend(dead);
    }
}

impl Places {
    pub(super) fn new(total: NonZeroUsize) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                admission: Admission::new(total.get()),
                stock: Stock::new(),
                dead: Vec::new(),
                look: None,
                over: false,
            }),
            changed: Condvar::new(),
        })
    }

    pub(super) fn join(&self, lane: LaneId) {
        self.state().admission.join(lane);
    }

    pub(super) fn leave(&self, lane: LaneId) {
        let mut state = self.state();
        state.admission.leave(lane);
        // What was kept for it is free for others.
        state.grant();
    }

    /// Waits for a place.
    pub(super) fn enter(self: &Arc<Self>, lane: LaneId) -> Entering {
        Entering {
            places: Arc::clone(self),
            lane,
            asks: Asks::NotYet,
        }
    }

    /// Where the instances of one mount are kept.
    pub(super) fn open(self: &Arc<Self>) -> Pool {
        Pool {
            id: self.state().stock.open(),
            places: Arc::clone(self),
        }
    }

    /// How many calls of a plugin are under way, and how many wait.
    pub(super) fn of(&self, lane: LaneId) -> (usize, usize) {
        self.state().admission.of(lane)
    }

    /// How many instances of a plugin idle.
    pub(super) fn warm_of(&self, lane: LaneId) -> usize {
        let state = self.state();
        state.stock.iter().filter(|warm| warm.lane == lane).count()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The wait for a place.
pub(super) struct Entering {
    places: Arc<Places>,
    lane: LaneId,
    asks: Asks,
}

enum Asks {
    NotYet,
    Waits(Ticket),
    Done,
}

impl Future for Entering {
    type Output = Place;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Place> {
        let entering = &mut *self;
        let mut state = entering.places.state();
        match entering.asks {
            Asks::NotYet if !state.admission.take(entering.lane) => {
                let waker = context.waker().clone();
                if let Some(ticket) = state.admission.wait(entering.lane, waker) {
                    entering.asks = Asks::Waits(ticket);
                }
                return Poll::Pending;
            }
            Asks::Waits(ticket) => {
                if let Some(waker) = state.admission.waiter(entering.lane, ticket) {
                    waker.clone_from(context.waker());
                    return Poll::Pending;
                }
            }
            Asks::NotYet | Asks::Done => {}
        }
        drop(state);
        entering.asks = Asks::Done;
        Poll::Ready(Place {
            places: Arc::clone(&entering.places),
            lane: entering.lane,
            held: true,
        })
    }
}

impl Drop for Entering {
    fn drop(&mut self) {
        if let Asks::Waits(ticket) = self.asks {
            let mut state = self.places.state();
            if !state.admission.withdraw(self.lane, ticket) {
                state.admission.end(self.lane);
                state.grant();
            }
        }
    }
}

/// A place that a call has. The call's instance must be dropped before it.
pub(super) struct Place {
    places: Arc<Places>,
    lane: LaneId,
    held: bool,
}

impl Place {
    /// An instance that idles in `pool`; or none, and room for a new one. What had to go for that is
    /// dropped here.
    pub(super) fn instance(&self, pool: Option<PoolId>) -> Option<Warm> {
        let evicted = {
            let mut state = self.places.state();
            if let Some(warm) = pool.and_then(|pool| state.stock.take(pool)) {
                return Some(warm);
            }
            let live = state.admission.taken() + state.stock.len();
            let full = live > state.admission.total();
            full.then(|| state.stock.evict()).flatten()
        };
        drop(evicted);
        None
    }

    /// Ends the call and keeps its instance, if its pool is still there.
    pub(super) fn keep(mut self, pool: PoolId, until: Option<Instant>, warm: Warm) {
        let places = Arc::clone(&self.places);
        let mut state = places.state();
        match state.stock.put(pool, until, warm) {
            Ok(()) => {
                self.held = false;
                state.admission.end(self.lane);
                state.grant();
                if until.is_some_and(|until| state.look.is_none_or(|look| until < look)) {
                    state.look = until;
                    places.changed.notify_one();
                }
            }
            Err(warm) => {
                drop(state);
                // Before its place is free, which is at the end of this.
                drop(warm);
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.held {
            let mut state = self.places.state();
            state.admission.end(self.lane);
            state.grant();
        }
    }
}

/// Where the instances of one mount of one version are kept. With it they go.
pub(super) struct Pool {
    places: Arc<Places>,
    id: PoolId,
}

impl Pool {
    /// What a call knows its pool by, which may be gone when it ends.
    pub(super) fn id(&self) -> PoolId {
        self.id
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut state = self.places.state();
        let idle = state.stock.close(self.id);
        if !idle.is_empty() {
            state.bury(idle);
            self.places.changed.notify_one();
        }
    }
}

/// The thread that drops instances that nobody's call ends with: those of versions that are over,
/// and those that idled until they were too old.
pub(super) struct Undertaker {
    places: Arc<Places>,
    thread: Option<JoinHandle<()>>,
}

impl Undertaker {
    pub(super) fn start(places: &Arc<Places>) -> std::io::Result<Self> {
        let of = Arc::clone(places);
        let thread = std::thread::Builder::new()
            .name("instances".into())
            .spawn(move || of.bury_the_dead())?;
        Ok(Self {
            places: Arc::clone(places),
            thread: Some(thread),
        })
    }
}

impl Drop for Undertaker {
    fn drop(&mut self) {
        self.places.state().over = true;
        self.places.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Places {
    fn bury_the_dead(&self) {
        let mut state = self.state();
        loop {
            let dead = std::mem::take(&mut state.dead);
            if !dead.is_empty() {
                drop(state);
                let places = dead.len();
                drop(dead);
                state = self.state();
                state.admission.restore(places);
                state.grant();
                continue;
            }
            if state.over {
                return;
            }
            let now = Instant::now();
            state = match state.look {
                Some(look) if look <= now => {
                    let old = state.stock.too_old(now);
                    state.bury(old);
                    state.look = state.stock.next_too_old();
                    state
                }
                Some(look) => {
                    let woken = self.changed.wait_timeout(state, look - now);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                None => {
                    let woken = self.changed.wait(state);
                    woken.unwrap_or_else(PoisonError::into_inner)
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const A: LaneId = LaneId(1);
    const B: LaneId = LaneId(2);

    fn places(total: usize) -> Arc<Places> {
        let places = Places::new(NonZeroUsize::new(total).expect("it is not 0"));
        places.join(A);
        places.join(B);
        places
    }

    #[tokio::test]
    async fn a_place_that_is_given_back_goes_to_whoever_waits() {
        let places = places(1);
        let first = places.enter(A).await;
        let waits = tokio::spawn(places.enter(A));
        tokio::task::yield_now().await;
        assert_eq!(places.of(A), (1, 1));
        drop(first);
        let second = waits.await.expect("it does not panic");
        assert_eq!(places.of(A), (1, 0));
        drop(second);
        assert_eq!(places.of(A), (0, 0));
    }

    #[tokio::test]
    async fn a_waiter_that_is_dropped_takes_no_place_and_hands_on_one_that_it_was_given() {
        let places = places(1);
        let first = places.enter(B).await;
        let mut gives_up = Box::pin(places.enter(A));
        let mut is_given = Box::pin(places.enter(A));
        let mut last = Box::pin(places.enter(B));
        assert!((&mut gives_up).now_or_never().is_none());
        assert!((&mut is_given).now_or_never().is_none());
        assert!((&mut last).now_or_never().is_none());
        drop(gives_up);
        assert_eq!((places.of(A), places.of(B)), ((0, 1), (1, 1)));
        drop(first);
        // The place is the second one's, though it has not been told yet.
        assert_eq!((places.of(A), places.of(B)), ((1, 0), (0, 1)));
        drop(is_given);
        let place = last.await;
        assert_eq!((places.of(A), places.of(B)), ((0, 0), (1, 0)));
        drop(place);
        assert_eq!(places.of(B), (0, 0));
    }
}
