//! A worker: takes messages, calls the handler, settles what it answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;

use super::feed::Feed;
use super::outcome::{Settlement, answers_for, is_last, judge, retry_delay, settlement};
use crate::Shutdown;
use crate::config::SqsSubscription;
use crate::handler::{Answer, Call, Handler, HandlerKind, SqsMessage};
use crate::limits::LAST_CALLS;
use crate::observe::{Event, Observer};
use crate::sqs::{Delivery, Publisher, QueueState, Settled, Settler, release_all};

/// What the workers of one subscription share.
pub(super) struct Worker {
    pub(super) subscription: Arc<SqsSubscription>,
    pub(super) handler: Arc<dyn Handler>,
    pub(super) feed: Arc<Feed>,
    pub(super) settler: Settler,
    pub(super) publisher: Option<Arc<Publisher>>,
    pub(super) state: Arc<QueueState>,
    pub(super) observer: Observer,
    pub(super) shutdown: Shutdown,
    /// Messages whose handler the drain deadline interrupted.
    pub(super) left: Arc<AtomicUsize>,
}

impl Worker {
    /// Works until the service stops or the pump has ended.
    pub(super) async fn run(self: Arc<Self>) {
        loop {
            let next = tokio::select! {
                biased;
                () = self.shutdown.stop.cancelled() => return,
                next = self.feed.next() => next,
            };
            let Some(deliveries) = next else { return };
            self.work(deliveries).await;
        }
    }

    async fn work(&self, mut deliveries: Vec<Delivery>) {
        // Rule 4.4: what may be with another consumer by now is not handled here too.
        deliveries.retain(|delivery| {
            let over = delivery.lease.is_over();
            if over {
                self.observer
                    .emit(delivery.message.id.as_ref(), Event::NotBegun);
            }
            !over
        });
        if deliveries.is_empty() {
            return;
        }
        let decided = tokio::select! {
            decided = self.call(&deliveries) => decided,
            () = self.shutdown.deadline.cancelled() => {
                for delivery in &deliveries {
                    self.observer
                        .emit(delivery.message.id.as_ref(), Event::Interrupted);
                }
                self.give_back(deliveries).await;
                return;
            }
        };
        let done: Vec<_> = deliveries.iter().map(|_| AtomicBool::new(false)).collect();
        let settling = join_all(deliveries.iter().zip(decided).zip(&done).map(
            async |((delivery, decided), done)| {
                self.settle(delivery, decided).await;
                done.store(true, Relaxed);
            },
        ));
        tokio::select! {
            _ = settling => return,
            // Settlements that are still tried when the deadline has passed get a last moment.
            () = self.shutdown.past_deadline() => {}
        }
        let mut done = done.into_iter();
        deliveries.retain(|_| !done.next().is_some_and(AtomicBool::into_inner));
        self.give_back(deliveries).await;
    }

    /// Calls the handler and decides what becomes of each message.
    async fn call(&self, deliveries: &[Delivery]) -> Vec<Settlement> {
        for delivery in deliveries {
            let message = &delivery.message;
            self.observer.emit(
                message.id.as_ref(),
                Event::Handling {
                    receive_count: message.receive_count,
                },
            );
        }
        let call = Call {
            queue: Arc::clone(&self.observer.source().queue),
            timeout: self.subscription.timeout,
            publish: None,
        };
        let begun = Instant::now();
        let answers = match (self.handler.kind(), deliveries) {
            (HandlerKind::Single, [one]) => {
                vec![self.handler.handle(call, Arc::clone(&one.message)).await]
            }
            (_, several) => {
                let messages = several.iter().map(|d| Arc::clone(&d.message)).collect();
                answers_for(
                    several.len(),
                    self.handler.handle_batch(call, messages).await,
                )
            }
        };
        let took = begun.elapsed();
        deliveries
            .iter()
            .zip(answers)
            .map(|(delivery, answer)| self.decide(&delivery.message, answer, took))
            .collect()
    }

    fn decide(&self, message: &SqsMessage, answer: Answer, took: Duration) -> Settlement {
        let answer = judge(answer, self.publisher.is_some());
        let (count, max) = (message.receive_count, self.state.max_receive_count());
        let decided = settlement(
            &answer,
            count,
            max,
            &self.subscription.retry,
            rand::random(),
        );
        let id = message.id.as_ref();
        self.observer.emit(
            id,
            Event::Handled {
                answer: &answer,
                took,
                receive_count: count,
                again_after: match decided {
                    Settlement::PutBack(delay) => Some(delay),
                    _ => None,
                },
            },
        );
        if answer.is_err()
            && let Some(max_receive_count) = max
            && is_last(count, max)
        {
            self.observer.emit(id, Event::GivenUp { max_receive_count });
        }
        decided
    }

    async fn settle(&self, delivery: &Delivery, decided: Settlement) -> Settled {
        let message = &delivery.message;
        match decided {
            Settlement::Delete => self.settler.delete(delivery).await,
            Settlement::PutBack(delay) => self.settler.put_back(delivery, delay).await,
            Settlement::Reply(replies) => {
                let sent = match &self.publisher {
                    Some(publisher) => {
                        let one = vec![(Arc::clone(message), replies)];
                        publisher.send_all(one).await.iter().all(Result::is_ok)
                    }
                    // `judge` lets no reply through where there is no target.
                    None => false,
                };
                if sent {
                    self.observer.emit(message.id.as_ref(), Event::Replied);
                    self.settler.delete(delivery).await
                } else {
                    // Rule 5.5: never deleted while its reply is not out.
                    let delay = retry_delay(
                        &self.subscription.retry,
                        message.receive_count,
                        rand::random(),
                    );
                    self.settler.put_back(delivery, delay).await
                }
            }
        }
    }

    /// Releases what the drain deadline found unfinished.
    async fn give_back(&self, deliveries: Vec<Delivery>) {
        self.left.fetch_add(deliveries.len(), Relaxed);
        let released = release_all(&self.settler, &deliveries);
        // Not released in time, they come back when their visibility lapses.
        let _ = tokio::time::timeout(LAST_CALLS, released).await;
    }
}

impl Shutdown {
    /// A moment after the deadline: what still has to go out then has had its chance.
    async fn past_deadline(&self) {
        self.deadline.cancelled().await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
