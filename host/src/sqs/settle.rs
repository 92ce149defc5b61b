//! Settling: carrying out what becomes of a message.
//!
//! Invariant: no extension follows a settlement that succeeded (rule 4.5). So the lease is paused,
//! and an extension under way waited for, before each try; while a try that failed waits for the
//! next, the lease is kept.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::api::{Called, QueueUrl, SqsApi};
use super::pump::Delivery;
use crate::backoff::Backoff;
use crate::error::{CallError, ErrorClass};
use crate::handler::{MessageId, ReceiptHandle};
use crate::limits::{
    CALL_TIMEOUT, MAX_BATCH, SETTLE_BACKOFF, SETTLE_BACKOFF_MAX, SETTLE_REFUSED_MAX,
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

/// Settles the messages of one queue.
#[derive(Clone)]
pub struct Settler {
    /// How to reach SQS.
    pub api: Arc<dyn SqsApi>,
    /// The queue.
    pub queue: QueueUrl,
    /// Where events go.
    pub observer: Observer,
}

impl Settler {
    /// Deletes a message (rules 5.1, 5.2, 5.5).
    pub async fn delete(&self, delivery: &Delivery) -> Settled {
        let settled = self
            .settle(delivery, |handle| self.api.delete(&self.queue, handle))
            .await;
        if settled == Settled::Done {
            self.observer
                .emit(delivery.message.id.as_ref(), Event::Deleted);
        }
        settled
    }

    /// Puts a message back, to be received again after `delay` (rules 5.3, 5.4, 5.6). A delay that
    /// reaches past the twelve hours of the message is shortened.
    pub async fn put_back(&self, delivery: &Delivery, delay: Duration) -> Settled {
        let id = delivery.message.id.as_ref();
        let left = delivery
            .lease
            .window_end()
            .saturating_duration_since(Instant::now());
        let given = fit(delay, left);
        if given < delay {
            let asked = delay;
            self.observer
                .emit(id, Event::DelayShortened { asked, given });
        }
        let settled = self
            .settle(delivery, |handle| {
                self.api.change_visibility(&self.queue, handle, given)
            })
            .await;
        if settled == Settled::Done {
            self.observer.emit(id, Event::PutBack { delay: given });
        }
        settled
    }

    async fn settle<'a>(
        &'a self,
        delivery: &'a Delivery,
        call: impl Fn(&'a ReceiptHandle) -> Called<'a, ()>,
    ) -> Settled {
        let lease = &delivery.lease;
        let id = delivery.message.id.as_ref();
        let mut backoff = Backoff::new(SETTLE_BACKOFF, SETTLE_BACKOFF_MAX);
        let mut refused_until: Option<Instant> = None;
        loop {
            lease.pause().await;
            let now = Instant::now();
            let left = lease.expires().saturating_duration_since(now);
            let error = match tokio::time::timeout(attempt(left), call(lease.handle())).await {
                Ok(Ok(())) => return Settled::Done,
                Ok(Err(error)) => error,
                Err(_) => timed_out(),
            };
            // A passing failure is tried for as long as the message can be kept, which ends where
            // extensions fail too. A refusal is tried only for what is left of the lease, or the
            // worker would wait for a person.
            let until = if error.class.passes() {
                lease.expires()
            } else {
                *refused_until.get_or_insert(now + left.min(SETTLE_REFUSED_MAX))
            };
            let pause = backoff.next_random();
            if error.class == ErrorClass::LostHandle || Instant::now() + pause >= until {
                self.observer
                    .emit(id, Event::SettleFailed { error: &error });
                return Settled::Failed;
            }
            self.observer
                .emit(id, Event::SettleRetried { error: &error });
            lease.resume();
            tokio::time::sleep(pause).await;
        }
    }
}

/// How long one try may take: inside what is left of the lease, so that it can be extended should
/// the try hang, but never so short that a slow network cannot answer.
fn attempt(left: Duration) -> Duration {
    (left * 3 / 4).clamp(Duration::from_millis(500), CALL_TIMEOUT)
}

fn timed_out() -> CallError {
    CallError {
        operation: "settlement",
        class: ErrorClass::Network,
        code: None,
        message: "no answer while the lease lasts".into(),
    }
}

/// `delay` in whole seconds, rounded up, which is all that SQS knows; or what fits into `left` of
/// the twelve hours (rule 5.4).
fn fit(delay: Duration, left: Duration) -> Duration {
    let whole = delay.as_secs() + u64::from(delay.subsec_nanos() > 0);
    Duration::from_secs(whole.min(left.as_secs()))
}

/// Releases messages that no handler was given: visibility 0, so that they can be received at
/// once (rule 7.3). What cannot be released comes back when its visibility lapses.
pub async fn release_all(settler: &Settler, deliveries: Vec<Delivery>) {
    for chunk in deliveries.chunks(MAX_BATCH.into()) {
        for delivery in chunk {
            delivery.lease.pause().await;
        }
        let entries: Vec<_> = chunk
            .iter()
            .map(|d| (d.lease.handle().clone(), Duration::ZERO))
            .collect();
        let released = settler
            .api
            .change_visibility_batch(&settler.queue, &entries)
            .await;
        let results = released.unwrap_or_else(|error| vec![Err(error); chunk.len()]);
        let mut messages = 0;
        for (delivery, result) in chunk.iter().zip(results) {
            match result {
                Ok(()) => messages += 1,
                Err(error) => {
                    let id: Option<&MessageId> = delivery.message.id.as_ref();
                    settler
                        .observer
                        .emit(id, Event::SettleFailed { error: &error });
                }
            }
        }
        settler.observer.emit(None, Event::Released { messages });
    }
}
