//! Settling: carrying out what becomes of a message.
//!
//! Invariant: no extension follows a settlement that succeeded (rule 4.5). So the lease is paused,
//! and an extension under way waited for, before each try; while a try that failed waits for the
//! next, the lease is kept.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;

use super::api::{Called, QueueUrl, SqsApi};
use super::pump::Delivery;
use crate::backoff::{Backoff, doubled};
use crate::error::{CallError, ErrorClass};
use crate::handler::ReceiptHandle;
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
        let mut tries = 0;
        loop {
            lease.pause().await;
            let now = Instant::now();
            let left = lease.expires().saturating_duration_since(now);
            let error = match tokio::time::timeout(attempt(left, tries), call(lease.handle())).await
            {
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
                // Once the lease is over nothing is left to protect, and the tries are long.
                class if class.passes() => now >= lease.expires() && tries >= LONG_TRIES,
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
    }
    let mut backoff = Backoff::new(SETTLE_BACKOFF, SETTLE_BACKOFF_MAX);
    let mut failed = 0;
    let mut waiting: Vec<&Delivery> = chunk.iter().collect();
    while !waiting.is_empty() {
        let entries: Vec<_> = waiting
            .iter()
            .map(|d| (d.lease.handle().clone(), Duration::ZERO))
            .collect();
        let answer = settler
            .api
            .change_visibility_batch(&settler.queue, &entries)
            .await;
        let results = answer.unwrap_or_else(|error| vec![Err(error); entries.len()]);
        let mut again = Vec::new();
        for (delivery, result) in waiting.into_iter().zip(results) {
            let id = delivery.message.id.as_ref();
            match result {
                // A handle that SQS does not know is of a message that is not held.
                Ok(()) => {}
                Err(error) if error.class == ErrorClass::LostHandle => {}
                Err(error) if error.class.passes() => {
                    settler
                        .observer
                        .emit(id, Event::SettleRetried { error: &error });
                    again.push(delivery);
                }
                Err(error) => {
                    failed += 1;
                    settler
                        .observer
                        .emit(id, Event::SettleFailed { error: &error });
                }
            }
        }
        waiting = again;
        if !waiting.is_empty() {
            tokio::time::sleep(backoff.next_random()).await;
        }
    }
    failed
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
        assert_eq!(release_all(&rig.settler, &held).await, 0);
        drop(held);
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

    // Rule 7.3: a release that is throttled is tried again.
    #[tokio::test(start_paused = true)]
    async fn a_release_that_fails_in_passing_is_tried_again_and_another_is_counted() {
        let rig = rig();
        let held = [rig.deliver("a", SECOND * 30)];
        rig.api
            .will_fail_to_change_visibility(ErrorClass::Throttled);
        assert_eq!(release_all(&rig.settler, &held).await, 0);
        assert_eq!(rig.api.made().len(), 2);
        rig.api.will_fail_to_change_visibility(ErrorClass::Denied);
        assert_eq!(release_all(&rig.settler, &held).await, 1);
        assert_eq!(rig.count(Count::SettleFailed), 1);
    }

    // Rules 4.4 and 5.1: a server slower than what is left of the lease is given the time.
    #[test]
    fn each_try_may_last_longer_than_the_one_before() {
        let lengths = |left: Duration| -> Vec<_> {
            (0..6)
                .map(|tries| attempt(left, tries).as_millis())
                .collect()
        };
        assert_eq!(lengths(SECOND), [750, 1000, 2000, 4000, 5000, 5000]);
        assert_eq!(lengths(Duration::ZERO), [500, 1000, 2000, 4000, 5000, 5000]);
        assert_eq!(lengths(SECOND * 60), [5000; 6]);
    }
}
