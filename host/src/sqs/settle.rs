//! Settling: carrying out what becomes of a message.
//!
//! Invariant: no extension follows a settlement that succeeded (rule 4.5). So the lease is paused,
//! and an extension under way waited for, before each try; while a try that failed waits for the
//! next, the lease is kept. And a settlement counts only under the newest handle of its message
//! (rule 5.13); what cannot be deleted for certain is remembered (rule 5.11).

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;

use super::api::{Called, QueueUrl, SqsApi};
use super::batcher::{AtWork, Batcher};
use super::memory::Finished;
use super::pump::Delivery;
use crate::backoff::{Backoff, doubled};
use crate::error::{CallError, ErrorClass};
use crate::handler::ReceiptHandle;
use crate::limits::{
    CALL_TIMEOUT, MAX_BATCH, SETTLE_BACKOFF, SETTLE_BACKOFF_MAX, SETTLE_REFUSED_MAX, whole_seconds,
};
use crate::observe::{Event, Observer};

/// How a settlement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// SQS did it.
    Done,
    /// It was given up: the message comes back when its visibility lapses.
    Failed,
}

/// What is asked of SQS for a message.
#[derive(Clone, Copy)]
enum Act {
    Delete,
    /// To be received again after whole seconds.
    PutBack(Duration),
}

/// Settles the messages of one queue.
#[derive(Clone)]
pub struct Settler {
    api: Arc<dyn SqsApi>,
    queue: QueueUrl,
    observer: Observer,
    finished: Finished,
    batcher: Option<Arc<Batcher>>,
}

impl Settler {
    /// A settler that makes a call of its own for each message. What it could not delete for certain
    /// goes into `finished`.
    pub fn new(
        api: Arc<dyn SqsApi>,
        queue: QueueUrl,
        observer: Observer,
        finished: Finished,
    ) -> Self {
        Self {
            api,
            queue,
            observer,
            finished,
            batcher: None,
        }
    }

    /// This settler, its calls shared with others' (rule 5.10).
    pub fn batched(self, batcher: Arc<Batcher>) -> Self {
        Self {
            batcher: Some(batcher),
            ..self
        }
    }

    /// Says that a handler is at work, whose messages will be settled: who shares calls waits for
    /// them.
    pub fn at_work(&self) -> Option<AtWork> {
        self.batcher.as_ref().map(Batcher::at_work)
    }

    /// The messages that were finished and are perhaps not deleted.
    pub fn finished(&self) -> &Finished {
        &self.finished
    }

    /// Deletes a message that is finished (rules 5.1, 5.2, 5.5). Where that fails, or SQS may have
    /// deleted nothing, the message is remembered, and deleted when it is received again
    /// (rule 5.11).
    pub async fn delete(&self, delivery: &Delivery) -> Settled {
        let settled = self.settle(delivery, Act::Delete).await;
        if let (Settled::Failed, Some(id)) = (settled, &delivery.message.id) {
            self.finished.remember(id);
        }
        settled
    }

    /// Puts a message back, to be received again after `delay` (rules 5.3, 5.4, 5.6). A delay that
    /// reaches past the twelve hours of the message is shortened.
    pub async fn put_back(&self, delivery: &Delivery, delay: Duration) -> Settled {
        let left = delivery
            .lease
            .window_end()
            .saturating_duration_since(Instant::now());
        let given = fit(delay, left);
        if given < delay {
            self.shortened(delivery, delay, given);
        }
        self.settle(delivery, Act::PutBack(given)).await
    }

    fn shortened(&self, delivery: &Delivery, asked: Duration, given: Duration) {
        let id = delivery.message.id.as_ref();
        self.observer
            .emit(id, Event::DelayShortened { asked, given });
    }

    fn call<'a>(&'a self, act: Act, handle: &'a ReceiptHandle) -> Called<'a, ()> {
        match (&self.batcher, act) {
            (Some(batcher), Act::Delete) => Box::pin(batcher.delete(handle.clone())),
            (Some(batcher), Act::PutBack(delay)) => {
                Box::pin(batcher.change_visibility(handle.clone(), delay))
            }
            (None, Act::Delete) => self.api.delete(&self.queue, handle),
            (None, Act::PutBack(delay)) => self.api.change_visibility(&self.queue, handle, delay),
        }
    }

    /// A call with `handle` succeeded. `false` where the message was received again meanwhile: then
    /// it was for an older handle, and settled nothing for certain (rule 5.13).
    fn succeeded(&self, delivery: &Delivery, act: Act, handle: &ReceiptHandle) -> bool {
        let lease = &delivery.lease;
        match (act, delivery.message.id.as_ref()) {
            // Remembered before the lease ends, or a receive might fall between the two.
            (Act::Delete, Some(id)) if lease.may_have_lapsed() => self.finished.remember(id),
            (Act::Delete, Some(id)) => self.finished.forget(id),
            _ => {}
        }
        let settled = lease.finish(handle);
        if settled {
            let id = delivery.message.id.as_ref();
            self.observer.emit(
                id,
                match act {
                    Act::Delete => Event::Deleted,
                    Act::PutBack(delay) => Event::PutBack { delay },
                },
            );
        }
        settled
    }

