//! The engine under its lock, and the receives that wait for it.
//!
//! Invariants:
//! - the lock is held for one call of the engine and never across an await;
//! - whatever changes a queue goes through [`Hub::with`], which wakes whoever should look again;
//! - a receive takes messages in the same step in which it returns them: dropped before, it has
//!   taken none.

use super::clock::Clock;
use super::engine::message::{Delivery, Outgoing, Receipt};
use super::engine::refusal::{Kind, Refusal};
use super::engine::time::Time;
use super::engine::{Engine, QueueId, Snapshot, queue_of_arn};
use super::line::{Line, Ticket};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// All state of the server.
#[derive(Debug)]
pub(crate) struct Hub {
    state: Mutex<State>,
    clock: Clock,
    polls_over: CancellationToken,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    engine: Engine,
    lines: HashMap<QueueId, Line>,
    /// The changes that were told of.
    told: u64,
}

/// What a receive asks for.
#[derive(Clone, Debug)]
pub(crate) struct Receive {
    /// At most so many messages.
    pub(crate) most: usize,
    /// Hidden for so many seconds, if not for as long as the queue says.
    pub(crate) visibility: Option<u32>,
    /// Waiting for so many seconds, if not for as long as the queue says.
    pub(crate) wait: Option<u32>,
    /// What a FIFO queue knows a repetition of this receive by.
    pub(crate) attempt: Option<Arc<str>>,
}

impl Hub {
    /// No queues; ids and handles from `seed`.
    #[cfg(test)]
    pub(crate) fn new(seed: u64) -> Self {
        Self::of(Engine::new(seed))
    }

    /// These queues.
    pub(crate) fn of(engine: Engine) -> Self {
        Self {
            state: Mutex::new(State {
                engine,
                lines: HashMap::new(),
                told: 0,
            }),
            clock: Clock::new(),
            polls_over: CancellationToken::new(),
            changed: Notify::new(),
        }
    }

    /// Lets `act` work on the engine, and wakes the receives that its work concerns.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Engine, Time) -> T) -> T {
        let (mut state, now) = self.lock();
        let outcome = act(&mut state.engine, now);
        state.wake_touched(now);
        self.tell(&mut state);
        outcome
    }

    /// The queues as they are now, for a file.
    pub(crate) fn to_snapshot(&self) -> Snapshot {
        self.lock().0.engine.to_snapshot()
    }

    /// Returns when anything was done since this returned last.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Something was done beside the queues that is kept with them.
    pub(crate) fn note_change(&self) {
        self.changed.notify_one();
    }

    fn tell(&self, state: &mut State) {
        let changes = state.engine.changes();
        if changes != state.told {
            state.told = changes;
            self.changed.notify_one();
        }
    }

    /// The time now, for those who keep things beside the queues.
    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Puts a message into the queue of this ARN, as SNS does.
    ///
    /// # Errors
    /// `InvalidParameterValue` for what is not a queue's ARN, and whatever the queue refuses.
    pub(crate) fn deliver(&self, arn: &str, outgoing: &Outgoing) -> Result<Receipt, Refusal> {
        let name = queue_at(arn)?;
        self.with(|engine, now| engine.send(now, name, outgoing))
    }

    /// The `Policy` of the queue of this ARN: whom it lets in.
    ///
    /// # Errors
    /// `InvalidParameterValue` for what is not a queue's ARN, `QueueDoesNotExist`.
    pub(crate) fn policy(&self, arn: &str) -> Result<Option<String>, Refusal> {
        let name = queue_at(arn)?;
        let asked = ["Policy".to_owned()];
        let mut attributes = self.with(|engine, now| engine.attributes(now, name, &asked))?;
        Ok(attributes.remove("Policy"))
    }

    /// From now on no receive waits: those that do return what there is.
    pub(crate) fn end_polls(&self) {
        self.polls_over.cancel();
    }

    /// Receives messages, and waits for them if there are none. `client_is_there` is asked each time
    /// before any are taken.
    ///
    /// # Errors
    /// `QueueDoesNotExist`, also when the queue is deleted meanwhile; `OverLimit`, but a receive that
    /// waits then waits, as SQS has it.
    pub(crate) async fn receive(
        &self,
        name: &str,
        wanted: Receive,
        client_is_there: impl Fn() -> bool,
    ) -> Result<Vec<Delivery>, Refusal> {
        if !client_is_there() {
            return Ok(Vec::new());
        }
        let (place, wait) = {
            let (mut state, now) = self.lock();
            let id = state.engine.find(name)?;
            let wait = wanted.wait.unwrap_or_else(|| state.engine.default_wait(id));
            let waits = wait > 0 && !self.polls_over.is_cancelled();
            if let Some(again) = state.take_again(now, name, &wanted)? {
                return Ok(again);
            }
            let taken = state.take(now, id, None, name, &wanted, waits)?;
            self.tell(&mut state);
            if !taken.is_empty() || !waits {
                return Ok(taken);
            }
            (self.join(&mut state, id, wanted.most), wait)
        };
        let deadline = Instant::now() + Duration::from_secs(u64::from(wait));
        loop {
            let last = self.sleep(&place, deadline).await;
            if !client_is_there() {
                return Ok(Vec::new());
            }
            let (mut state, now) = self.lock();
            if state.engine.find(name)? != place.queue {
                return Err(Refusal::no_queue(name));
            }
            let taken = state.take(now, place.queue, Some(place.ticket), name, &wanted, !last)?;
            self.tell(&mut state);
            if last || !taken.is_empty() {
                return Ok(taken);
            }
        }
    }

    /// Sleeps until there is cause to look again; whether for the last time.
    async fn sleep(&self, place: &Place<'_>, deadline: Instant) -> bool {
        let due = {
            let (mut state, now) = self.lock();
            state
                .watch(place, now)
                .map(|due| Instant::now() + now.until(due))
        };
        let until = due.map_or(deadline, |due| due.min(deadline));
        tokio::select! {
            biased;
            () = self.polls_over.cancelled() => true,
            () = place.wake.notified() => false,
            () = tokio::time::sleep_until(until) => Instant::now() >= deadline,
        }
    }

    fn join<'a>(&'a self, state: &mut State, queue: QueueId, most: usize) -> Place<'a> {
        let (ticket, wake) = state.lines.entry(queue).or_default().join(most);
        Place {
            hub: self,
            queue,
            ticket,
            wake,
        }
    }

    fn lock(&self) -> (MutexGuard<'_, State>, Time) {
        // A panic under the lock fails its own request; the queues of all others are still there.
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // The time is read under the lock, so that the engine never sees it go back.
        let now = self.clock.now();
        (state, now)
    }
}

