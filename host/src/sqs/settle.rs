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
            let pause = backoff.next_random();
            let now = Instant::now();
            let over = match error.class {
                ErrorClass::LostHandle => true,
                class if class.passes() => now >= lease.expires(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Count;
    use crate::sqs::lease::LeaseKeeper;
    use crate::sqs::scripted::{Made, Scripted, message};

    const SECOND: Duration = Duration::from_secs(1);

    struct Rig {
        api: Arc<Scripted>,
        settler: Settler,
        leases: Arc<LeaseKeeper>,
    }

    fn rig() -> Rig {
        let api = Scripted::new();
        let queue = QueueUrl::new("http://sqs/q");
        let observer = Observer::of_a_test();
        let leases = LeaseKeeper::new(api.clone(), queue.clone(), observer.clone());
        tokio::spawn(Arc::clone(&leases).run());
        let settler = Settler {
            api: api.clone(),
            queue,
            observer,
        };
        Rig {
            api,
            settler,
            leases,
        }
    }

    impl Rig {
        fn deliver(&self, id: &str, visibility: Duration) -> Delivery {
            let received = message(id);
            let handle = received.handle.expect("the message has a handle");
            let lease = self
                .leases
                .hold(handle, received.message.id.clone(), visibility);
            Delivery::new(received.message, lease)
        }

        fn count(&self, count: Count) -> u64 {
            self.settler.observer.counters().get(count)
        }
    }

    fn delete(id: &str) -> Made {
        Made::Delete(format!("handle of {id}"))
    }

    fn visibility(id: &str, seconds: u64) -> Made {
        Made::Visibility(format!("handle of {id}"), SECOND * seconds as u32)
    }

    // Rule 4.5: no extension follows a delete that succeeded.
    #[tokio::test(start_paused = true)]
    async fn nothing_follows_a_delete() {
        let rig = rig();
        let delivery = rig.deliver("a", SECOND * 2);
        tokio::time::sleep(SECOND * 3 / 2).await;
        assert_eq!(rig.settler.delete(&delivery).await, Settled::Done);
        tokio::time::sleep(SECOND * 60).await;
        assert_eq!(rig.api.made(), [visibility("a", 2), delete("a")]);
    }

    // Rules 4.5 and 5.7: a delete that fails in passing is tried again, and the lease is kept.
    #[tokio::test(start_paused = true)]
    async fn a_delete_that_fails_in_passing_is_tried_again_under_a_kept_lease() {
        let rig = rig();
        let delivery = rig.deliver("a", SECOND * 2);
        for _ in 0..8 {
            rig.api.will_fail_to_delete(ErrorClass::Throttled);
        }
        assert_eq!(rig.settler.delete(&delivery).await, Settled::Done);
        let made = rig.api.made();
        assert_eq!(made.iter().filter(|m| **m == delete("a")).count(), 9);
        assert!(
            made.contains(&visibility("a", 2)),
            "extended between the tries"
        );
        assert_eq!(made.last(), Some(&delete("a")));
        assert_eq!(rig.count(Count::SettleFailed), 0);
    }

    // Rule 5.7: what SQS refuses is logged after a while, and the worker moves on.
    #[tokio::test(start_paused = true)]
    async fn a_refused_delete_is_given_up_within_the_lease() {
        let rig = rig();
        let delivery = rig.deliver("a", SECOND * 20);
        for _ in 0..1000 {
            rig.api.will_fail_to_delete(ErrorClass::Denied);
        }
        let begun = Instant::now();
        assert_eq!(rig.settler.delete(&delivery).await, Settled::Failed);
        assert!(begun.elapsed() <= SECOND * 20, "{:?}", begun.elapsed());
        assert_eq!(rig.count(Count::SettleFailed), 1);
    }

    // Rule 4.4: a retry is not sent with a handle that SQS does not know any more.
    #[tokio::test(start_paused = true)]
    async fn a_lost_handle_is_not_tried_again() {
        let rig = rig();
        let delivery = rig.deliver("a", SECOND * 2);
        rig.api
            .will_fail_to_change_visibility(ErrorClass::LostHandle);
        let settled = rig.settler.put_back(&delivery, Duration::ZERO).await;
        assert_eq!(settled, Settled::Failed);
        assert_eq!(rig.api.made().len(), 1);
    }

    // Rules 4.5 and 5.4: a fraction is rounded up, and the lease is kept until SQS has taken it.
    #[tokio::test(start_paused = true)]
    async fn a_put_back_ends_the_lease_only_once_it_succeeded() {
        let rig = rig();
        let delivery = rig.deliver("a", SECOND * 2);
        rig.api.will_fail_to_change_visibility(ErrorClass::Network);
        let delay = Duration::from_millis(6200);
        assert_eq!(rig.settler.put_back(&delivery, delay).await, Settled::Done);
        tokio::time::sleep(SECOND * 60).await;
        assert_eq!(rig.api.made(), [visibility("a", 7), visibility("a", 7)]);
    }

    // Rule 5.4: shortened to the end of the twelve hours.
    #[tokio::test(start_paused = true)]
    async fn a_delay_past_the_twelve_hours_is_shortened() {
        let rig = rig();
        let delivery = rig.deliver("a", SECOND * 30);
        let day = SECOND * 24 * 3600;
        assert_eq!(rig.settler.put_back(&delivery, day).await, Settled::Done);
        assert_eq!(rig.api.made(), [visibility("a", 12 * 3600 - 10)]);
    }

    // Rule 7.3.
    #[tokio::test(start_paused = true)]
    async fn what_was_not_handed_out_is_released_ten_at_a_time() {
        let rig = rig();
        let held: Vec<_> = (0..12)
            .map(|n| rig.deliver(&n.to_string(), SECOND * 30))
            .collect();
        release_all(&rig.settler, held).await;
        let sizes: Vec<_> = rig
            .api
            .made()
            .iter()
            .map(|made| match made {
                Made::VisibilityBatch(entries) => {
                    assert!(entries.iter().all(|(_, delay)| delay.is_zero()));
                    entries.len()
                }
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(sizes, [10, 2]);
        assert_eq!(rig.count(Count::Released), 12);
        assert_eq!(rig.leases.held(), 0);
    }
}