    async fn settle(&self, delivery: &Delivery, mut act: Act) -> Settled {
        let lease = &delivery.lease;
        let id = delivery.message.id.as_ref();
        let mut backoff = Backoff::new(SETTLE_BACKOFF, SETTLE_BACKOFF_MAX);
        let mut refused_until: Option<Instant> = None;
        let mut tries = 0;
        loop {
            lease.pause().await;
            if let Act::PutBack(delay) = act {
                // Rule 4.4: the message comes back by itself, if it has not.
                if lease.is_lost() {
                    self.observer.emit(id, Event::RetryNotSent);
                    return Settled::Failed;
                }
                if delay.is_zero() {
                    lease.leave();
                }
            }
            let Some(handle) = lease.handle() else {
                return Settled::Done;
            };
            let left = lease.expires().saturating_duration_since(Instant::now());
            let call = self.call(act, &handle);
            let error = match tokio::time::timeout(attempt(left, tries), call).await {
                Ok(Ok(())) if self.succeeded(delivery, act, &handle) => return Settled::Done,
                // At once, and with the newest handle.
                Ok(Ok(())) => continue,
                Ok(Err(error)) => error,
                Err(_) => CallError::no_answer("settlement", "no answer while the lease lasts"),
            };
            // Its handle is of an older receive: it says nothing of the newest.
            if lease.handle().is_some_and(|newest| newest != handle) {
                continue;
            }
            let now = Instant::now();
            if let (Act::PutBack(asked), ErrorClass::WindowUsed) = (act, error.class)
                && !asked.is_zero()
            {
                let given = shorter(asked, lease.expires().saturating_duration_since(now));
                self.shortened(delivery, asked, given);
                act = Act::PutBack(given);
                continue;
            }
            // A passing failure is tried for as long as the message can be kept, which ends where
            // extensions fail too. A refusal is tried only for what is left of the lease, or the
            // worker would wait for a person.
            let pause = backoff.next_random();
            let over = match error.class {
                ErrorClass::LostHandle => true,
                // Once the lease is over nothing is left to protect, and the tries are long.
                class if class.passes() => lease.is_over() && tries >= LONG_TRIES,
                _ => {
                    let until = *refused_until.get_or_insert(now + left.min(SETTLE_REFUSED_MAX));
                    now + pause >= until
                }
            };
            if over {
                self.observer
                    .emit(id, Event::SettleFailed { error: &error });
                return Settled::Failed;
            }
            self.observer
                .emit(id, Event::SettleRetried { error: &error });
            lease.resume();
            tokio::time::sleep(pause).await;
            tries += 1;
        }
    }
}

/// How many tries it takes until one may last as long as any other call.
const LONG_TRIES: u32 = 4;

/// How long one try may take: inside what is left of the lease, so that it can be extended should
/// the try hang. But a server may be slower than that allows, so each try may last longer than the
/// one before, whatever is left.
fn attempt(left: Duration, tries: u32) -> Duration {
    let longer = doubled(Duration::from_millis(500), tries, CALL_TIMEOUT);
    (left * 3 / 4).clamp(longer, CALL_TIMEOUT)
}

/// `delay` in whole seconds, rounded up, which is all that SQS knows; or what fits into `left` of
/// the twelve hours (rule 5.4).
fn fit(delay: Duration, left: Duration) -> Duration {
    whole_seconds(delay).min(Duration::from_secs(left.as_secs()))
}

/// Of a delay that SQS says is past the twelve hours: what the message is hidden for already, which
/// cannot be, else nothing.
fn shorter(asked: Duration, hidden: Duration) -> Duration {
    let given = Duration::from_secs(hidden.as_secs());
    if given < asked { given } else { Duration::ZERO }
}

/// Releases messages that no handler finished: visibility 0, so that they can be received at once
/// (rule 7.3). A passing failure is tried again for as long as the caller waits. Answers how many
/// could not be released; they come back when their visibility lapses.
pub async fn release_all(settler: &Settler, deliveries: &[Delivery]) -> usize {
    let released = deliveries
        .chunks(MAX_BATCH.into())
        .map(|chunk| release(settler, chunk));
    let failed: usize = join_all(released).await.into_iter().sum();
    let messages = deliveries.len() - failed;
    if messages > 0 {
        settler.observer.emit(None, Event::Released { messages });
    }
    failed
}

/// Releases at most ten messages, in one call as far as that works.
async fn release(settler: &Settler, chunk: &[Delivery]) -> usize {
    for delivery in chunk {
        delivery.lease.pause().await;
        delivery.lease.leave();
    }
    let mut backoff = Backoff::new(SETTLE_BACKOFF, SETTLE_BACKOFF_MAX);
    let mut failed = 0;
    let mut waiting: Vec<&Delivery> = chunk.iter().collect();
    loop {
        // What is lost is not held, and comes back by itself.
        let (held, entries): (Vec<_>, Vec<_>) = waiting
            .iter()
            .filter(|delivery| !delivery.lease.is_lost())
            .filter_map(|delivery| Some((*delivery, (delivery.lease.handle()?, Duration::ZERO))))
            .unzip();
        if held.is_empty() {
            return failed;
        }
        let answer = settler
            .api
            .change_visibility_batch(&settler.queue, &entries)
            .await;
        let results = answer.unwrap_or_else(|error| vec![Err(error); entries.len()]);
        waiting.clear();
        for ((delivery, (handle, _)), result) in held.into_iter().zip(&entries).zip(results) {
            let id = delivery.message.id.as_ref();
            match result {
                Ok(()) => {
                    delivery.lease.finish(handle);
                }
                // A handle that SQS does not know is of a message that is not held.
                Err(error) if error.class == ErrorClass::LostHandle => {}
                Err(error) if error.class.passes() => {
                    settler
                        .observer
                        .emit(id, Event::SettleRetried { error: &error });
                    waiting.push(delivery);
                }
                Err(error) => {
                    failed += 1;
                    settler
                        .observer
                        .emit(id, Event::SettleFailed { error: &error });
                }
            }
        }
        if waiting.is_empty() {
            return failed;
        }
        tokio::time::sleep(backoff.next_random()).await;
    }
}