fn queue_at(arn: &str) -> Result<&str, Refusal> {
    queue_of_arn(arn).ok_or_else(|| Refusal::value("Arn", arn, "It is not the ARN of a queue"))
}

impl State {
    /// Takes what is left for this receive when those before it in the line have had theirs.
    fn take(
        &mut self,
        now: Time,
        id: QueueId,
        ticket: Option<Ticket>,
        name: &str,
        wanted: &Receive,
        waits: bool,
    ) -> Result<Vec<Delivery>, Refusal> {
        let takeable = self.engine.takeable(now, id);
        let left = self
            .lines
            .get(&id)
            .map_or(takeable, |line| line.left_for(ticket, takeable));
        let attempt = wanted.attempt.as_ref();
        let taken = match left.min(wanted.most) {
            0 => Ok(Vec::new()),
            most => self
                .engine
                .receive(now, name, most, wanted.visibility, attempt),
        };
        self.wake_touched(now);
        match taken {
            Err(refusal) if refusal.kind == Kind::OverLimit && waits => Ok(Vec::new()),
            other => other,
        }
    }

    /// What this receive was given before, if it is one whose reply was lost.
    fn take_again(
        &mut self,
        now: Time,
        name: &str,
        wanted: &Receive,
    ) -> Result<Option<Vec<Delivery>>, Refusal> {
        let Some(attempt) = &wanted.attempt else {
            return Ok(None);
        };
        let again = self
            .engine
            .receive_again(now, name, wanted.visibility, attempt);
        self.wake_touched(now);
        again
    }

    fn wake_touched(&mut self, now: Time) {
        for id in self.engine.take_touched() {
            let Some(line) = self.lines.get(&id) else {
                continue;
            };
            let takeable = self.engine.takeable(now, id);
            if self.engine.exists(id) {
                line.stir(takeable, self.engine.next_wake(id));
            } else {
                line.wake_head();
            }
        }
    }

    /// The deadline that the holder of this place should sleep towards beside its own: the head
    /// watches the queue for all.
    fn watch(&mut self, place: &Place<'_>, now: Time) -> Option<Time> {
        let line = self.lines.get_mut(&place.queue)?;
        if !line.is_head(place.ticket) {
            return None;
        }
        let due = self.engine.next_wake(place.queue);
        line.watch(place.ticket, due);
        // What came due since this receive looked last is due now.
        due.map(|due| due.max(now))
    }
}

/// A place in a queue's line, given up when dropped.
struct Place<'a> {
    hub: &'a Hub,
    queue: QueueId,
    ticket: Ticket,
    wake: Arc<Notify>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let (mut state, _) = self.hub.lock();
        if let Some(line) = state.lines.get_mut(&self.queue) {
            line.leave(self.ticket);
            if line.is_empty() {
                state.lines.remove(&self.queue);
            }
        }
    }
}
