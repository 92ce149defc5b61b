//! A call of a guest: admitted, timed, made on a fresh instance or on a warm one.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::allowance::Allowance;
use super::bindings::batch::BatchHandlerPre;
use super::bindings::single::SingleHandlerPre;
use super::deadline::Deadline;
use super::engine::Guests;
use super::failure::failure;
use super::guest::{Guest, store};
use super::lane::{Lane, LaneId};
use super::life::Life;
use super::log::Subject;
use super::places::Place;
use super::publish::Publishing;
use super::stock::PoolId;
use super::warm::Warm;
use crate::config::Reuse;
use crate::handler::Failure;

/// A component that is linked, ready to be instantiated.
#[derive(Clone)]
pub(super) enum Linked {
    Single(SingleHandlerPre<Guest>),
    Batch(BatchHandlerPre<Guest>),
}

/// A call that is about to be made.
pub(super) struct Calling {
    pub(super) guests: Arc<Guests>,
    pub(super) lane: Arc<Lane>,
    pub(super) linked: Linked,
    pub(super) allowance: Arc<Allowance>,
    pub(super) subject: Subject,
    pub(super) publishing: Option<Publishing>,
    pub(super) limit: Option<Duration>,
    /// How many messages it is about.
    pub(super) messages: u64,
    /// The instances that it may be made on, and that its own may join.
    pub(super) reuse: Option<(PoolId, Reuse)>,
}

impl Calling {
    /// Makes the call, once there is a place for its instance. Its time begins there.
    ///
    /// An instance is kept only if the guest has answered. Whatever else ends the call, a trap, a
    /// limit, or that nobody waits for the answer, drops the instance with its store (rule 9.3),
    /// and only then gives the place back.
    pub(super) async fn make<T>(
        self,
        ask: impl AsyncFnOnce(&mut Warm) -> wasmtime::Result<T>,
    ) -> Result<T, Failure> {
        let (guests, lane) = (Arc::clone(&self.guests), self.lane.id());
        let place = guests.places().enter(lane).await;
        let _ticking = guests.ticking();
        let deadline = Deadline::after(self.limit, self.allowance.cpu_time);
        let pool = self.reuse.as_ref().map(|(pool, _)| *pool);
        let warm = place.instance(pool);
        let (messages, reuse) = (self.messages, self.reuse.clone());
        let (answer, warm) = self.on(warm, lane, deadline, ask).await?;
        if let Some((pool, reuse)) = reuse {
            finish(place, pool, &reuse, messages, warm);
        }
        Ok(answer)
    }

    /// Makes the call to a plugin that is being loaded, on a fresh instance. It is let in beside
    /// the calls of plugins that serve, so that no version that hangs keeps the next one out.
    pub(super) async fn probe<T>(
        self,
        ask: impl AsyncFnOnce(&mut Warm) -> wasmtime::Result<T>,
    ) -> Result<T, Failure> {
        let guests = Arc::clone(&self.guests);
        let _place = guests.probing().await;
        let _ticking = guests.ticking();
        let deadline = Deadline::after(self.limit, self.allowance.cpu_time);
        let lane = self.lane.id();
        let (answer, _) = self.on(None, lane, deadline, ask).await?;
        Ok(answer)
    }

    async fn on<T>(
        self,
        warm: Option<Warm>,
        lane: LaneId,
        deadline: Deadline,
        ask: impl AsyncFnOnce(&mut Warm) -> wasmtime::Result<T>,
    ) -> Result<(T, Warm), Failure> {
        let answered = async {
            let (subject, publishing) = (self.subject, self.publishing);
            let mut warm = match warm {
                Some(mut warm) => {
                    let (guest, deadline) = (warm.store.data_mut(), deadline.clone());
                    guest.begin(subject, publishing, deadline);
                    // The tick that it would yield at is long past.
                    warm.store.set_epoch_deadline(1);
                    warm
                }
                None => {
                    let mut store = store(&self.guests, &self.lane, &self.allowance);
                    let (guest, deadline) = (store.data_mut(), deadline.clone());
                    guest.begin(subject, publishing, deadline);
                    let life = Life::begin(Instant::now());
                    Warm::make(&self.linked, store, life, lane).await?
                }
            };
            let answer = ask(&mut warm).await?;
            Ok((answer, warm))
        };
        let answered = async { answered.await.map_err(|error| failure(&error)) };
        deadline.limit(answered).await
    }
}

/// After an answer: the instance is kept, or dropped before its place is free.
fn finish(place: Place, pool: PoolId, reuse: &Reuse, messages: u64, mut warm: Warm) {
    let memory = warm.store.data().memory();
    let now = Instant::now();
    match warm.life.after_call(reuse, messages, memory, now) {
        None => {
            warm.store.data_mut().end();
            place.keep(pool, warm.life.until(reuse), warm);
        }
        Some(why) => {
            tracing::trace!(?why, "an instance is not used again");
            drop(warm);
        }
    }
}
